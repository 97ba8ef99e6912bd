//! Carrying out a plan so that it can be finished after any interruption.
//!
//! Everything new is first written into the state folder and put in force there by one rename. From then on the run
//! will be finished: by itself, or by the next one. Before that, nothing has happened.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use capdeck_storage::{
    make_private_folder, private_options, read_if_exists, remove_if_exists, sha256_hex, sync_folder,
};
use serde::{Deserialize, Serialize};

use super::{
    manifest::{InstallManifest, ProjectState},
    plan::FileChange,
};
use crate::atomic_file::{WriteError, replace_private_file};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct JournalStep {
    path: PathBuf,
    /// The hash of what is replaced; none if there is no file.
    before: Option<String>,
    /// The hash of what comes in its place; none if it goes.
    after: Option<String>,
    is_program: bool,
    /// Whether only the owner may read it.
    #[serde(default)]
    is_private: bool,
}

/// Steps that are in force but perhaps not all taken.
#[derive(Debug)]
pub(crate) struct InstallJournal {
    dir: PathBuf,
    state: PathBuf,
    steps: Vec<JournalStep>,
    manifest: InstallManifest,
}

#[derive(Serialize, Deserialize)]
struct JournalFile {
    steps: Vec<JournalStep>,
    manifest: InstallManifest,
}

fn failed(path: &Path) -> impl Fn(io::Error) -> WriteError + Copy {
    move |source| WriteError { path: path.to_owned(), source }
}

