//! Content that is installed, read from folders: what is found by which name, and which files belong to it.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{frontmatter::MarkdownFrontmatter, provider::AgentProvider};

/// Candidates that are named after a search without one answer.
const MAX_NAMED_MATCHES: usize = 8;
const MAX_FOLDER_DEPTH: usize = 12;

/// Why content of a source cannot be had. Nothing is decided by it: people read it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SourceError(pub(crate) String);

impl SourceError {
    fn unreadable(path: &Path, source: &io::Error) -> Self {
        Self(format!("cannot read `{}`: {source}", path.display()))
    }
}

/// What is at a path below `root`, links followed. It must still be below.
pub(crate) fn inside(root: &Path, path: &str) -> Result<PathBuf, SourceError> {
    let escapes = || SourceError(format!("`{path}` leads outside its source"));
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.contains(['\\', '\0']) || !Path::new(path).components().all(is_plain) {
        return Err(escapes());
    }
    let missing = |_| SourceError(format!("there is no `{path}` in its source"));
    let root = fs::canonicalize(root).map_err(missing)?;
    let real = fs::canonicalize(root.join(path)).map_err(missing)?;
    if real.starts_with(&root) { Ok(real) } else { Err(escapes()) }
}

/// The folder of the skill that has this name, as its folder or in its own words.
pub(crate) fn find_skill(root: &Path, name: &str) -> Result<PathBuf, SourceError> {
    let mut skills = Vec::new();
    walk(root, 0, &mut |folder, file| {
        if file == "SKILL.md" {
            skills.push(folder.to_owned());
        }
    });
    let folder_name = |path: &PathBuf| {
        let name = path.strip_prefix(root).ok().and_then(Path::file_name);
        name.and_then(|name| name.to_str()).map(str::to_owned)
    };
    let mut found: Vec<&PathBuf> =
        skills.iter().filter(|path| folder_name(path).as_deref() == Some(name)).collect();
    if found.is_empty() {
        found = skills.iter().filter(|path| own_name(path).as_deref() == Some(name)).collect();
    }
    match found[..] {
        [skill] => Ok(skill.clone()),
        [] => {
            let known =
                skills.iter().filter_map(|path| folder_name(path).or_else(|| own_name(path)));
            Err(SourceError(format!("there is no skill `{name}`; there are: {}", listed(known))))
        }
        _ => {
            // One copy per agent is one skill; only different ones leave a choice.
            let text = |path: &&PathBuf| fs::read(path.join("SKILL.md")).ok();
            let mut texts = found.iter().map(text);
            let first = texts.next();
            if texts.all(|other| Some(other) == first)
                && let Some(skill) = found.iter().min_by_key(|path| path.components().count())
            {
                return Ok((*skill).clone());
            }
            let found = found.into_iter().map(|path| relative(root, path));
            Err(SourceError(format!("there are several skills `{name}`: {}", listed(found))))
        }
    }
}

pub(crate) fn find_file(root: &Path, name: &str) -> Result<PathBuf, SourceError> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    walk(root, 0, &mut |folder, file| {
        if file == name {
            found.push(folder.join(file));
        } else if Path::new(file).file_stem().map(|other| other.to_string_lossy().to_lowercase())
            == stem
        {
            others.push(relative(root, &folder.join(file)));
        }
    });
    match &found[..] {
        [file] => Ok(file.clone()),
        [] => {
            let others = listed(others.into_iter());
            Err(SourceError(format!("there is no file `{name}`; there are: {others}")))
        }
        _ => {
            let found = listed(found.iter().map(|path| relative(root, path)));
            let message = format!("there are several files `{name}`: {found}");
            Err(SourceError(format!("{message}; name one with `::path`")))
        }
    }
}

/// Visits every file, by name, without following links.
fn walk(folder: &Path, depth: usize, visit: &mut impl FnMut(&Path, &str)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
        if kind.is_file() {
            visit(folder, name);
        } else if kind.is_dir() && depth < MAX_FOLDER_DEPTH && is_searched(name) {
            walk(&entry.path(), depth + 1, visit);
        }
    }
}

