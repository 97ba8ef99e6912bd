//! Sockets between processes of one user. Other users are rejected.

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

pub(crate) use self::frames::{FrameError, FrameReader, SocketGreeting, read, reader, write};

/// The limit of socket addresses on every supported system, in bytes.
const MAX_ADDRESS_BYTES: usize = 100;

/// A live host greets immediately; a stopped process (SIGSTOP) never does.
const GREETING: Duration = Duration::from_secs(2);

/// A socket of this process. Removed when dropped.
#[derive(Debug)]
pub(crate) struct LocalSocket {
    listener: UnixListener,
    path: PathBuf,
}

/// Why no host can be reached at a socket.
#[derive(Debug, thiserror::Error)]
pub enum HostUnreachable {
    /// The usual case: no host is running.
    #[error("no host is running for this deck")]
    Absent,
    #[error("the running host belongs to another user")]
    Foreign,
    #[error("the running host does not respond")]
    Silent,
    #[error("the running host is capdeck {version}, which uses another protocol version")]
    OtherVersion { version: String },
}

impl LocalSocket {
    /// Binds the socket at `path`. The caller holds the lock of this path, so an existing socket is stale.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Ok(()) => tracing::debug!("replacing the stale socket of a killed process"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let place = short_socket_path(path)?;
        let listener = UnixListener::bind(place.path())?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    pub(crate) async fn accept(&self) -> UnixStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) if is_same_user(&stream) => return stream,
                Ok(_) => tracing::warn!("rejected a process of another user at a socket"),
                Err(error) => {
                    // Running out of descriptors is temporary; an immediate retry would spin.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // The lock is still held, so the socket is still ours.
        let _already_gone = fs::remove_file(&self.path);
    }
}

/// Connects to the process that listens at `path`, if it belongs to this user.
pub(crate) async fn connect(path: &Path) -> Result<UnixStream, HostUnreachable> {
    // Without a file there is no host; this check is the only cost of looking for one.
    if !path.exists() {
        return Err(HostUnreachable::Absent);
    }
    let place = short_socket_path(path).map_err(|_| HostUnreachable::Absent)?;
    let stream = UnixStream::connect(place.path()).await.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => HostUnreachable::Foreign,
        _ => HostUnreachable::Absent,
    })?;
    if is_same_user(&stream) { Ok(stream) } else { Err(HostUnreachable::Foreign) }
}

pub(crate) async fn read_greeting<R: tokio::io::AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    protocol: u32,
) -> Result<(), HostUnreachable> {
    let greeting = tokio::time::timeout(GREETING, read::<SocketGreeting, _>(reader)).await;
    match greeting {
        Ok(Ok(greeting)) if greeting.protocol == protocol => Ok(()),
        Ok(Ok(greeting)) => Err(HostUnreachable::OtherVersion { version: greeting.version }),
        Ok(Err(_)) | Err(_) => Err(HostUnreachable::Silent),
    }
}

fn is_same_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// A path short enough for a socket address.
struct SocketPath {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl SocketPath {
    fn path(&self) -> &Path {
        &self.path
    }
}

/// Reaches a deep folder through its descriptor, because socket addresses are short.
fn short_socket_path(path: &Path) -> io::Result<SocketPath> {
    if path.as_os_str().len() <= MAX_ADDRESS_BYTES || !cfg!(target_os = "linux") {
        return Ok(SocketPath { path: path.to_owned(), _folder: None });
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let number = folder.as_fd().as_raw_fd();
    let path = PathBuf::from(format!("/proc/self/fd/{number}")).join(name);
    Ok(SocketPath { path, _folder: Some(folder) })
}
