//! Reads the deck again when its files change.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{
    DebounceEventResult, DebouncedEvent, Debouncer, RecommendedCache, new_debouncer,
};
use tokio::sync::mpsc;

use crate::{Host, pins::APPROVED};

/// Files are read again once they have been quiet for this long.
const QUIET: Duration = Duration::from_millis(250);

/// Files of the state folder that say what a person decided.
const DECISIONS: [&str; 3] = ["trust.json", "setup.json", APPROVED];

/// The files could not be watched, so changes need a restart.
#[derive(Debug, thiserror::Error)]
#[error("the definition files cannot be watched; changes need a restart")]
pub struct WatchError(#[from] notify::Error);

impl Host {
    /// Follows file changes in the background until the host is closed.
    pub fn watch(&self) -> Result<(), WatchError> {
        let (changed, mut changes) = mpsc::unbounded_channel();
        let state_dir = self.settings().state_dir.clone();
        if let Some(folder) = state_dir.join(APPROVED).parent() {
            // A folder can only be watched once it exists; without it, approvals are seen at the next use.
            drop(std::fs::create_dir_all(folder));
        }
        let mut debouncer = new_debouncer(QUIET, None, move |events: DebounceEventResult| {
            let matters = |event: &DebouncedEvent| {
                !event.kind.is_access()
                    && event.paths.iter().any(|path| !is_own_record(path, &state_dir))
            };
            if events.is_ok_and(|events| events.iter().any(matters)) {
                // The receiver is gone only while the host closes.
                changed.send(()).ok();
            }
        })?;
        let mut watched = Vec::new();
        follow(&mut debouncer, &mut watched, self.watch_list());
        let host = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    change = changes.recv() => if change.is_none() { return },
                    () = host.0.stop.cancelled() => return,
                }
                loop {
                    let reloading = host.clone();
                    // Reading files blocks; a panic there must not end the watching.
                    let reload = tokio::task::spawn_blocking(move || reloading.reload());
                    if let Err(error) = reload.await {
                        tracing::error!(%error, "reading the deck again ended by a bug");
                    }
                    // What changed in a new folder before it was watched is seen by reading once more.
                    if !follow(&mut debouncer, &mut watched, host.watch_list()) {
                        break;
                    }
                }
            }
        });
        Ok(())
    }

    fn watch_list(&self) -> Vec<PathBuf> {
        let settings = self.settings();
        let roots = settings.user_roots.iter().map(|root| root.dir.clone());
        // Trust and set-up are decided by other processes; their files tell when.
        let state = DECISIONS.map(|name| settings.state_dir.join(name));
        let mut paths: Vec<PathBuf> =
            self.deck().watched.iter().cloned().chain(roots).chain(state).collect();
        if let Some(project) = &settings.project {
            paths.push(project.dir.clone());
        }
        paths.into_iter().filter_map(|path| nearest_existing(&path)).collect()
    }
}

/// True for what the host itself writes beside the decisions: following that would be following itself.
fn is_own_record(path: &Path, state_dir: &Path) -> bool {
    path.starts_with(state_dir) && !DECISIONS.iter().any(|name| path.ends_with(name))
}

/// A folder that does not exist yet is noticed through the nearest one that does.
fn nearest_existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|path| path.is_dir()).map(PathBuf::from)
}

/// Watches what is wanted and nothing else. True when something was not watched before.
fn follow(
    debouncer: &mut Debouncer<RecommendedWatcher, RecommendedCache>,
    watched: &mut Vec<PathBuf>,
    mut wanted: Vec<PathBuf>,
) -> bool {
    wanted.sort();
    wanted.dedup();
    let mut added = false;
    for path in watched.iter().filter(|path| !wanted.contains(path)) {
        // A folder that is gone is no longer watched anyway.
        drop(debouncer.unwatch(path));
    }
    for path in wanted.iter().filter(|path| !watched.contains(path)) {
        match debouncer.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => added = true,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the folder cannot be watched");
            }
        }
    }
    *watched = wanted;
    added
}