/// Hidden folders are left out, except those where agents keep their skills.
fn is_searched(folder: &str) -> bool {
    let is_home = |provider: &AgentProvider| provider.skills.split('/').next() == Some(folder);
    let is_home_of_skills = || AgentProvider::all().iter().any(is_home);
    folder != "node_modules" && (!folder.starts_with('.') || is_home_of_skills())
}

fn own_name(skill: &Path) -> Option<String> {
    let text = fs::read_to_string(skill.join("SKILL.md")).ok()?;
    MarkdownFrontmatter::parse(&text).text("name").map(str::to_owned)
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(MAX_NAMED_MATCHES);
    names.truncate(MAX_NAMED_MATCHES);
    match (names.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}

const MAX_FILE_BYTES: u64 = 50 << 20;
const MAX_FOLDER_BYTES: u64 = 200 << 20;
const MAX_FOLDER_FILES: usize = 5_000;
/// Folders that never belong to what is installed.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderFile {
    /// Relative, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) is_program: bool,
}

pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, SourceError> {
    fs::read(path).map_err(|source| SourceError::unreadable(path, &source))
}

/// Reads every file below `folder`, by path. Links become what they lead to, which must be inside.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<FolderFile>, SourceError> {
    let root =
        fs::canonicalize(folder).map_err(|source| SourceError::unreadable(folder, &source))?;
    let mut reading = FolderReader { root: root.clone(), files: Vec::new(), bytes: 0 };
    reading.folder(&root, "", &mut vec![root.clone()])?;
    reading.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(reading.files)
}

struct FolderReader {
    root: PathBuf,
    files: Vec<FolderFile>,
    bytes: u64,
}

impl FolderReader {
    /// `above` holds the real folders on the way, so that a link cannot lead back into one of them.
    fn folder(
        &mut self,
        folder: &Path,
        prefix: &str,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), SourceError> {
        let entries: Result<Vec<_>, _> = fs::read_dir(folder).and_then(Iterator::collect);
        let mut entries = entries.map_err(|source| SourceError::unreadable(folder, &source))?;
        // The same problem is found first on every machine.
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                return Err(SourceError(format!("the name of `{}` is not UTF-8", path.display())));
            };
            if LEFT_OUT.contains(&name.as_str()) {
                continue;
            }
            let shown = format!("{prefix}{name}");
            let broken = || SourceError(format!("the link `{shown}` leads nowhere or in a circle"));
            let real = fs::canonicalize(&path).map_err(|_| broken())?;
            if !real.starts_with(&self.root) {
                return Err(SourceError(format!("the link `{shown}` leads outside its folder")));
            }
            let known =
                fs::metadata(&real).map_err(|source| SourceError::unreadable(&path, &source))?;
            if known.is_dir() {
                if above.contains(&real) {
                    return Err(broken());
                }
                above.push(real.clone());
                self.folder(&real, &format!("{shown}/"), above)?;
                above.pop();
            } else if known.is_file() {
                self.file(&real, shown, &known)?;
            } else {
                return Err(SourceError(format!("`{shown}` is neither a file nor a folder")));
            }
        }
        Ok(())
    }

    fn file(&mut self, real: &Path, path: String, known: &fs::Metadata) -> Result<(), SourceError> {
        if known.len() > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES >> 20;
            return Err(SourceError(format!("`{path}` is larger than {most} MB")));
        }
        self.bytes = self.bytes.saturating_add(known.len());
        if self.bytes > MAX_FOLDER_BYTES || self.files.len() >= MAX_FOLDER_FILES {
            let most = MAX_FOLDER_BYTES >> 20;
            let message =
                format!("the folder holds more than {most} MB or {MAX_FOLDER_FILES} files");
            return Err(SourceError(message));
        }
        let content = read_file(real)?;
        self.files.push(FolderFile { path, content, is_program: is_program(known) });
        Ok(())
    }
}

