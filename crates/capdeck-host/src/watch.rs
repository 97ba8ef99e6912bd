//! Reloads the deck when its files change.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};

use crate::{Host, pins::APPROVED_PINS_FILE};

/// Files are read again after this long without a change.
const SETTLE_INTERVAL: Duration = Duration::from_millis(250);

/// Files that change all the time are read again after this.
const MAX_SETTLE_TIME: Duration = Duration::from_secs(2);

const DECISIONS: [&str; 3] = ["trust.json", "setup.json", APPROVED_PINS_FILE];

/// The files cannot be watched, so changes need a restart.
#[derive(Debug, thiserror::Error)]
#[error("the definition files cannot be watched; changes need a restart")]
pub struct WatchError(#[from] notify::Error);

/// Follows file changes in the background until the host is closed.
pub fn watch_files(host: &Host) -> Result<(), WatchError> {
    let changes = Arc::new(Notify::new());
    let state_dir = host.settings().state_dir.clone();
    let (list, only_capsules) = (capsule_list(host), Arc::new(Mutex::new(None)));
    let capsules_only = Arc::clone(&only_capsules);
    if let Some(folder) = state_dir.join(APPROVED_PINS_FILE).parent() {
        // A folder can only be watched once it exists; without it, approvals are seen at the
        // next use.
        drop(std::fs::create_dir_all(folder));
    }
    let changed = changes.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let matters = |path: &Path| {
            let is_of_capsules = || path.parent() == capsules_only.lock().as_deref();
            list.as_ref().is_some_and(|list| list.starts_with(path))
                || !is_own_record(path, &state_dir) && !is_of_capsules()
        };
        let matters = |event: Event| {
            event.need_rescan()
                || !event.kind.is_access() && event.paths.iter().any(|path| matters(path))
        };
        if event.is_ok_and(matters) {
            changed.notify_one();
        }
    })?;
    let mut watched = Vec::new();
    update_watches(&mut watcher, &mut watched, watch_list(host, &only_capsules));
    let host = host.clone();
    tokio::spawn(async move {
        loop {
            let settled = wait_until_settled(&changes);
            if host.0.stop.run_until_cancelled(settled).await.is_none() {
                return;
            }
            loop {
                let reloading = host.clone();
                // Reading files blocks; a panic there must not end the watching.
                let reload = tokio::task::spawn_blocking(move || reloading.reload());
                if let Err(error) = reload.await {
                    tracing::error!(%error, "reloading the deck panicked");
                }
                // Reading once more catches changes in a new folder before it was watched.
                if !update_watches(&mut watcher, &mut watched, watch_list(&host, &only_capsules)) {
                    break;
                }
            }
        }
    });
    Ok(())
}
/// Lists the capsules. The capsule capability is in the deck while there are any.
fn capsule_list(host: &Host) -> Option<PathBuf> {
    host.capsules()?.list_file()
}

/// All folders to watch; sets the folder that is watched only for capsules, which also has
/// other files.
fn watch_list(host: &Host, only_capsules: &Mutex<Option<PathBuf>>) -> Vec<PathBuf> {
    let settings = host.settings();
    let roots = settings.user_roots.iter().map(|root| root.dir.clone());
    // Other processes decide about trust and set-up; their files show it.
    let state = DECISIONS.map(|name| settings.state_dir.join(name));
    let mut paths: Vec<PathBuf> =
        host.deck().watched.iter().cloned().chain(roots).chain(state).collect();
    if let Some(project) = &settings.project {
        paths.push(project.dir.clone());
    }
    let mut folders: Vec<PathBuf> =
        paths.into_iter().filter_map(|path| nearest_existing(&path)).collect();
    let capsules = capsule_list(host).and_then(|list| nearest_existing(&list));
    let capsules = capsules.filter(|folder| !folders.contains(folder));
    folders.extend(capsules.clone());
    *only_capsules.lock() = capsules;
    folders
}

async fn wait_until_settled(changes: &Notify) {
    changes.notified().await;
    let end = Instant::now() + MAX_SETTLE_TIME;
    let another = || timeout(SETTLE_INTERVAL, changes.notified());
    while let Ok(Ok(())) = timeout_at(end, another()).await {}
}

/// True for the host's own files beside the decisions: following them would be a loop.
fn is_own_record(path: &Path, state_dir: &Path) -> bool {
    path.starts_with(state_dir) && !DECISIONS.iter().any(|name| path.ends_with(name))
}

/// A folder that does not exist yet is noticed through the nearest one that does.
fn nearest_existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|path| path.is_dir()).map(PathBuf::from)
}

fn update_watches(
    watcher: &mut RecommendedWatcher,
    watched: &mut Vec<PathBuf>,
    mut folders: Vec<PathBuf>,
) -> bool {
    folders.sort();
    folders.dedup();
    let mut added = false;
    for path in watched.iter().filter(|path| !folders.contains(path)) {
        // A removed folder is no longer watched anyway.
        drop(watcher.unwatch(path));
    }
    for path in folders.iter().filter(|path| !watched.contains(path)) {
        match watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => added = true,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the folder cannot be watched");
            }
        }
    }
    *watched = folders;
    added
}
