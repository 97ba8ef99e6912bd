//! The socket between the process that has the capsules and those that send it requests.
//!
//! The one that has them greets. A connection then carries one request at a time, or, after `Listen`, changes until either
//! side hangs up. Before a request is worked on, `Started` is sent: a connection that ends without it means that nothing was
//! done.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use capdeck_host::{
    CapsuleCaller, CapsuleChange, CapsuleChanges, CapsuleError, CapsuleOperation, CapsuleRequest,
    CapsuleResponse, CapsuleService as _, LocalCapsuleService,
};
use futures_util::stream;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::{
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::local_socket::{
    self, FrameError, FrameReader, HostUnreachable, LocalSocket, SocketGreeting,
};

/// Changes whenever one side would misunderstand the other.
pub(super) const PROTOCOL: u32 = 4;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SocketRequest {
    Dispatch(Box<CapsuleRequest<CapsuleOperation>>),
    Listen(CapsuleCaller),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SocketResponse {
    /// From here on the request may have an effect, or changes are sent.
    #[serde(rename = "begun")]
    Started,
    Response(Box<CapsuleResponse>),
    Failed(CapsuleError),
    Changed(CapsuleChange),
}

/// Answers until `stop`, then finishes what was started. The socket goes first, while the folder is still this process's.
pub(super) async fn serve_others(
    socket: LocalSocket,
    capsules: LocalCapsuleService,
    version: String,
    stop: CancellationToken,
) {
    let conversations = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            stream = socket.accept() => stream,
            () = stop.cancelled() => break,
        };
        let (capsules, version, stop) = (capsules.clone(), version.clone(), stop.clone());
        conversations.spawn(async move {
            match converse(stream, &capsules, version, &stop).await {
                Ok(()) | Err(FrameError::Ended) => {}
                Err(error) => tracing::debug!(%error, "a process that asked was not understood"),
            }
        });
    }
    drop(socket);
    conversations.close();
    conversations.wait().await;
}

async fn converse(
    stream: UnixStream,
    capsules: &LocalCapsuleService,
    version: String,
    stop: &CancellationToken,
) -> Result<(), FrameError> {
    let (reading, mut writer) = stream.into_split();
    let mut reader = local_socket::reader(reading);
    local_socket::write(&mut writer, &SocketGreeting { protocol: PROTOCOL, version }).await?;
    loop {
        let request = tokio::select! {
            request = local_socket::read(&mut reader) => request?,
            () = stop.cancelled() => return Ok(()),
        };
        match request {
            SocketRequest::Dispatch(request) => {
                local_socket::write(&mut writer, &SocketResponse::Started).await?;
                let reply = match capsules.dispatch(*request).await {
                    Ok(response) => SocketResponse::Response(Box::new(response)),
                    Err(error) => SocketResponse::Failed(error),
                };
                local_socket::write(&mut writer, &reply).await?;
            }
            SocketRequest::Listen(caller) => {
                let mut changes = match capsules.changes(caller).await {
                    Ok(changes) => changes,
                    Err(error) => {
                        local_socket::write(&mut writer, &SocketResponse::Failed(error)).await?;
                        continue;
                    }
                };
                local_socket::write(&mut writer, &SocketResponse::Started).await?;
                loop {
                    tokio::select! {
                        change = changes.next() => match change {
                            Some(change) => {
                                local_socket::write(&mut writer, &SocketResponse::Changed(change)).await?;
                            }
                            None => return Ok(()),
                        },
                        // A subscriber sends nothing more; anything else ends it.
                        said = local_socket::read::<SocketRequest, _>(&mut reader) => {
                            return said.map(|_| ());
                        }
                        () = stop.cancelled() => return Ok(()),
                    }
                }
            }
        }
    }
}

/// Connections that are kept for the next request.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Longest wait for the other process to begin, which it does at once unless it is stopped or stuck.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(20);

/// Longest wait for an answer. Carrying a large capsule in or out takes a while.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A client of another process.
#[derive(Debug)]
pub(super) struct RemoteCapsules {
    socket: PathBuf,
    idle: Mutex<Vec<CapsuleSocket>>,
}

#[derive(Debug)]
struct CapsuleSocket {
    reader: FrameReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

/// The other process ended, or is silent for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LostConnection {
    /// Before it began: nothing was done.
    Untouched,
    /// After it began, or without a word about that: what it did is not known.
    Started,
}

impl RemoteCapsules {
    /// Connects to the process that answers at a socket.
    pub(super) async fn connect(socket: &Path) -> Result<Self, HostUnreachable> {
        let first = CapsuleSocket::open(socket).await?;
        Ok(Self { socket: socket.to_owned(), idle: Mutex::new(vec![first]) })
    }

