//! What a migration of one system is made of: looking, planning, carrying out, and putting back.

use std::path::PathBuf;

use capdeck_install::{
    ClientEntryRecords, FileAction, FileChange, InstallProblem, Migration, MigrationError,
    MigrationPlan, OpenError,
};
use serde::Serialize;

use crate::{commands::CommandContext, errors::CommandFailure, settings::CommandSettings};

/// A system whose set-up can be taken over. Each is one file of this folder.
#[derive(Debug)]
pub(in crate::commands) struct PeerSystem {
    pub(in crate::commands) id: &'static str,
    pub(in crate::commands) name: &'static str,
    /// What is here of it, without reading more than that takes. None where nothing is.
    pub(in crate::commands) look:
        fn(&MigrationScene<'_>) -> Result<Option<PeerTraces>, CommandFailure>,
    /// What taking it over does.
    pub(super) plan: fn(PeerTraces, &MigrationScene<'_>) -> Result<PeerSetup, CommandFailure>,
    /// What was taken over and can be put back.
    pub(super) done: fn(&MigrationScene<'_>) -> Result<Vec<MigrationWork>, CommandFailure>,
}

/// The surroundings of a migration.
#[derive(Debug)]
pub(in crate::commands) struct MigrationScene<'a> {
    pub(in crate::commands) settings: &'a CommandSettings,
    pub(in crate::commands) records: &'a ClientEntryRecords,
    pub(in crate::commands) context: &'a CommandContext<'a>,
}

/// Where a system left something.
#[derive(Debug)]
pub(in crate::commands) struct PeerTraces {
    pub(in crate::commands) sources: Vec<PathBuf>,
    /// When it was taken over; none where it is not, or need not be.
    pub(in crate::commands) migrated_at: Option<String>,
    /// Whether it is used where it is, so that nothing has to be taken.
    pub(in crate::commands) is_in_place: bool,
}

/// A set-up and what becomes of it.
#[derive(Debug)]
pub(super) struct PeerSetup {
    pub(super) system: &'static PeerSystem,
    pub(super) traces: PeerTraces,
    pub(super) items: Vec<SetupItem>,
    /// What is different afterwards, one sentence each.
    pub(super) differences: Vec<String>,
    /// What is left to the person.
    pub(super) next: Vec<String>,
    pub(super) work: MigrationWork,
}

/// One thing of a set-up.
#[derive(Debug, Serialize)]
pub(super) struct SetupItem {
    pub(super) kind: SetupItemKind,
    pub(super) name: String,
    pub(super) status: SetupItemStatus,
    /// Where to, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SetupItemKind {
    Capability,
    Capsule,
    File,
    Option,
    Secret,
    Grant,
    SignIn,
    Agent,
    Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SetupItemStatus {
    Take,
    /// It is used where it is.
    InPlace,
    /// It is not taken.
    Leave,
}

/// What is carried out.
#[derive(Debug)]
pub(super) enum MigrationWork {
    Nothing,
    /// Files, by the journal of this name. No plan where it is only put back.
    Files {
        name: String,
        plan: Option<Box<MigrationPlan>>,
    },
    /// The same, and then an installation into the project.
    Project {
        name: String,
        plan: Option<Box<MigrationPlan>>,
    },
}

/// What was put back.
#[derive(Debug, Default, Serialize)]
pub(super) struct MigrationUndo {
    pub(super) restored: Vec<PathBuf>,
    pub(super) removed: Vec<PathBuf>,
    /// What stays, and why.
    pub(super) stays: Vec<String>,
}

impl PeerSetup {
    pub(super) fn has_work(&self) -> bool {
        self.traces.migrated_at.is_none() && !matches!(self.work, MigrationWork::Nothing)
    }
}

impl SetupItem {
    pub(super) fn take(kind: SetupItemKind, name: impl Into<String>, note: Option<String>) -> Self {
        Self { kind, name: name.into(), status: SetupItemStatus::Take, note }
    }

    pub(super) fn leave(
        kind: SetupItemKind,
        name: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        let (status, note) = (SetupItemStatus::Leave, Some(why.into()));
        Self { kind, name: name.into(), status, note }
    }

    pub(super) fn in_place(
        kind: SetupItemKind,
        name: impl Into<String>,
        note: impl Into<String>,
    ) -> Self {
        let (status, note) = (SetupItemStatus::InPlace, Some(note.into()));
        Self { kind, name: name.into(), status, note }
    }
}

impl MigrationUndo {
    pub(super) fn of_changes(changes: &[FileChange], problems: &[InstallProblem]) -> Self {
        let mut undone = Self::default();
        for change in changes {
            let paths = match change.action {
                FileAction::Remove => &mut undone.removed,
                FileAction::Create | FileAction::Update => &mut undone.restored,
            };
            paths.push(change.path.clone());
        }
        let stays = problems.iter();
        undone.stays = stays.map(|one| format!("{}: {}", one.about, one.message)).collect();
        undone
    }

    pub(super) fn add(&mut self, other: Self) {
        let Self { restored, removed, stays } = other;
        self.restored.extend(restored);
        self.removed.extend(removed);
        self.stays.extend(stays);
    }

    /// Files that were changed while they were put back.
    pub(super) fn skip(&mut self, skipped: &[PathBuf]) {
        let is_done = |path: &PathBuf| !skipped.contains(path);
        self.restored.retain(is_done);
        self.removed.retain(is_done);
        let why = |path: &PathBuf| format!("{}: it was changed just now", path.display());
        self.stays.extend(skipped.iter().map(why));
    }
}

/// The time of a migration that is made now, to the second.
pub(super) fn migration_time() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The time that the record of a migration tells.
pub(super) fn recorded_time(
    scene: &MigrationScene<'_>,
    name: &str,
) -> Result<Option<String>, CommandFailure> {
    let migration = Migration::look(&scene.settings.state_dir, name)?;
    Ok(migration.record().map(|record| record.migrated_at))
}

/// The work that a record says was done.
pub(super) fn recorded_work(
    scene: &MigrationScene<'_>,
    name: &str,
) -> Result<Vec<MigrationWork>, CommandFailure> {
    let is_done = recorded_time(scene, name)?.is_some();
    let work = MigrationWork::Files { name: name.to_owned(), plan: None };
    Ok(is_done.then_some(work).into_iter().collect())
}

impl From<OpenError> for CommandFailure {
    fn from(error: OpenError) -> Self {
        Self::file("use", &error.path, &error.source)
    }
}

impl From<MigrationError> for CommandFailure {
    fn from(error: MigrationError) -> Self {
        let failure = Self::file("write", &error.source.path, &error.source.source);
        match error.stuck {
            None => failure.hint("nothing was changed; correct that and run this again"),
            Some(stuck) => {
                let hint = format!("run: capdeck migrate --undo (also: {stuck})");
                failure.hint(hint)
            }
        }
    }
}
