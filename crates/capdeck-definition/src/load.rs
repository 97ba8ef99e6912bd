//! Definition files on disk. The only place that reads them; what they mean is decided elsewhere.

mod cmp;

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;

use crate::{
    CAPABILITY_FILE_NAMES, CmpFiles, DefinitionSource, Diagnostic, QuarantinedItem, SourceLayer,
    frontmatter::{self, FrontmatterError},
};

pub(crate) use cmp::{cmp_tool_of, holds_cmp_tools, is_cmp_tool};

/// The largest Caplet file, and the largest manifest of a CMP tool, in bytes.
const MAX_CAPLET_BYTES: u64 = 131_072;
/// The largest config file, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// A folder with more candidates than this is not a deck.
const MAX_CANDIDATES: usize = 10_000;
/// Config files in the order they are preferred.
pub const CONFIG_NAMES: [&str; 3] = ["config.json", "config.yaml", "config.yml"];

/// A folder that holds definitions. In slices, the lowest precedence comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeckRoot {
    /// The folder. It need not exist.
    pub dir: PathBuf,
    pub owner: RootOwner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RootOwner {
    User,
    /// Untrusted until the person trusts the project.
    Project,
    /// The person, in CMP's form: each folder inside is one tool.
    CmpTools,
    /// The same for a folder that is one tool itself.
    CmpTool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where the file is. Relative paths inside start at its folder.
    pub path: PathBuf,
    /// The layer its definitions belong to.
    pub layer: SourceLayer,
    pub format: SourceFormat,
    /// The text, or why there is none: unreadable, too large, not UTF-8.
    pub text: Result<String, Diagnostic>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceFormat {
    /// Frontmatter and Markdown. The id comes from the file's or folder's name.
    Caplet { id: String },
    /// Options and maps of capabilities; JSON when the name ends in `.json`, else YAML.
    Config,
    /// A project's servers, tools, skills and more; JSON when the name ends in `.json`, else YAML.
    CapabilityFile,
    /// The manifest of a CMP tool, and what belongs to it.
    Cmp(Box<CmpFiles>),
}

/// The layers that the files of one folder belong to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderLayers {
    pub(crate) config: SourceLayer,
    pub(crate) file: SourceLayer,
}

/// What one folder, or a few files, gave.
#[derive(Debug, Default)]
pub(crate) struct LoadedFiles {
    pub(crate) files: Vec<SourceFile>,
    pub(crate) quarantined: Vec<QuarantinedItem>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) watched: Vec<PathBuf>,
}

impl RootOwner {
    pub(crate) fn layers(self) -> FolderLayers {
        match self {
            Self::User => {
                FolderLayers { config: SourceLayer::UserConfig, file: SourceLayer::UserFile }
            }
            Self::Project => {
                FolderLayers { config: SourceLayer::ProjectConfig, file: SourceLayer::ProjectFile }
            }
            Self::CmpTools | Self::CmpTool => {
                FolderLayers { config: SourceLayer::Cmp, file: SourceLayer::Cmp }
            }
        }
    }
}

/// A Caplet file found in a folder, before its id is known to be unique.
struct CapletCandidate {
    path: PathBuf,
    /// `<id>/CAPLET.md` rather than `<id>.md`.
    in_folder: bool,
}

impl LoadedFiles {
    /// Reads a root: its config file, then its Caplet files by name.
    pub(crate) fn root(dir: &Path, layers: FolderLayers) -> Self {
        let mut loaded = Self::caplets(dir, layers);
        let present: Vec<PathBuf> = CONFIG_NAMES
            .iter()
            .map(|name| dir.join(name))
            .filter(|path| fs::symlink_metadata(path).is_ok())
            .collect();
        if let Some((chosen, others)) = present.split_first() {
            let config = read_file(chosen.clone(), layers.config, SourceFormat::Config);
            loaded.files.insert(0, config);
            for other in others {
                // JSON is what existing decks have, so an added YAML file must not silently replace it.
                let message =
                    format!("this file is not read, because `{}` is beside it", file_name(chosen));
                let fix = "move its contents there, or delete one of the two";
                let problem = Diagnostic::warning("several-configs", message, fix);
                loaded.diagnostics.push(problem.in_file(other));
            }
        }
        loaded
    }