impl InstallJournal {
    /// Puts the changes in force. Nothing of the project is touched yet.
    pub(crate) fn commit(
        state: &ProjectState,
        changes: &[FileChange],
        manifest: InstallManifest,
        kept: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, WriteError> {
        let (stage, dir) = (state.dir.join("journal.new"), state.dir.join("journal"));
        remove_folder(&stage).map_err(failed(&stage))?;
        make_private_folder(&state.dir).map_err(failed(&state.dir))?;
        make_private_folder(&stage).map_err(failed(&stage))?;
        let kept_dir = state.dir.join("kept");
        make_private_folder(&kept_dir).map_err(failed(&kept_dir))?;
        for (hash, content) in kept {
            let path = kept_dir.join(hash);
            if !path.exists() {
                replace_private_file(&path, content)?;
            }
        }
        let mut steps = Vec::new();
        for change in changes {
            let after = change.after.as_deref().map(sha256_hex);
            if let (Some(hash), Some(content)) = (&after, &change.after) {
                let path = stage.join(hash);
                write_private(&path, content).map_err(failed(&path))?;
            }
            steps.push(JournalStep {
                path: change.path.clone(),
                before: change.before.as_deref().map(sha256_hex),
                after,
                is_program: change.is_program,
                is_private: change.is_private,
            });
        }
        let written = JournalFile { steps, manifest };
        let bytes = serde_json::to_vec(&written).map_err(io::Error::other);
        let path = stage.join("steps.json");
        bytes.and_then(|bytes| write_private(&path, &bytes)).map_err(failed(&path))?;
        sync_folder(&stage).map_err(failed(&stage))?;
        fs::rename(&stage, &dir).map_err(failed(&dir))?;
        sync_folder(&state.dir).map_err(failed(&state.dir))?;
        let JournalFile { steps, manifest } = written;
        Ok(Self { dir, state: state.dir.clone(), steps, manifest })
    }

    /// What an interrupted run left in force.
    pub(crate) fn pending(state: &ProjectState) -> Result<Option<Self>, WriteError> {
        let dir = state.dir.join("journal");
        let path = dir.join("steps.json");
        let failed = failed(&path);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let JournalFile { steps, manifest } = serde_json::from_slice(&bytes)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        Ok(Some(Self { dir, state: state.dir.clone(), steps, manifest }))
    }

    /// Takes all steps and closes the journal.
    pub(crate) fn finish(self) -> Result<Vec<PathBuf>, WriteError> {
        let mut edited = Vec::new();
        for step in &self.steps {
            if !self.take(step)? {
                edited.push(step.path.clone());
            }
        }
        self.close()?;
        Ok(edited)
    }

    /// Takes one step, if the file is as it was planned for or the step is taken already. False when another program changed
    /// the file in between: then it is left alone.
    fn take(&self, step: &JournalStep) -> Result<bool, WriteError> {
        let failed = failed(&step.path);
        let current = match fs::read(&step.path) {
            Ok(bytes) => Some(sha256_hex(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let beside = beside(&step.path);
        if current != step.before && current != step.after {
            remove_if_exists(&beside).map_err(failed)?;
            return Ok(false);
        }
        match &step.after {
            Some(hash) => {
                if current.as_ref() != Some(hash) {
                    let content = fs::read(self.dir.join(hash)).map_err(failed)?;
                    replace(&step.path, &beside, &content, step.is_private).map_err(failed)?;
                }
                if step.is_program {
                    make_program(&step.path).map_err(failed)?;
                }
            }
            None if current.is_some() => fs::remove_file(&step.path).map_err(failed)?,
            None => {}
        }
        // A killed run may have left it.
        remove_if_exists(&beside).map_err(failed)?;
        Ok(true)
    }

    /// Takes the steps back that were taken, in memory of what was there, and gives the journal up.
    pub(crate) fn roll_back(
        state: &ProjectState,
        changes: &[FileChange],
        folders: &BTreeSet<PathBuf>,
        recorded: &InstallManifest,
    ) -> Result<(), WriteError> {
        // One that cannot be put back does not keep the others from it.
        let mut outcome = Ok(());
        for change in changes.iter().rev() {
            let put_back = take_back(change).map_err(failed(&change.path));
            outcome = outcome.and(put_back);
        }
        for folder in folders.iter().rev() {
            // One that is not empty was there before, or is used by now.
            fs::remove_dir(folder).ok();
        }
        let dir = state.dir.join("journal");
        remove_folder(&dir).map_err(failed(&dir))?;
        forget_unneeded(&state.dir, recorded);
        outcome
    }

    fn close(self) -> Result<(), WriteError> {
        let Self { dir, state, mut manifest, .. } = self;
        // The deepest first: a folder goes when nothing is in it any more.
        let folders: Vec<PathBuf> = manifest.folders.iter().rev().cloned().collect();
        for folder in folders {
            if fs::remove_dir(&folder).is_ok() || !folder.exists() {
                manifest.folders.remove(&folder);
            }
        }
        let path = state.join("manifest.json");
        if manifest.is_empty() {
            // What is left of this project is the folder itself.
            remove_if_exists(&path).map_err(failed(&path))?;
        } else {
            replace_private_file(&path, &manifest.to_bytes())?;
        }
        let done = state.join("journal.done");
        remove_folder(&done).map_err(failed(&done))?;
        fs::rename(&dir, &done).map_err(failed(&dir))?;
        remove_folder(&done).map_err(failed(&done))?;
        forget_unneeded(&state, &manifest);
        Ok(())
    }
}

/// Puts back what was there before a change, unless it was not made, or another program changed the file since.
fn take_back(change: &FileChange) -> io::Result<()> {
    let current = read_if_exists(&change.path)?;
    if current == change.before || current != change.after {
        return Ok(());
    }
    match &change.before {
        Some(content) => replace(&change.path, &beside(&change.path), content, change.is_private),
        None => fs::remove_file(&change.path),
    }
}

/// Kept contents that nothing refers to any more. What cannot be removed is tried again next time.
fn forget_unneeded(state: &Path, manifest: &InstallManifest) {
    let needed = manifest.needed();
    for entry in fs::read_dir(state.join("kept")).into_iter().flatten().flatten() {
        if !needed.contains(&*entry.file_name().to_string_lossy()) {
            let _again_next_time = fs::remove_file(entry.path());
        }
    }
    if manifest.is_empty() {
        for folder in ["kept", "hooks", "plugins", ""] {
            let _stays_if_used = fs::remove_dir(state.join(folder));
        }
    }
}

/// Where a file's new content is written before it takes its place. Always the same name, so that a run that finishes an
/// interrupted run finds what it left.
fn beside(path: &Path) -> PathBuf {
    let hash = sha256_hex(path.as_os_str().as_encoded_bytes());
    let short: String = hash.chars().take(12).collect();
    path.with_file_name(format!(".capdeck-{short}.new"))
}

/// Replaces a file in one step, keeping its permissions. Paths of a journal are real: none is a link.
fn replace(path: &Path, beside: &Path, content: &[u8], is_private: bool) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut options = if is_private {
        make_private_folder(folder)?;
        private_options()
    } else {
        fs::create_dir_all(folder)?;
        OpenOptions::new()
    };
    remove_if_exists(beside)?;
    let mut file = options.write(true).create_new(true).open(beside)?;
    file.write_all(content)?;
    if let Ok(known) = fs::metadata(path) {
        file.set_permissions(known.permissions())?;
    }
    file.sync_all()?;
    fs::rename(beside, path)?;
    sync_folder(folder)
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Configuration of agents can hold secrets, so a copy of it is for its owner alone.
fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private_options().write(true).create(true).truncate(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn make_program(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(path)?.permissions().mode();
        // Those who may read it may run it.
        let wanted = mode | ((mode & 0o444) >> 2);
        if wanted != mode {
            fs::set_permissions(path, fs::Permissions::from_mode(wanted))?;
        }
    }
    #[cfg(not(unix))]
    let _same_everywhere = path;
    Ok(())
}

#[cfg(test)]
mod tests;
