//! Sockets between processes of one user: bound for that user alone, and only that user's processes are answered.

mod frames;

use std::{
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags},
    process::geteuid,
};
use tokio::net::{UnixListener, UnixStream};

pub(crate) use self::frames::{FrameError, Greeting, Reader, read, reader, write};

/// The address of a socket holds this many bytes at most, on every system.
const LONGEST_ADDRESS: usize = 100;

/// A host that is alive greets at once; one that was stopped by a signal never does.
const GREETING: Duration = Duration::from_secs(2);

/// A socket that belongs to this process. Removed when dropped.
#[derive(Debug)]
pub(crate) struct LocalSocket {
    listener: UnixListener,
    path: PathBuf,
}

/// Why nobody can be asked at a socket.
#[derive(Debug, thiserror::Error)]
pub enum NoHost {
    /// Nobody listens: the usual case without a host.
    #[error("no host runs for this deck")]
    Absent,
    #[error("the running host belongs to another user")]
    Foreign,
    #[error("the running host does not answer")]
    Silent,
    #[error("the running host is capdeck {version}, which speaks another protocol")]
    OtherVersion { version: String },
}

impl LocalSocket {
    /// Takes the socket at `path`. The caller holds a lock that makes this path its own, so what lies there is dead.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Ok(()) => tracing::debug!("a socket that a killed process left behind is replaced"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let place = reachable(path)?;
        let listener = UnixListener::bind(place.path())?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// The next process of this user that connects.
    pub(crate) async fn accept(&self) -> UnixStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) if is_own(&stream) => return stream,
                Ok(_) => tracing::warn!("another user's process was refused at a socket"),
                Err(error) => {
                    // Too many open files pass; trying again at once would only spin.
                    tracing::warn!(%error, "a process could not connect");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // Still locked, so it can be nobody else's.
        let _already_gone = fs::remove_file(&self.path);
    }
}

/// Connects to the process that listens at `path`, if it is this user's.
pub(crate) async fn connect(path: &Path) -> Result<UnixStream, NoHost> {
    // Without a file there is nothing to try; this is the whole cost of looking for a host.
    if !path.exists() {
        return Err(NoHost::Absent);
    }
    let place = reachable(path).map_err(|_| NoHost::Absent)?;
    let stream = UnixStream::connect(place.path()).await.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => NoHost::Foreign,
        _ => NoHost::Absent,
    })?;
    if is_own(&stream) { Ok(stream) } else { Err(NoHost::Foreign) }
}

/// Waits for the greeting of a process that was connected to, and sees that it speaks the same protocol.
pub(crate) async fn greeted<R: tokio::io::AsyncRead + Unpin>(
    reader: &mut Reader<R>,
    protocol: u32,
) -> Result<(), NoHost> {
    let greeting = tokio::time::timeout(GREETING, read::<Greeting, _>(reader)).await;
    match greeting {
        Ok(Ok(greeting)) if greeting.protocol == protocol => Ok(()),
        Ok(Ok(greeting)) => Err(NoHost::OtherVersion { version: greeting.version }),
        Ok(Err(_)) | Err(_) => Err(NoHost::Silent),
    }
}

/// True when the process at the other end belongs to the same user.
fn is_own(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// A path that fits into a socket's address.
struct Reachable {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl Reachable {
    fn path(&self) -> &Path {
        &self.path
    }
}

/// A deep folder is reached through its descriptor, because a socket's address is short.
fn reachable(path: &Path) -> io::Result<Reachable> {
    if path.as_os_str().len() <= LONGEST_ADDRESS || !cfg!(target_os = "linux") {
        return Ok(Reachable { path: path.to_owned(), _folder: None });
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let number = folder.as_fd().as_raw_fd();
    let path = PathBuf::from(format!("/proc/self/fd/{number}")).join(name);
    Ok(Reachable { path, _folder: Some(folder) })
}
