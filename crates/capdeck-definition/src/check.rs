//! Checking files and folders that a person names, inside or outside the deck.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Deck, DeckProject, DeckRoot, Diagnostic, RootOwner, SourceFormat, SourceLayer,
    deck::{DeckBuilder, LoadScope},
    load::{LoadedFiles, cmp_tool_of, holds_cmp_tools, is_cmp_tool},
    project::{has_capability_file, project_roots},
};

/// Reads what each path is: a `.md` file is a Caplet, a folder with `CAPLET.md` one capability, one with
/// `cmp/manifest.json` a CMP tool, one whose folders are such tools a place for them, one with a capability file a project,
/// any other folder a root. The files of a CMP tool are that tool, `capabilities.json` or `.yaml` is a capability file, and
/// any other `.json`, `.yaml` or `.yml` file a config. The result is a deck like any other, for its diagnostics.
pub fn check_paths(paths: &[PathBuf]) -> Deck {
    let mut assembly = DeckBuilder::default();
    for path in paths {
        let layers = RootOwner::User.layers();
        let caplet = |id| SourceFormat::Caplet { id };
        let is_dir = match fs::metadata(path) {
            Ok(metadata) => metadata.is_dir(),
            Err(error) => {
                let message = format!("this cannot be read: {error}");
                let problem = Diagnostic::error("unreadable", message, "check the path");
                assembly.report(problem.in_file(path));
                continue;
            }
        };
        if is_dir && has_capability_file(path) {
            let project = DeckProject { dir: path.clone(), roots: project_roots(path) };
            assembly.add_project(&project);
            continue;
        }
        let root = DeckRoot { dir: folder_of(path, is_dir), owner: RootOwner::User };
        let scope = LoadScope::of_root(&root);
        let loaded = if is_dir {
            let capability = path.join("CAPLET.md");
            if capability.is_file() {
                LoadedFiles::one(&capability, layers.file, caplet(name_of(path)))
            } else if is_cmp_tool(path) {
                LoadedFiles::cmp_tool(path)
            } else if holds_cmp_tools(path) {
                LoadedFiles::cmp_tools(path)
            } else {
                LoadedFiles::root(path, layers)
            }
        } else {
            match extension(path).as_str() {
                "md" if path.file_name().is_some_and(|name| name == "CAPLET.md") => {
                    LoadedFiles::one(path, layers.file, caplet(name_of(&root.dir)))
                }
                "md" => LoadedFiles::one(path, layers.file, caplet(stem(path))),
                "json" if let Some(tool) = cmp_tool_of(path) => LoadedFiles::cmp_tool(&tool),
                "json" | "yaml" | "yml" if stem(path) == "capabilities" => {
                    let layer = SourceLayer::ProjectCapabilityFile;
                    LoadedFiles::one(path, layer, SourceFormat::CapabilityFile)
                }
                "json" | "yaml" | "yml" => {
                    LoadedFiles::one(path, layers.config, SourceFormat::Config)
                }
                _ => {
                    let message = "this is not a kind of file that is read";
                    let fix = "name a `.md`, `.json` or `.yaml` file, or a folder";
                    let problem = Diagnostic::error("not-a-definition", message, fix);
                    assembly.report(problem.in_file(path));
                    continue;
                }
            }
        };
        assembly.add(loaded, &scope);
    }
    Deck { project_hash: None, ..assembly.finish() }
}

/// Reads paths that must be CMP tools, places for them, or their files.
pub fn check_cmp_paths(paths: &[PathBuf]) -> Deck {
    let mut assembly = DeckBuilder::default();
    for path in paths {
        let loaded = match cmp_tool_of(path) {
            Some(tool) => LoadedFiles::cmp_tool(&tool),
            None if holds_cmp_tools(path) && !is_cmp_tool(path) => LoadedFiles::cmp_tools(path),
            None => LoadedFiles::cmp_tool(path),
        };
        let root = DeckRoot { dir: path.clone(), owner: RootOwner::CmpTool };
        assembly.add(loaded, &LoadScope::of_root(&root));
    }
    Deck { project_hash: None, ..assembly.finish() }
}

fn folder_of(path: &Path, is_dir: bool) -> PathBuf {
    if is_dir {
        return path.to_owned();
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A folder's own name, also for `.` and paths that end in `..`.
fn name_of(dir: &Path) -> String {
    let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn extension(path: &Path) -> String {
    path.extension()
        .map(|extension| extension.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default()
}
