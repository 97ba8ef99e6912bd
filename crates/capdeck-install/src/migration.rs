//! Taking over what another program has set up: files come to their places whole or not at all, and go back to the former
//! bytes.
//!
//! Everything that a migration writes is known before the first write. It is carried out by the journal that
//! `capdeck install` uses; what it replaced is kept below the state folder until the migration is taken back.

mod place;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use capdeck_storage::FileLock;
use serde::{Deserialize, Serialize};

use crate::{
    ClientEntryPlan, ClientEntryRecords, OpenError, OverwritePolicy, WriteError,
    connect::plan_disconnect,
    edit::RecordedSplice,
    project::{
        DesiredFiles, FileChange, InstallJournal, InstallManifest, InstallPlan, InstallProblem,
        OwnFile, ProjectState, change, plan,
    },
};

pub use self::place::real_place;

const VERSION: u32 = 1;

/// The file that says what was taken over.
const RECORD: &str = "migration.json";

/// The migration of one set-up, such as that of one program, or of one project.
#[derive(Debug)]
pub struct Migration {
    state: ProjectState,
    recorded: InstallManifest,
    /// None where nothing is to be written.
    _lock: Option<FileLock>,
}

/// What was taken over, and when.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MigrationRecord {
    version: u32,
    pub migrated_at: String,
    /// The folders and files that it was taken from.
    pub sources: Vec<PathBuf>,
    /// Files of others in which a part was changed.
    edits: BTreeMap<PathBuf, RecordedSplice>,
}

/// A file that a migration brings to its place.
#[derive(Debug, Clone)]
pub struct MigratedFile {
    pub path: PathBuf,
    pub content: Vec<u8>,
    pub is_program: bool,
    pub is_private: bool,
    /// What it is, for people.
    pub what: String,
}

/// A file of others in which a part is changed.
#[derive(Debug, Clone)]
pub struct MigratedPart {
    pub path: PathBuf,
    pub before: String,
    pub after: String,
    /// What it is, for people.
    pub what: String,
}

/// What a migration changes, or what taking one back does.
#[derive(Debug)]
pub struct MigrationPlan {
    pub changes: Vec<FileChange>,
    pub problems: Vec<InstallProblem>,
    manifest: InstallManifest,
    kept: BTreeMap<String, Vec<u8>>,
}

/// Everything was left as it was, or was put back.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct MigrationError {
    #[source]
    pub source: WriteError,
    /// What could not be put back, and why.
    pub stuck: Option<WriteError>,
}

impl Migration {
    /// Looks at a migration without writing anything.
    pub fn look(state_dir: &Path, name: &str) -> Result<Self, OpenError> {
        let state = ProjectState { dir: real_place(state_dir).join("migrations").join(name) };
        let failed = |source| OpenError { path: state.dir.clone(), source };
        let recorded = state.manifest().map_err(failed)?;
        Ok(Self { state, recorded, _lock: None })
    }

    /// Opens a migration to carry it out or to take it back, and waits for another process that does. An interrupted run is
    /// finished first.
    pub fn open(state_dir: &Path, name: &str) -> Result<Self, OpenError> {
        let state = ProjectState { dir: real_place(state_dir).join("migrations").join(name) };
        let failed = |path: &Path, source| OpenError { path: path.to_owned(), source };
        let lock = state.dir.with_extension("lock");
        let held = FileLock::wait(&lock).map_err(|source| failed(&lock, source))?;
        let interrupted = InstallJournal::pending(&state).and_then(|pending| match pending {
            Some(journal) => journal.finish().map(drop),
            None => Ok(()),
        });
        interrupted.map_err(|error| OpenError { path: error.path, source: error.source })?;
        let recorded = state.manifest().map_err(|source| failed(&state.dir, source))?;
        Ok(Self { state, recorded, _lock: Some(held) })
    }

