//! Where CMP tools live: a folder of tool folders, or a folder that is one itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    CONFIG_NAMES, LoadedFiles, MAX_CANDIDATES, MAX_CONFIG_BYTES, list, read_file, read_text,
};
use crate::{CmpFiles, Diagnostic, DiagnosticSeverity, SourceFormat, SourceLayer};

/// The folder of a tool's files, in the order they are preferred.
const FOLDERS: [&str; 2] = ["cmp", ".cmp"];
const MANIFEST: &str = "manifest.json";
const CAPABILITY: &str = "capability.json";

impl LoadedFiles {
    /// Reads the tools in a folder, by name. A folder that is not there holds none.
    pub(crate) fn cmp_tools(dir: &Path) -> Self {
        let mut loaded = Self { watched: vec![dir.to_owned()], ..Self::default() };
        let mut names = loaded.names(dir);
        names.truncate(MAX_CANDIDATES);
        for name in names.iter().filter(|name| !name.starts_with('.')) {
            let tool = dir.join(name);
            // Links count: people link the checkout of a tool here.
            if !tool.is_dir() {
                continue;
            }
            if !is_cmp_tool(&tool) {
                loaded.watched.push(tool.clone());
                loaded.diagnostics.push(not_a_tool(&tool));
                continue;
            }
            loaded.add_cmp_tool(&tool);
        }
        loaded
    }

    /// Reads a folder that is one tool.
    pub(crate) fn cmp_tool(dir: &Path) -> Self {
        let mut loaded = Self { watched: vec![dir.to_owned()], ..Self::default() };
        if is_cmp_tool(dir) {
            loaded.add_cmp_tool(dir);
        } else {
            // This very folder was named, so that it is a mistake.
            let problem = Diagnostic { severity: DiagnosticSeverity::Error, ..not_a_tool(dir) };
            loaded.diagnostics.push(problem);
        }
        loaded
    }

    fn add_cmp_tool(&mut self, dir: &Path) {
        let Some(manifest) = cmp_file(dir, MANIFEST) else { return };
        let capability_path =
            cmp_file(dir, CAPABILITY).unwrap_or_else(|| manifest.with_file_name(CAPABILITY));
        self.watched.push(dir.to_owned());
        for path in [&manifest, &capability_path] {
            self.watched.extend(path.parent().map(Path::to_owned));
        }
        let capability = if capability_path.exists() {
            read_text(&capability_path, MAX_CONFIG_BYTES)
        } else {
            let message = format!("the tool has no `{CAPABILITY}`");
            Err(Diagnostic::error(
                "missing-file",
                message,
                "write it beside the manifest, with the tool's intents",
            ))
        };
        let bin = Some(dir.join("bin")).filter(|bin| bin.is_dir());
        // Commands run in other folders than this one.
        let bin = bin.map(|bin| bin.canonicalize().unwrap_or(bin));
        let files = CmpFiles { dir: dir.to_owned(), capability_path, capability, bin };
        let format = SourceFormat::Cmp(Box::new(files));
        self.files.push(read_file(manifest, SourceLayer::Cmp, format));
    }
}

pub(crate) fn is_cmp_tool(dir: &Path) -> bool {
    cmp_file(dir, MANIFEST).is_some()
}

/// Whether a folder is a place for CMP tools: one of its folders is a tool, and it has no config.
pub(crate) fn holds_cmp_tools(dir: &Path) -> bool {
    let is_deck = CONFIG_NAMES.iter().any(|name| dir.join(name).exists());
    let mut names = list(dir).unwrap_or_default().into_iter();
    !is_deck && names.any(|name| !name.starts_with('.') && is_cmp_tool(&dir.join(name)))
}

/// The tool's folder that a file belongs to, when it is one of a tool's two files.
pub(crate) fn cmp_tool_of(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let real = folder.canonicalize().ok()?;
    let is_known = [MANIFEST, CAPABILITY].iter().any(|known| name == *known)
        && FOLDERS.iter().any(|known| real.ends_with(known));
    is_known.then(|| {
        folder
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .map_or_else(|| folder.join(".."), Path::to_owned)
    })
}

fn cmp_file(dir: &Path, name: &str) -> Option<PathBuf> {
    let mut places = FOLDERS.iter().map(|folder| dir.join(folder).join(name));
    places.find(|path| fs::symlink_metadata(path).is_ok())
}

fn not_a_tool(dir: &Path) -> Diagnostic {
    let message = "there is no `cmp/manifest.json` in this folder";
    Diagnostic::warning("not-a-tool", message, "add the manifest, or take the folder away")
        .in_file(dir)
}
