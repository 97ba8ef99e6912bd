//! Installing what a project's capability file declares into the agents that work there, and taking it back.
//!
//! A run has three steps that never mix: content is gathered, a plan compares it with what is there, and the plan is
//! carried out. Read [`ProjectInstaller`] first.

mod blocks;
mod compose;
mod content;
mod desired_files;
mod document;
mod gather;
mod hooks;
mod journal;
mod lock;
mod manifest;
mod pins;
mod plan;
mod rules;
mod screen;
mod subagents;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_definition::{DiagnosticSeverity, capability_file::CapabilityFile};
use capdeck_storage::FileLock;
use compose::FileComposer;
use gather::{SourceAccess, gather};
use lock::{lock_path, parse_lock, render_lock};
use pins::SourcePins;
use serde::Serialize;

use crate::{
    atomic_file::{OverwritePolicy, WriteError},
    git::GitClient,
    migration::{MigrationError, carry_out, real_place},
    provider::AgentProvider,
};

pub(crate) use blocks::{blocks_in, take_blocks};
pub(crate) use desired_files::{DesiredFiles, OwnFile, format_of, place_in};
pub(crate) use journal::InstallJournal;
pub(crate) use manifest::{InstallManifest, ProjectState};
pub(crate) use plan::{change, plan};

pub use gather::PinUse;
pub use plan::{FileAction, FileChange};
pub use subagents::AgentEndpoints;

/// The code of the problem that CAPA has set a project up.
pub const CAPA_PROBLEM: &str = "capa-set-up";

/// Installs into one project. While it lives, no other process installs there.
#[derive(Debug)]
pub struct ProjectInstaller {
    project: PathBuf,
    state: ProjectState,
    cache_dir: PathBuf,
    recorded: InstallManifest,
    /// None where nothing is to be written.
    _lock: Option<FileLock>,
}

/// What a run is asked for.
#[derive(Debug)]
pub struct InstallRequest<'a> {
    pub file: &'a CapabilityFile,
    pub providers: &'a [&'static AgentProvider],
    pub endpoints: &'a AgentEndpoints,
    pub edited: OverwritePolicy,
    pub pin_use: PinUse,
    /// The folders where programs are looked for.
    pub search_path: &'a [PathBuf],
    /// The time that a new lock tells.
    pub now: &'a str,
}

/// What a run would do. With an error among its problems it is not carried out.
#[derive(Debug)]
pub struct InstallPlan {
    /// The files that change, by path.
    pub changes: Vec<FileChange>,
    pub problems: Vec<InstallProblem>,
    /// What becomes able to run.
    pub surface: Vec<String>,
    pub(crate) manifest: InstallManifest,
    pub(crate) kept: std::collections::BTreeMap<String, Vec<u8>>,
}

/// A project cannot be installed into at all.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`", path.display())]
pub struct OpenError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

impl ProjectInstaller {
    /// Opens a project, waiting for another process that installs there.
    pub fn open(project: &Path, state_dir: &Path, cache_dir: &Path) -> Result<Self, OpenError> {
        let failed = |path: &Path, source| OpenError { path: path.to_owned(), source };
        let project = fs::canonicalize(project).map_err(|source| failed(project, source))?;
        // Paths are compared, so both sides must be real.
        fs::create_dir_all(state_dir).map_err(|source| failed(state_dir, source))?;
        let state_dir = fs::canonicalize(state_dir).map_err(|source| failed(state_dir, source))?;
        let state = ProjectState::new(&state_dir, &project);
        let lock_path = state.dir.with_extension("lock");
        let lock = FileLock::wait(&lock_path).map_err(|source| failed(&lock_path, source))?;
        let recorded = state.manifest().map_err(|source| failed(&state.dir, source))?;
        Ok(Self { project, state, cache_dir: cache_dir.to_owned(), recorded, _lock: Some(lock) })
    }