    /// What was taken over; none where nothing was, or where it was taken back.
    pub fn record(&self) -> Option<MigrationRecord> {
        let bytes = fs::read(self.state.dir.join(RECORD)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Plans the files to their places, the parts and the entries in files of others, and the record of it all.
    pub fn plan(
        &self,
        files: Vec<MigratedFile>,
        mut parts: Vec<MigratedPart>,
        entries: &[ClientEntryPlan],
        records: &ClientEntryRecords,
        sources: Vec<PathBuf>,
        migrated_at: &str,
    ) -> MigrationPlan {
        let mut desired = DesiredFiles::default();
        for MigratedFile { path, content, is_program, is_private, what } in files {
            let file = OwnFile { is_program, is_private, ..OwnFile::text(content, what) };
            desired.add_own(path, file);
        }
        for entry in entries {
            let (Some(before), Some(after)) = (&entry.before, &entry.after) else { continue };
            parts.push(MigratedPart {
                path: real_place(&entry.target.file),
                before: before.clone(),
                after: after.clone(),
                what: entry.target.client.name.to_owned(),
            });
            if let Some((place, content)) = entry.record_file(records) {
                desired.add_own(real_place(&place), private(content, "agents' entries"));
            }
        }
        let splice = |part: &MigratedPart| RecordedSplice::between(&part.before, &part.after);
        let edits = parts.iter().map(|part| (part.path.clone(), splice(part))).collect();
        let record = MigrationRecord {
            version: VERSION,
            migrated_at: migrated_at.to_owned(),
            sources,
            edits,
        };
        // Paths are UTF-8 here, so it can be written.
        let content = serde_json::to_vec_pretty(&record).unwrap_or_default();
        desired.add_own(self.state.dir.join(RECORD), private(content, "the record of it"));
        let mut planned = self.compare(desired, OverwritePolicy::Overwrite);
        for MigratedPart { path, before, after, what } in parts {
            if before != after {
                let (before, after) = (before.into_bytes(), after.into_bytes());
                planned.changes.push(change(&path, &what, Some(before), Some(after)));
            }
        }
        planned
    }

    /// Plans everything back to what it was. What was changed since stays, and is among the problems.
    pub fn plan_undo(&self, records: &ClientEntryRecords) -> MigrationPlan {
        let mut planned = self.compare(DesiredFiles::default(), OverwritePolicy::Keep);
        for (path, edit) in self.record().map(|record| record.edits).unwrap_or_default() {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            match edit.put_back(&text).or_else(|| without_entry(&path, records)) {
                Some(before) => {
                    let bytes = |text: String| Some(text.into_bytes());
                    planned.changes.push(change(&path, "agent", bytes(text), bytes(before)));
                }
                None => planned.problems.push(InstallProblem::warning(
                    "edited",
                    path.display().to_string(),
                    "it was changed since, and its entry of Capdeck stays",
                )),
            }
        }
        planned.changes.retain(|change| change.before != change.after);
        planned
    }

    /// Carries a plan out. Where a step fails, those before it are taken back. Returns the files that were changed in
    /// between, which are not touched.
    pub fn apply(self, plan: &MigrationPlan) -> Result<Vec<PathBuf>, MigrationError> {
        let MigrationPlan { changes, manifest, kept, .. } = plan;
        if changes.is_empty() && *manifest == self.recorded {
            return Ok(Vec::new());
        }
        carry_out(&self.state, changes, manifest, kept, &self.recorded)
    }

    fn compare(&self, desired: DesiredFiles, edited: OverwritePolicy) -> MigrationPlan {
        let InstallPlan { changes, mut problems, manifest, kept, .. } =
            plan(&self.state, &self.recorded, desired, edited);
        // The hints are about flags of another command.
        problems.iter_mut().for_each(|problem| problem.hint = None);
        MigrationPlan { changes, problems, manifest, kept }
    }
}

/// Makes the changes by a journal, or takes those back that were made.
pub(crate) fn carry_out(
    state: &ProjectState,
    changes: &[FileChange],
    manifest: &InstallManifest,
    kept: &BTreeMap<String, Vec<u8>>,
    recorded: &InstallManifest,
) -> Result<Vec<PathBuf>, MigrationError> {
    let unchanged = |source| MigrationError { source, stuck: None };
    let journal =
        InstallJournal::commit(state, changes, manifest.clone(), kept).map_err(unchanged)?;
    journal.finish().map_err(|source| {
        let undone = InstallJournal::roll_back(state, changes, &manifest.folders, recorded);
        MigrationError { source, stuck: undone.err() }
    })
}

fn private(content: Vec<u8>, what: &str) -> OwnFile {
    OwnFile { is_private: true, ..OwnFile::text(content, what.to_owned()) }
}

/// The text of an agent's file that was rewritten since, without the entry and with what it replaced.
fn without_entry(path: &Path, records: &ClientEntryRecords) -> Option<String> {
    let targets = records.targets().ok()?;
    let target = targets.into_iter().find(|target| real_place(&target.file) == path)?;
    plan_disconnect(&target, OverwritePolicy::Keep, records).ok()?.after
}