    /// Reads only the Caplet files of a folder.
    pub(crate) fn caplets(dir: &Path, layers: FolderLayers) -> Self {
        let mut loaded = Self { watched: vec![dir.to_owned()], ..Self::default() };
        let mut names = loaded.names(dir);
        if names.len() > MAX_CANDIDATES {
            names.truncate(MAX_CANDIDATES);
            let message = format!(
                "the folder has more than {MAX_CANDIDATES} entries, and only those are read"
            );
            let fix = "keep definitions in a folder of their own";
            let problem = Diagnostic::error("too-many-files", message, fix);
            loaded.diagnostics.push(problem.in_file(dir));
        }
        let mut candidates: IndexMap<String, Vec<CapletCandidate>> = IndexMap::new();
        for name in names {
            if let Some((id, candidate)) = loaded.candidate(dir, &name) {
                candidates.entry(id).or_default().push(candidate);
            }
        }
        for (id, candidates) in candidates {
            loaded.choose(id, candidates, layers.file);
        }
        loaded
    }

    pub(crate) fn one(path: &Path, layer: SourceLayer, format: SourceFormat) -> Self {
        let files = vec![read_file(path.to_owned(), layer, format)];
        Self { files, watched: vec![path.to_owned()], ..Self::default() }
    }

    /// Reads the capability file of a project. Two of them leave open which one is meant, so neither is used.
    pub(crate) fn capability_file_of(project: &Path) -> Self {
        let paths = CAPABILITY_FILE_NAMES.map(|name| project.join(name));
        let present: Vec<&PathBuf> = paths.iter().filter(|path| path.is_file()).collect();
        let mut loaded = Self { watched: vec![project.to_owned()], ..Self::default() };
        for path in &present {
            let layer = SourceLayer::ProjectCapabilityFile;
            let mut file = read_file(path.to_path_buf(), layer, SourceFormat::CapabilityFile);
            if let Some(other) = present.iter().find(|other| *other != path) {
                let message =
                    format!("`{}` is beside this file, so neither is used", file_name(other));
                let fix = "keep one of the two";
                let problem = Diagnostic::error("several-capability-files", message, fix);
                file.text = Err(problem.in_file(path));
            }
            loaded.files.push(file);
        }
        loaded
    }

    /// A folder's names in order. A folder that is not there is an empty one.
    fn names(&mut self, dir: &Path) -> Vec<String> {
        let mut names = list(dir).unwrap_or_else(|error| {
            if error.kind() != std::io::ErrorKind::NotFound {
                self.diagnostics.push(unreadable(&error).in_file(dir));
            }
            Vec::new()
        });
        names.sort();
        names
    }

    /// The Caplet file that a folder entry is or holds.
    fn candidate(&mut self, dir: &Path, name: &str) -> Option<(String, CapletCandidate)> {
        // Hidden names are editors' locks and other tools' state.
        if name == "auth" || name.starts_with('.') {
            return None;
        }
        let path = dir.join(name);
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        let markdown = name
            .rsplit_once('.')
            .filter(|(stem, extension)| !stem.is_empty() && extension.eq_ignore_ascii_case("md"));
        match markdown {
            Some((stem, _)) if kind.is_file() => {
                if is_stray_document(stem, &path) {
                    return None;
                }
                Some((stem.to_owned(), CapletCandidate { path, in_folder: false }))
            }
            _ if kind.is_symlink() => {
                let leads_to_caplet = markdown.is_some() || path.join("CAPLET.md").exists();
                let is_loop = fs::metadata(&path).is_err() && !name.contains('.');
                if leads_to_caplet || is_loop {
                    self.diagnostics.push(symlink().in_file(&path));
                }
                None
            }
            _ if kind.is_dir() => {
                let file = path.join("CAPLET.md");
                let kind = fs::symlink_metadata(&file).ok()?.file_type();
                if kind.is_symlink() {
                    self.diagnostics.push(symlink().in_file(&file));
                    return None;
                }
                if !kind.is_file() {
                    return None;
                }
                self.watched.push(path);
                Some((name.to_owned(), CapletCandidate { path: file, in_folder: true }))
            }
            _ => None,
        }
    }

