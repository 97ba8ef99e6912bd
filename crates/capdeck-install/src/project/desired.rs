//! What a project's files shall hold after an installation.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Block, Problem, place::place_in};
use crate::edit::FileFormat;

/// Every file that is written, by its real path.
#[derive(Debug, Default)]
pub(crate) struct Desired {
    pub(crate) own: BTreeMap<PathBuf, OwnFile>,
    pub(crate) shared: BTreeMap<PathBuf, SharedFile>,
    pub(crate) problems: Vec<Problem>,
}

/// A file that is ours as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnFile {
    pub(crate) content: Vec<u8>,
    pub(crate) is_program: bool,
    /// What it is a part of, for people.
    pub(crate) part_of: String,
    /// The folder that must be ours too, or not be there.
    pub(crate) unit: Option<PathBuf>,
}

/// A file that people and other programs write too.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SharedFile {
    /// Markdown with blocks of ours.
    Text(Vec<Block>),
    /// Configuration with values of ours.
    Document { format: FileFormat, parts: Vec<DocumentPart> },
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

impl Desired {
    /// Adds a file of our own.
    pub(crate) fn add_own(&mut self, project: &Path, relative: &str, file: OwnFile) {
        match place_in(project, relative) {
            Ok(place) => self.add_own_at(place, file),
            Err(problem) => self.refuse(problem),
        }
    }

    /// Adds a file of our own at a real path.
    pub(crate) fn add_own_at(&mut self, place: PathBuf, file: OwnFile) {
        match self.own.get(&place) {
            Some(known) if known.content != file.content => self.refuse(Problem::error(
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
    pub(crate) fn add_blocks(&mut self, project: &Path, relative: &str, blocks: Vec<Block>) {
        match place_in(project, relative) {
            Ok(place) => {
                let file = self.shared.entry(place).or_insert_with(|| SharedFile::Text(Vec::new()));
                if let SharedFile::Text(known) = file {
                    for block in blocks {
                        if !known.iter().any(|other| other.id == block.id) {
                            known.push(block);
                        }
                    }
                }
            }
            Err(problem) => self.refuse(problem),
        }
    }

    /// Adds a value to a configuration file.
    pub(crate) fn add_part(
        &mut self,
        project: &Path,
        relative: &str,
        format: FileFormat,
        part: DocumentPart,
    ) {
        match place_in(project, relative) {
            Ok(place) => {
                let empty = || SharedFile::Document { format, parts: Vec::new() };
                if let SharedFile::Document { parts, .. } =
                    self.shared.entry(place).or_insert_with(empty)
                    && !parts.contains(&part)
                {
                    parts.push(part);
                }
            }
            Err(problem) => self.refuse(problem),
        }
    }

    /// One link in the way of many files is one problem.
    fn refuse(&mut self, problem: Problem) {
        let is_known = |known: &Problem| known.message == problem.message;
        if !self.problems.iter().any(is_known) {
            self.problems.push(problem);
        }
    }
}

/// The format of a configuration file, by its name.
pub(crate) fn format_of(path: &str) -> FileFormat {
    if path.ends_with(".toml") { FileFormat::Toml } else { FileFormat::Json }
}