    /// Sends one request.
    pub(super) async fn dispatch(
        &self,
        request: &CapsuleRequest<CapsuleOperation>,
    ) -> Result<Result<CapsuleResponse, CapsuleError>, LostConnection> {
        let mut connection = self.connection().await?;
        let asked = SocketRequest::Dispatch(Box::new(request.clone()));
        match connection.begin(&asked).await? {
            Ok(()) => {}
            Err(error) => return Ok(Err(error)),
        }
        let answered = timeout(RESPONSE_TIMEOUT, local_socket::read(&mut connection.reader)).await;
        let answer = match answered {
            Ok(Ok(SocketResponse::Response(response))) => Ok(*response),
            Ok(Ok(SocketResponse::Failed(error))) => Err(error),
            Ok(Ok(SocketResponse::Started | SocketResponse::Changed(_)) | Err(_)) | Err(_) => {
                return Err(LostConnection::Started);
            }
        };
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push(connection);
        }
        Ok(answer)
    }

    /// Listens on a connection of its own. The changes end with the other process.
    pub(super) async fn listen(
        &self,
        caller: &CapsuleCaller,
    ) -> Result<Result<CapsuleChanges, CapsuleError>, LostConnection> {
        let mut connection = self.connection().await?;
        match connection.begin(&SocketRequest::Listen(caller.clone())).await? {
            Ok(()) => {}
            Err(error) => return Ok(Err(error)),
        }
        let changes = stream::unfold(connection, |mut connection| async move {
            match local_socket::read(&mut connection.reader).await {
                Ok(SocketResponse::Changed(change)) => Some((change, connection)),
                Ok(_) | Err(_) => None,
            }
        });
        Ok(Ok(CapsuleChanges::new(changes)))
    }

    async fn connection(&self) -> Result<CapsuleSocket, LostConnection> {
        let kept = self.idle.lock().pop();
        match kept {
            Some(connection) => Ok(connection),
            None => CapsuleSocket::open(&self.socket).await.map_err(|_| LostConnection::Untouched),
        }
    }
}

impl CapsuleSocket {
    async fn open(socket: &Path) -> Result<Self, HostUnreachable> {
        let (reading, writer) = local_socket::connect(socket).await?.into_split();
        let mut reader = local_socket::reader(reading);
        local_socket::read_greeting(&mut reader, PROTOCOL).await?;
        Ok(Self { reader, writer })
    }

    /// Sends a request and waits until it is started.
    async fn begin(
        &mut self,
        request: &SocketRequest,
    ) -> Result<Result<(), CapsuleError>, LostConnection> {
        let started = timeout(BEGIN_TIMEOUT, self.try_begin(request)).await;
        // A process that is stopped may still find the request and do it when it goes on.
        started.unwrap_or(Err(LostConnection::Started))
    }

    async fn try_begin(
        &mut self,
        request: &SocketRequest,
    ) -> Result<Result<(), CapsuleError>, LostConnection> {
        let sent = local_socket::write(&mut self.writer, request).await;
        sent.map_err(|_| LostConnection::Untouched)?;
        match local_socket::read(&mut self.reader).await {
            Ok(SocketResponse::Started) => Ok(Ok(())),
            Ok(SocketResponse::Failed(error)) => Ok(Err(error)),
            Ok(SocketResponse::Response(_) | SocketResponse::Changed(_)) | Err(_) => {
                Err(LostConnection::Untouched)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use capdeck_host::{CapsuleAuthor, OverviewRequest};

    use super::*;
    use crate::local_socket::{LocalSocket, SocketGreeting};

    /// Paused time jumps to the next deadline, so nothing is waited for.
    #[tokio::test(start_paused = true)]
    async fn a_process_that_greets_and_falls_silent_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("desk.sock");
        let socket = LocalSocket::bind(&path).unwrap();
        let silent = tokio::spawn(async move {
            let mut stream = socket.accept().await;
            let greeting = SocketGreeting { protocol: PROTOCOL, version: "1".to_owned() };
            local_socket::write(&mut stream, &greeting).await.unwrap();
            std::future::pending::<()>().await;
        });
        let capsules = RemoteCapsules::connect(&path).await.unwrap();
        let caller = CapsuleCaller::local(CapsuleAuthor::client("tester"));
        let overview = CapsuleOperation::from(OverviewRequest);
        let asked = capsules.dispatch(&caller.request(None, overview)).await;
        // It may still do what it was asked when it goes on.
        assert_eq!(asked.unwrap_err(), LostConnection::Started);
        silent.abort();
    }
}