#[cfg(unix)]
fn is_program(known: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    known.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_program(_known: &fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_skill_is_found_by_its_folder_or_by_its_own_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "skills/web/SKILL.md", "---\nname: Web Pages\n---\n");
        put(root, ".claude/skills/notes/SKILL.md", "---\nname: notes\n---\nsame");
        put(root, "copies/notes/SKILL.md", "---\nname: notes\n---\nsame");
        put(root, "node_modules/hidden/SKILL.md", "");
        put(root, ".private/hidden/SKILL.md", "");
        assert_eq!(find_skill(root, "web").unwrap(), root.join("skills/web"));
        assert_eq!(find_skill(root, "Web Pages").unwrap(), root.join("skills/web"));
        assert_eq!(find_skill(root, "notes").unwrap(), root.join("copies/notes"));
        let error = find_skill(root, "hidden").unwrap_err().to_string();
        assert_eq!(error, "there is no skill `hidden`; there are: notes, notes, web");
        put(root, "copies/web/SKILL.md", "another");
        let error = find_skill(root, "web").unwrap_err().to_string();
        assert_eq!(error, "there are several skills `web`: copies/web, skills/web");
    }

    #[test]
    fn a_file_must_be_the_only_one_of_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "rules/style.md", "");
        put(root, "a/dup.md", "");
        put(root, "b/dup.md", "");
        assert_eq!(find_file(root, "style.md").unwrap(), root.join("rules/style.md"));
        let error = find_file(root, "Style.mdc").unwrap_err().to_string();
        assert_eq!(error, "there is no file `Style.mdc`; there are: rules/style.md");
        let error = find_file(root, "dup.md").unwrap_err().to_string();
        assert!(error.starts_with("there are several files `dup.md`: a/dup.md, b/dup.md; "));
    }

    #[cfg(unix)]
    #[test]
    fn paths_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        put(&root, "a/b.md", "");
        put(dir.path(), "outside.md", "");
        std::os::unix::fs::symlink("../outside.md", root.join("link.md")).unwrap();
        assert!(inside(&root, "a/b.md").is_ok());
        for bad in ["../outside.md", "/etc/passwd", "a/../../outside.md", "link.md", "a\\b.md"] {
            let error = inside(&root, bad).unwrap_err().to_string();
            assert_eq!(error, format!("`{bad}` leads outside its source"));
        }
        let error = inside(&root, "none").unwrap_err().to_string();
        assert_eq!(error, "there is no `none` in its source");
    }

    fn names(folder: &Path) -> Vec<String> {
        read_folder(folder).unwrap().into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn links_inside_become_files_and_links_outside_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("skill");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::create_dir_all(folder.join("node_modules/x")).unwrap();
        fs::write(folder.join("node_modules/x/y"), "").unwrap();
        fs::write(folder.join("deep/a.md"), "a").unwrap();
        symlink("deep/a.md", folder.join("b.md")).unwrap();
        symlink("deep", folder.join("other")).unwrap();
        assert_eq!(names(&folder), ["b.md", "deep/a.md", "other/a.md"]);

        fs::write(dir.path().join("secret"), "s").unwrap();
        symlink("../../secret", folder.join("deep/out")).unwrap();
        let error = read_folder(&folder).unwrap_err().to_string();
        assert_eq!(error, "the link `deep/out` leads outside its folder");
    }

    #[test]
    fn circles_sockets_and_dead_ends_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        fs::create_dir(&folder).unwrap();
        symlink(".", folder.join("round")).unwrap();
        let error = || read_folder(&folder).unwrap_err().to_string();
        assert_eq!(error(), "the link `round` leads nowhere or in a circle");
        fs::remove_file(folder.join("round")).unwrap();
        symlink("nowhere", folder.join("dead")).unwrap();
        assert_eq!(error(), "the link `dead` leads nowhere or in a circle");
        fs::remove_file(folder.join("dead")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        assert_eq!(error(), "`socket` is neither a file nor a folder");
        let big = fs::File::create(dir.path().join("a/socket2")).unwrap();
        fs::remove_file(folder.join("socket")).unwrap();
        big.set_len(MAX_FILE_BYTES + 1).unwrap();
        assert_eq!(error(), "`socket2` is larger than 50 MB");
    }
}