    /// Looks at a project without waiting for another process and without writing anything.
    pub fn look(project: &Path, state_dir: &Path, cache_dir: &Path) -> Result<Self, OpenError> {
        let failed = |path: &Path, source| OpenError { path: path.to_owned(), source };
        let project = fs::canonicalize(project).map_err(|source| failed(project, source))?;
        let state = ProjectState::new(&real_place(state_dir), &project);
        let recorded = state.manifest().map_err(|source| failed(&state.dir, source))?;
        Ok(Self { project, state, cache_dir: cache_dir.to_owned(), recorded, _lock: None })
    }

    /// A name for the project that no other on this machine has.
    pub fn key(&self) -> String {
        self.state.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The real path of the project.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Whether the last run wrote this file, or a part of it.
    pub(crate) fn has_written(&self, path: &Path) -> bool {
        self.recorded.own.contains_key(path) || self.recorded.shared.contains_key(path)
    }

    /// The providers of the last run.
    pub fn earlier_providers(&self) -> &[String] {
        &self.recorded.providers
    }

    /// Whether an earlier run was interrupted. Its plan is in force, so it must be finished before another is made.
    pub fn is_interrupted(&self) -> Result<bool, WriteError> {
        InstallJournal::pending(&self.state).map(|pending| pending.is_some())
    }

    /// Finishes an interrupted run. Returns the files that changed since, which are not touched.
    pub fn finish_interrupted(&mut self) -> Result<Vec<PathBuf>, WriteError> {
        let Some(journal) = InstallJournal::pending(&self.state)? else { return Ok(Vec::new()) };
        let skipped = journal.finish()?;
        let dir = self.state.dir.clone();
        self.recorded = self.state.manifest().map_err(|source| WriteError { path: dir, source })?;
        Ok(skipped)
    }

    /// What an installation would do. `fetch` returns the body of a successful answer of an address.
    pub fn plan(
        &self,
        request: &InstallRequest<'_>,
        git: &GitClient,
        fetch: &dyn Fn(&str) -> Result<Vec<u8>, FetchError>,
    ) -> InstallPlan {
        let InstallRequest { file, providers, endpoints, edited, pin_use, search_path, now } =
            request;
        let mut problems = missing_commands(file, search_path);
        let (old_text, old_pins) = self.read_lock(&mut problems);
        let plugin_dir = self.state.plugins();
        let access = SourceAccess { git, fetch, cache_dir: &self.cache_dir };
        let (mut content, pins, found) =
            gather(file, &self.project, access, &old_pins, *pin_use, providers, &plugin_dir);
        problems.extend(found);
        if let Some(edit) = self.capa_edits().into_iter().find(|edit| edit.is_active) {
            let about = edit.path.display().to_string();
            let message = "CAPA has set this project up, so its hooks and ours would both run";
            let problem = InstallProblem::error(CAPA_PROBLEM, about, message);
            problems.push(problem.with_hint("take its place with: capdeck migrate capa"));
        }
        problems.extend(screen::screen(&mut content, &file.options.security, &self.project));
        let composer = FileComposer {
            project: &self.project,
            state: &self.state,
            content: &content,
            endpoints,
            providers,
            files: DesiredFiles::default(),
        };
        let mut plan = plan(&self.state, &self.recorded, composer.compose(), *edited);
        problems.append(&mut plan.problems);
        plan.problems = problems;
        plan.manifest.has_lock = self.recorded.has_lock;
        if plan.can_apply() && !old_pins.is_same(&pins) {
            self.change_lock(&mut plan, old_text, &pins, *pin_use, now);
        }
        plan.manifest.providers = providers.iter().map(|one| one.id.to_owned()).collect();
        plan.surface = content::surface(file, &content);
        plan
    }

    /// What taking everything back would do.
    pub fn plan_clean(&self, edited: OverwritePolicy) -> InstallPlan {
        let mut plan = plan(&self.state, &self.recorded, DesiredFiles::default(), edited);
        let path = lock_path(&self.project);
        if self.recorded.has_lock
            && let Ok(bytes) = fs::read(&path)
        {
            plan.changes.push(change(&path, "lock", Some(bytes), None));
        }
        plan
    }

    /// Carries out a plan. After an error, or when it is interrupted, the next run goes on where this one stopped.
    /// Returns the files that changed in between, which are not touched.
    pub fn apply(self, plan: &InstallPlan) -> Result<Vec<PathBuf>, WriteError> {
        let InstallPlan { changes, manifest, kept, .. } = plan;
        if changes.is_empty() && *manifest == self.recorded {
            return Ok(Vec::new());
        }
        InstallJournal::commit(&self.state, changes, manifest.clone(), kept)?.finish()
    }

    /// Carries out a plan whole or not at all: where a step fails, those before it are taken back.
    pub fn apply_whole(self, plan: &InstallPlan) -> Result<Vec<PathBuf>, MigrationError> {
        let InstallPlan { changes, manifest, kept, .. } = plan;
        if changes.is_empty() && *manifest == self.recorded {
            return Ok(Vec::new());
        }
        carry_out(&self.state, changes, manifest, kept, &self.recorded)
    }

    /// The text of the lock, if there is one, and what it pins.
    fn read_lock(&self, problems: &mut Vec<InstallProblem>) -> (Option<String>, SourcePins) {
        let path = lock_path(&self.project);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let (pins, found) = parse_lock(&text, &path);
                problems.extend(found);
                return (Some(text), pins);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let about = path.display().to_string();
                problems.push(InstallProblem::error("bad-lock", about, error.to_string()));
            }
        }
        (None, SourcePins::default())
    }

    /// Adds the change of the lock to a plan.
    fn change_lock(
        &self,
        plan: &mut InstallPlan,
        old: Option<String>,
        pins: &SourcePins,
        pin_use: PinUse,
        now: &str,
    ) {
        let path = lock_path(&self.project);
        if pin_use == PinUse::Frozen {
            let message = "it would change, and --frozen forbids that";
            plan.problems.push(
                InstallProblem::error("lock-changes", path.display().to_string(), message)
                    .with_hint("run `capdeck install` without --frozen and commit the lock"),
            );
            return;
        }
        let new = render_lock(pins, &path, now);
        plan.manifest.has_lock |= old.is_none();
        let change =
            change(&path, "lock", old.map(String::into_bytes), new.map(String::into_bytes));
        if change.before != change.after {
            plan.changes.push(change);
        }
    }
}