    /// Settles on one file for an id. A folder wins over a file; two of a kind cancel each other out.
    fn choose(&mut self, id: String, candidates: Vec<CapletCandidate>, layer: SourceLayer) {
        let (folders, files): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|candidate| candidate.in_folder);
        let (chosen, rest) = if folders.is_empty() { (files, folders) } else { (folders, files) };
        for file in rest {
            let message = format!("this file is not read, because the folder `{id}` is beside it");
            let problem = Diagnostic::warning("duplicate-id", message, "delete one of the two");
            self.diagnostics.push(problem.in_file(&file.path));
        }
        if let [first, second, ..] = chosen.as_slice() {
            let message = format!(
                "`{}` and this file both define `{id}`, so neither is used",
                file_name(&first.path)
            );
            let source = DefinitionSource { layer, path: second.path.clone() };
            self.quarantined.push(QuarantinedItem { id, source, reason: message.clone() });
            let fix = "rename or delete one of the two";
            let problem = Diagnostic::error("duplicate-id", message, fix);
            self.diagnostics.push(problem.in_file(&second.path));
            return;
        }
        for candidate in chosen {
            let format = SourceFormat::Caplet { id: id.clone() };
            self.files.push(read_file(candidate.path, layer, format));
        }
    }
}

/// A folder's names, as far as they are text; no id is anything else. Stops early in a huge folder.
fn list(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)?.take(MAX_CANDIDATES + 1) {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

fn read_file(path: PathBuf, layer: SourceLayer, format: SourceFormat) -> SourceFile {
    let is_symlink = || fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
    let text = match format {
        SourceFormat::Config if is_symlink() => {
            let message = "the file is a symbolic link, which is not followed";
            Err(Diagnostic::error("symlink", message, "put the file itself here").in_file(&path))
        }
        SourceFormat::Config | SourceFormat::CapabilityFile => read_text(&path, MAX_CONFIG_BYTES),
        SourceFormat::Caplet { .. } | SourceFormat::Cmp(_) => read_text(&path, MAX_CAPLET_BYTES),
    };
    SourceFile { path, layer, format, text }
}

/// Reads a text no larger than `limit`. The size is asked first, so that a huge file costs nothing.
fn read_text(path: &Path, limit: u64) -> Result<String, Diagnostic> {
    let read = || {
        let metadata = fs::metadata(path).map_err(|error| unreadable(&error))?;
        if !metadata.is_file() {
            let problem = Diagnostic::error("not-a-file", "this is not a regular file", "");
            return Err(Diagnostic { fix: None, ..problem });
        }
        let mut bytes = Vec::new();
        if metadata.len() <= limit {
            // The file may grow between the two calls.
            let file = File::open(path).map(|file| file.take(limit + 1));
            let read = file.and_then(|mut file| file.read_to_end(&mut bytes));
            read.map_err(|error| unreadable(&error))?;
        }
        if metadata.len().max(bytes.len() as u64) > limit {
            let message = format!("the file is larger than {limit} bytes");
            let fix = "split it, or move long text to files beside it";
            return Err(Diagnostic::error("file-too-large", message, fix));
        }
        String::from_utf8(bytes).map_err(|_| {
            Diagnostic::error("not-utf8", "the file is not UTF-8 text", "save it as UTF-8")
        })
    };
    read().map_err(|problem| problem.in_file(path))
}

/// A README and its like in a root are for people, unless they do declare something.
fn is_stray_document(stem: &str, path: &Path) -> bool {
    let known = ["README", "CHANGELOG", "LICENSE"];
    known.iter().any(|name| stem.eq_ignore_ascii_case(name))
        && !read_text(path, MAX_CAPLET_BYTES)
            .is_ok_and(|text| frontmatter::split(&text) != Err(FrontmatterError::Missing))
}

fn symlink() -> Diagnostic {
    let message = "this is a symbolic link, which is not followed";
    let fix = "put the file itself here, or nest its folder with a `capletSet`";
    Diagnostic::warning("symlink", message, fix)
}

fn unreadable(error: &std::io::Error) -> Diagnostic {
    let message = format!("this cannot be read: {error}");
    Diagnostic::error("unreadable", message, "check that it exists and that you may read it")
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
