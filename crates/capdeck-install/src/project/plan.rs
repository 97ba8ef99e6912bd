//! What a run would change: what shall be, compared with what was written last and with what is there now.

mod shared;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_storage::sha256_hex;
use serde::Serialize;

use super::{
    InstallPlan, InstallProblem,
    desired_files::{DesiredFiles, OwnFile},
    manifest::{InstallManifest, OwnRecord, ProjectState},
};
use crate::atomic_file::OverwritePolicy;

/// One file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    pub action: FileAction,
    /// What it is about, for people.
    pub what: String,
    /// The current content.
    pub before: Option<Vec<u8>>,
    /// The new content.
    pub after: Option<Vec<u8>>,
    pub(crate) is_program: bool,
    /// Whether only the owner may read it.
    pub(crate) is_private: bool,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileAction {
    Create,
    Update,
    Remove,
}

/// Compares and decides. Nothing is written.
pub(crate) fn plan(
    state: &ProjectState,
    recorded: &InstallManifest,
    desired: DesiredFiles,
    edited: OverwritePolicy,
) -> InstallPlan {
    let DesiredFiles { own, shared, problems } = desired;
    let folders = recorded.folders.clone();
    let plan = InstallPlan {
        changes: Vec::new(),
        problems,
        surface: Vec::new(),
        manifest: InstallManifest { folders, ..InstallManifest::default() },
        kept: BTreeMap::new(),
    };
    let mut planning = PlanBuilder { state, recorded, edited, plan };
    planning.own_files(&own);
    planning.shared_files(&shared);
    planning.plan.changes.sort_by(|one, other| one.path.cmp(&other.path));
    planning.plan
}

struct PlanBuilder<'a> {
    state: &'a ProjectState,
    recorded: &'a InstallManifest,
    edited: OverwritePolicy,
    plan: InstallPlan,
}