impl InstallPlan {
    /// Whether it can be carried out.
    pub fn can_apply(&self) -> bool {
        !self.problems.iter().any(InstallProblem::is_error)
    }
}

fn missing_commands(file: &CapabilityFile, search_path: &[PathBuf]) -> Vec<InstallProblem> {
    let is_there = |name: &str| search_path.iter().any(|folder| folder.join(name).is_file());
    let missing = file.options.requires_commands.iter().filter(|needed| !is_there(&needed.cli));
    missing
        .map(|needed| {
            InstallProblem::error(
                "missing-command",
                "options.requiresCommands",
                format!("`{}` is not on the PATH", needed.cli),
            )
            .with_hint_if(needed.description.clone())
        })
        .collect()
}

/// One problem. An error keeps the whole run from writing anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstallProblem {
    pub severity: DiagnosticSeverity,
    /// A stable name for the kind of problem.
    pub code: &'static str,
    /// What it is about, such as ``skill `web` `` or a path.
    pub about: String,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl InstallProblem {
    pub(crate) fn error(
        code: &'static str,
        about: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: DiagnosticSeverity::Error,
            code,
            about: about.into(),
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn warning(
        code: &'static str,
        about: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { severity: DiagnosticSeverity::Warning, ..Self::error(code, about, message) }
    }

    /// Content that cannot be had.
    pub(crate) fn bad_source(about: impl Into<String>, why: impl ToString) -> Self {
        Self::error("bad-source", about, why.to_string())
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        self.with_hint_if(Some(hint))
    }

    pub(crate) fn with_hint_if(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }

    /// Whether nothing may be written because of it.
    pub fn is_error(&self) -> bool {
        self.severity == DiagnosticSeverity::Error
    }
}

/// An address did not answer with what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}
