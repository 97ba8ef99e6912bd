//! What a project's files shall hold after an installation.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde_json::Value;

use super::{InstallProblem, blocks::MarkerBlock};
use crate::edit::FileFormat;

/// Every file that is written, by its real path.
#[derive(Debug, Default)]
pub(crate) struct DesiredFiles {
    pub(crate) own: BTreeMap<PathBuf, OwnFile>,
    pub(crate) shared: BTreeMap<PathBuf, SharedFile>,
    pub(crate) problems: Vec<InstallProblem>,
}

/// A file that is ours as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnFile {
    pub(crate) content: Vec<u8>,
    pub(crate) is_program: bool,
    /// Whether only the owner may read it.
    pub(crate) is_private: bool,
    /// What it is a part of, for people.
    pub(crate) part_of: String,
    /// The folder that must be ours too, or not be there.
    pub(crate) unit: Option<PathBuf>,
}

/// A file that people and other programs write too.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SharedFile {
    Text(Vec<MarkerBlock>),
    /// Configuration with values of ours.
    Document {
        format: FileFormat,
        parts: Vec<DocumentPart>,
    },
}

/// A value of ours in a configuration file. Keys lead to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DocumentPart {
    /// One key.
    Entry { keys: Vec<String>, value: Value },
    /// A key that is set only where there is none.
    Default { keys: Vec<String>, value: Value },
    /// Items of a list, each tagged with a name of ours.
    Items { keys: Vec<String>, items: Vec<Value> },
    /// A key that must not be there if it has exactly this value.
    Absent { keys: Vec<String>, value: Value },
}

impl OwnFile {
    pub(crate) fn text(content: impl Into<Vec<u8>>, part_of: String) -> Self {
        Self { content: content.into(), is_program: false, is_private: false, part_of, unit: None }
    }
}

impl DesiredFiles {
    /// Adds a file of our own at a real path.
    pub(crate) fn add_own(&mut self, place: PathBuf, file: OwnFile) {
        match self.own.get(&place) {
            Some(known) if known.content != file.content => self.refuse(InstallProblem::error(
                "two-contents",
                place.display().to_string(),
                format!("both {} and {} would be written here", known.part_of, file.part_of),
            )),
            Some(_) => {}
            None => {
                self.own.insert(place, file);
            }
        }
    }

    /// Adds blocks to an instruction file. A block that is there already stays as it is.
    pub(crate) fn add_blocks(&mut self, place: PathBuf, blocks: Vec<MarkerBlock>) {
        let file = self.shared.entry(place).or_insert_with(|| SharedFile::Text(Vec::new()));
        let SharedFile::Text(known) = file else { return };
        for block in blocks {
            if !known.iter().any(|other| other.id == block.id) {
                known.push(block);
            }
        }
    }

    /// Adds a value to a configuration file.
    pub(crate) fn add_part(&mut self, place: PathBuf, format: FileFormat, part: DocumentPart) {
        let empty = || SharedFile::Document { format, parts: Vec::new() };
        if let SharedFile::Document { parts, .. } = self.shared.entry(place).or_insert_with(empty)
            && !parts.contains(&part)
        {
            parts.push(part);
        }
    }

    /// A link that blocks many files is one problem.
    pub(crate) fn refuse(&mut self, problem: InstallProblem) {
        let is_known = |known: &InstallProblem| known.message == problem.message;
        if !self.problems.iter().any(is_known) {
            self.problems.push(problem);
        }
    }
}

/// The format of a configuration file, by its name.
pub(crate) fn format_of(path: &str) -> FileFormat {
    if path.ends_with(".toml") { FileFormat::Toml } else { FileFormat::Json }
}

/// The real path of something in a project, which need not exist. Folders on the way may be links, as long as they stay
/// inside; so may the file itself.
pub(crate) fn place_in(project: &Path, relative: &str) -> Result<PathBuf, InstallProblem> {
    let refused = |message: String| InstallProblem::error("outside-project", relative, message);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if relative.contains('\\') || !Path::new(relative).components().all(is_plain) {
        return Err(refused("this path leaves the project".to_owned()));
    }
    let mut here = project.to_owned();
    let mut parts = Path::new(relative).components();
    while let Some(part) = parts.next() {
        let next = here.join(part);
        match fs::symlink_metadata(&next) {
            Ok(known) if known.is_symlink() => {
                let real = fs::canonicalize(&next).map_err(|error| {
                    refused(format!("`{}` is a link that leads nowhere: {error}", next.display()))
                })?;
                if !real.starts_with(project) {
                    return Err(refused(format!(
                        "`{}` is a link to `{}`, outside the project",
                        next.display(),
                        real.display()
                    ))
                    .with_hint("nothing is written through it; replace the link, or leave out the provider"));
                }
                here = real;
            }
            Ok(known) if !known.is_dir() && parts.clone().next().is_some() => {
                return Err(refused(format!("`{}` is a file, not a folder", next.display())));
            }
            Ok(_) => here = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                here = next;
                here.extend(parts);
                break;
            }
            Err(error) => {
                return Err(refused(format!("cannot look at `{}`: {error}", next.display())));
            }
        }
    }
    Ok(here)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_inside_are_followed_and_links_outside_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let project = root.join("project");
        fs::create_dir_all(project.join("shared")).unwrap();
        fs::create_dir_all(root.join("outside")).unwrap();
        fs::write(project.join("AGENTS.md"), "").unwrap();
        symlink("shared", project.join(".claude")).unwrap();
        symlink("AGENTS.md", project.join("CLAUDE.md")).unwrap();
        symlink("../outside", project.join(".cursor")).unwrap();
        symlink("nowhere", project.join(".codex")).unwrap();

        let place = |path: &str| place_in(&project, path);
        assert_eq!(place(".claude/skills/a/b").unwrap(), project.join("shared/skills/a/b"));
        assert_eq!(place("CLAUDE.md").unwrap(), project.join("AGENTS.md"));
        assert_eq!(place("new/deep/file").unwrap(), project.join("new/deep/file"));
        let error = place(".cursor/rules/a.mdc").unwrap_err();
        assert!(error.message.contains("outside the project"), "{error:?}");
        for bad in [".codex/x", "../x", "/etc/x", "AGENTS.md/x", "a/../../x"] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }
}