impl PlanBuilder<'_> {
    /// The content of a file. None too when it cannot be read, which is then a problem.
    fn read(&mut self, path: &Path) -> Option<Option<Vec<u8>>> {
        match fs::read(path) {
            Ok(bytes) => Some(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(None),
            Err(error) => {
                let message = format!("cannot read it: {error}");
                self.report(InstallProblem::error("unreadable", shown(path), message));
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
                self.report(InstallProblem::warning("lost", shown(path), message));
                None
            }
        }
    }

    fn report(&mut self, problem: InstallProblem) {
        self.plan.problems.push(problem);
    }

    /// Something of others is where ours should be.
    fn report_foreign(&mut self, path: &Path, message: &str) {
        let hint = "rename or remove it, or give --force; `capdeck clean` then brings it back";
        self.report(InstallProblem::error("not-ours", shown(path), message).with_hint(hint));
    }

    /// Something was changed since it was written, and stays as it is.
    fn report_edited(&mut self, path: &Path, message: String) {
        let hint = "give --force to overwrite the change";
        self.report(InstallProblem::warning("edited", shown(path), message).with_hint(hint));
    }

    fn report_edited_file(&mut self, path: &Path, part_of: &str) {
        let message =
            format!("it was changed since it was written for {part_of}, and stays as it is");
        self.report_edited(path, message);
    }

    fn keep(&mut self, content: &[u8]) -> String {
        let hash = sha256_hex(content);
        self.plan.kept.entry(hash.clone()).or_insert_with(|| content.to_vec());
        hash
    }

    fn change(&mut self, change: FileChange) {
        if change.before == change.after {
            return;
        }
        if change.before.is_none() {
            self.plan.manifest.folders.extend(missing_folders(&change.path));
        }
        self.plan.changes.push(change);
    }

    fn own_files(&mut self, desired: &BTreeMap<PathBuf, OwnFile>) {
        let taken = self.taken_units(desired);
        for (path, file) in desired {
            if !file.unit.as_ref().is_some_and(|unit| taken.contains(unit)) {
                self.write_own(path, file);
            }
        }
        for (path, record) in &self.recorded.own {
            if !desired.contains_key(path) {
                self.remove_own(path, record);
            }
        }
    }

    /// Folders of other people where one of ours should be.
    fn taken_units(&mut self, desired: &BTreeMap<PathBuf, OwnFile>) -> BTreeSet<PathBuf> {
        let units: BTreeSet<&PathBuf> =
            desired.values().filter_map(|file| file.unit.as_ref()).collect();
        let mut taken = BTreeSet::new();
        for unit in units {
            let is_ours = self.recorded.own.keys().any(|path| path.starts_with(unit));
            let is_same = |path: &Path| {
                let content = fs::read(path).ok();
                content == desired.get(path).map(|file| file.content.clone())
            };
            if is_ours
                || self.edited == OverwritePolicy::Overwrite
                || files_below(unit).iter().all(|path| is_same(path))
            {
                continue;
            }
            let message = "this folder is there already and was not written by `capdeck install`";
            self.report_foreign(unit, message);
            taken.insert(unit.clone());
        }
        taken
    }

    fn write_own(&mut self, path: &Path, file: &OwnFile) {
        let Some(current) = self.read(path) else { return };
        let record = self.recorded.own.get(path);
        let is_wanted = current.as_deref() == Some(&file.content);
        let is_untouched = match (&current, record) {
            (None, _) => true,
            (Some(content), Some(record)) => record.sha256 == sha256_hex(content),
            (Some(_), None) => false,
        };
        let before = match (&current, record) {
            (_, Some(record)) => self.recorded_before(path, record),
            (Some(content), None) => Some(self.keep(content)),
            (None, None) => None,
        };
        if is_wanted || is_untouched || self.edited == OverwritePolicy::Overwrite {
            let record = OwnRecord {
                sha256: sha256_hex(&file.content),
                part_of: file.part_of.clone(),
                before,
            };
            self.plan.manifest.own.insert(path.to_owned(), record);
            let change = change(path, &file.part_of, current, Some(file.content.clone()));
            let (is_program, is_private) = (file.is_program, file.is_private);
            self.change(FileChange { is_program, is_private, ..change });
        } else if let Some(record) = record {
            self.report_edited_file(path, &file.part_of);
            self.plan.manifest.own.insert(path.to_owned(), record.clone());
        } else {
            let what = &file.part_of;
            let message = format!("this file is there already, so {what} cannot be written");
            self.report_foreign(path, &message);
        }
    }

    fn remove_own(&mut self, path: &Path, record: &OwnRecord) {
        let Some(current) = self.read(path) else { return };
        let Some(content) = current else { return };
        if sha256_hex(&content) != record.sha256 && self.edited == OverwritePolicy::Keep {
            self.report_edited_file(path, &record.part_of);
            self.recorded_before(path, record);
            self.plan.manifest.own.insert(path.to_owned(), record.clone());
            return;
        }
        let before = self.kept(path, record.before.as_ref()).unwrap_or_default();
        self.change(change(path, &record.part_of, Some(content), before));
    }

    /// The hash of the former content, if that is still known.
    fn recorded_before(&mut self, path: &Path, record: &OwnRecord) -> Option<String> {
        let content = self.kept(path, record.before.as_ref())??;
        Some(self.keep(&content))
    }
}

pub(crate) fn change(
    path: &Path,
    what: &str,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
) -> FileChange {
    let action = match (&before, &after) {
        (None, _) => FileAction::Create,
        (Some(_), Some(_)) => FileAction::Update,
        (Some(_), None) => FileAction::Remove,
    };
    FileChange {
        path: path.to_owned(),
        action,
        what: what.to_owned(),
        before,
        after,
        is_program: false,
        is_private: false,
    }
}

fn missing_folders(path: &Path) -> BTreeSet<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|folder| !folder.exists());
    missing.map(Path::to_owned).collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            _ => files.push(entry.path()),
        }
    }
    files
}
