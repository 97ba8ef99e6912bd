//! What a run would change: what shall be, compared with what was written last and with what stands there now.

mod own;
mod shared;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    Problem,
    desired::Desired,
    manifest::{Manifest, ProjectState, sha256},
};

/// One file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub action: Action,
    /// What it is about, for people.
    pub what: String,
    /// What stands there now.
    pub before: Option<Vec<u8>>,
    /// What will stand there.
    pub after: Option<Vec<u8>>,
    pub(crate) is_program: bool,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Create,
    Update,
    Remove,
}

/// Whether what people changed since is overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    Keep,
    Overwrite,
}

/// The changes of a run and the record it would leave.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) changes: Vec<Change>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) manifest: Manifest,
    pub(crate) kept: BTreeMap<String, Vec<u8>>,
}

/// Compares and decides. Nothing is written.
pub(crate) fn plan(
    state: &ProjectState,
    recorded: &Manifest,
    desired: Desired,
    edited: Edited,
) -> Planned {
    let Desired { own, shared, problems } = desired;
    let mut planning = Planning {
        state,
        recorded,
        edited,
        changes: Vec::new(),
        problems,
        manifest: Manifest { folders: recorded.folders.clone(), ..Manifest::default() },
        kept: BTreeMap::new(),
    };
    planning.own_files(&own);
    planning.shared_files(&shared);
    let Planning { changes, problems, manifest, kept, .. } = planning;
    Planned { changes, problems, manifest, kept }
}

struct Planning<'a> {
    state: &'a ProjectState,
    recorded: &'a Manifest,
    edited: Edited,
    changes: Vec<Change>,
    problems: Vec<Problem>,
    manifest: Manifest,
    kept: BTreeMap<String, Vec<u8>>,
}

impl Planning<'_> {
    /// What stands at a path. None too when it cannot be read, which is then a problem.
    fn read(&mut self, path: &Path) -> Option<Option<Vec<u8>>> {
        match fs::read(path) {
            Ok(bytes) => Some(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(None),
            Err(error) => {
                let message = format!("cannot read it: {error}");
                self.problems.push(Problem::error("unreadable", shown(path), message));
                None
            }
        }
    }

    /// What was kept when a file was first written.
    fn kept(&mut self, path: &Path, hash: Option<&String>) -> Option<Option<Vec<u8>>> {
        let Some(hash) = hash else { return Some(None) };
        match self.state.kept(hash) {
            Ok(content) => Some(Some(content)),
            Err(error) => {
                let message = format!("what stood there before is lost: {error}");
                self.problems.push(Problem::warning("lost", shown(path), message));
                None
            }
        }
    }

    fn keep(&mut self, content: &[u8]) -> String {
        let hash = sha256(content);
        self.kept.entry(hash.clone()).or_insert_with(|| content.to_vec());
        hash
    }

    fn change(&mut self, change: Change) {
        if change.before == change.after {
            return;
        }
        if change.before.is_none() {
            self.manifest.folders.extend(missing_folders(&change.path));
        }
        self.changes.push(change);
    }
}

/// The change from one content to another.
pub(crate) fn change(
    path: &Path,
    what: &str,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
) -> Change {
    let action = match (&before, &after) {
        (None, _) => Action::Create,
        (Some(_), Some(_)) => Action::Update,
        (Some(_), None) => Action::Remove,
    };
    Change {
        path: path.to_owned(),
        action,
        what: what.to_owned(),
        before,
        after,
        is_program: false,
    }
}

/// The folders above a path that do not exist.
fn missing_folders(path: &Path) -> BTreeSet<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|folder| !folder.exists());
    missing.map(Path::to_owned).collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
