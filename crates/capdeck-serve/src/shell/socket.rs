//! The socket at which a running host serves the user's command line.
//!
//! A file beside the socket is locked while the host runs. The lock holder owns the socket, so the socket of a killed host
//! is known to be stale, and a second host never takes it from the first.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_host::{Host, Session, SessionScope, SessionSettings};
use parking_lot::Mutex;
use rustix::{fs::FlockOperation, process::geteuid};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{connection, person_at_terminal};
use crate::local_socket::LocalSocket;

const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// A socket of this process. Removed when dropped.
pub struct ShellSocket {
    // Removed while the lock is held, so it is still ours.
    socket: LocalSocket,
    _lock: File,
}

/// Why the socket cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("another host already serves `capdeck sh` for this deck")]
    Taken,
    #[error("`{}` belongs to another user", path.display())]
    Foreign { path: PathBuf },
    #[error("cannot use `{}`", path.display())]
    Place {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl ShellSocket {
    /// Binds the socket at `path` in a private folder.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let trouble = |source| SocketError::Place { path: path.to_owned(), source };
        private_folder(path.parent().unwrap_or(path))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.with_extension("lock"))
            .map_err(trouble)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(SocketError::Taken),
            Err(error) => return Err(trouble(error.into())),
        }
        let socket = LocalSocket::bind(path).map_err(trouble)?;
        Ok(Self { socket, _lock: lock })
    }

    /// Serves until `stop`, then ends every connection.
    pub async fn run(self, host: Host, stop: CancellationToken) {
        let people = Arc::new(IdleSessions::default());
        let conversations = TaskTracker::new();
        let mut tidying = interval(SWEEP_INTERVAL);
        tidying.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let stream = tokio::select! {
                stream = self.socket.accept() => stream,
                _ = tidying.tick() => {
                    people.close_idle().await;
                    continue;
                }
                () = stop.cancelled() => break,
            };
            let (host, people, stop) = (host.clone(), people.clone(), stop.clone());
            conversations.spawn(connection::serve(stream, host, people, stop));
        }
        conversations.close();
        conversations.wait().await;
        people.close().await;
    }
}

fn private_folder(dir: &Path) -> Result<(), SocketError> {
    let trouble = |source| SocketError::Place { path: dir.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(trouble)?;
    let facts = fs::symlink_metadata(dir).map_err(trouble)?;
    if facts.uid() != geteuid().as_raw() || !facts.is_dir() {
        return Err(SocketError::Foreign { path: dir.to_owned() });
    }
    if facts.mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(trouble)?;
    }
    Ok(())
}

/// Further concurrent sessions are not cached.
const MAX_IDLE_SESSIONS: usize = 4;

const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Default)]
pub(super) struct IdleSessions(Mutex<Vec<(Instant, Arc<Session>)>>);

impl IdleSessions {
    pub(super) fn take_session(&self, host: &Host) -> Arc<Session> {
        let waiting = self.0.lock().pop();
        waiting.map_or_else(
            || host.session(SessionSettings::local(SessionScope::Operator, person_at_terminal())),
            |(_, session)| session,
        )
    }

    pub(super) async fn return_session(&self, session: Arc<Session>) {
        let too_many = {
            let mut waiting = self.0.lock();
            waiting.push((Instant::now(), session));
            if waiting.len() > MAX_IDLE_SESSIONS { Some(waiting.remove(0)) } else { None }
        };
        if let Some((_, session)) = too_many {
            session.close().await;
        }
    }

    pub(super) async fn close_idle(&self) {
        let old: Vec<_> =
            self.0.lock().extract_if(.., |(since, _)| since.elapsed() >= IDLE_TIMEOUT).collect();
        for (_, session) in old {
            session.close().await;
        }
    }

    pub(super) async fn close(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        for (_, session) in all {
            session.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_socket;

    #[tokio::test]
    async fn one_host_at_a_time_and_a_dead_socket_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("d".repeat(120));
        let path = dir.join("deck.sock");
        let first = ShellSocket::bind(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&path)), (0o700, 0o600));
        assert!(matches!(ShellSocket::bind(&path), Err(SocketError::Taken)));
        drop(first);
        assert!(!path.exists());
        // A killed host leaves the file; its lock ended with the process.
        fs::write(&path, "").unwrap();
        let second = ShellSocket::bind(&path).unwrap();
        assert!(local_socket::connect(&path).await.is_ok());
        drop(second);
    }

    #[tokio::test]
    async fn a_folder_that_others_could_enter_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("open");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        let _socket = ShellSocket::bind(&dir.join("deck.sock")).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
    }
}
