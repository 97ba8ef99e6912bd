//! Sockets between processes of one user. Other users are rejected.
//!
//! A frame is a length and a JSON value. The listener greets first.

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

use futures_util::StreamExt as _;
use rustix::{
    fs::{Mode, OFlags},
    process::geteuid,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

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
        let listener = UnixListener::bind(&place.path)?;
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
    let stream = UnixStream::connect(&place.path).await.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => HostUnreachable::Foreign,
        _ => HostUnreachable::Absent,
    })?;
    if is_same_user(&stream) { Ok(stream) } else { Err(HostUnreachable::Foreign) }
}

pub(crate) async fn read_greeting<R: AsyncRead + Unpin>(
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

/// Larger than any message of a server with its envelope.
const MAX_FRAME_BYTES: usize = 64 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SocketGreeting {
    pub(crate) protocol: u32,
    pub(crate) version: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the connection ended")]
    Ended,
    #[error(transparent)]
    Transport(#[from] io::Error),
    #[error("invalid message: {0}")]
    Unreadable(#[from] serde_json::Error),
}

pub(crate) type FrameReader<R> = FramedRead<R, LengthDelimitedCodec>;

pub(crate) fn reader<R: AsyncRead>(half: R) -> FrameReader<R> {
    let codec = LengthDelimitedCodec::builder().max_frame_length(MAX_FRAME_BYTES).new_codec();
    FramedRead::new(half, codec)
}

/// The next frame. Cancel safe.
pub(crate) async fn read<T: DeserializeOwned, R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
) -> Result<T, FrameError> {
    let bytes = reader.next().await.ok_or(FrameError::Ended)??;
    Ok(serde_json::from_slice(&bytes)?)
}

pub(crate) async fn write<T: Serialize, W: AsyncWrite + Unpin>(
    writer: &mut W,
    message: &T,
) -> Result<(), FrameError> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend(length.to_be_bytes());
    frame.extend(body);
    Ok(writer.write_all(&frame).await?)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn what_is_no_frame_is_refused() {
        let (mut one, other) = tokio::io::duplex(64);
        one.write_all(b"\xff\xff\xff\xffGET / HTTP/1.1").await.unwrap();
        let read = read::<Value, _>(&mut reader(other)).await;
        assert!(matches!(read, Err(FrameError::Transport(_))), "{read:?}");
        let (mut one, other) = tokio::io::duplex(64);
        one.write_all(b"\0\0\0\x02{]").await.unwrap();
        let read = self::read::<Value, _>(&mut reader(other)).await;
        assert!(matches!(read, Err(FrameError::Unreadable(_))), "{read:?}");
    }
}
