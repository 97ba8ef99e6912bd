//! Asks the process that has the capsules.

use std::path::{Path, PathBuf};

use capdeck_host::{CapsuleCaller, CapsuleChanges, CapsuleFailure, CapsuleRequest};
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::protocol::{PROTOCOL, Reply, Request};
use crate::local_socket::{self, NoHost, Reader};

/// Connections that are kept for the next request.
const KEPT: usize = 8;

/// The way to another process.
#[derive(Debug)]
pub(super) struct RemoteDesk {
    socket: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

#[derive(Debug)]
struct Connection {
    reader: Reader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

/// The other process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// Before it began: nothing was done.
    Untouched,
    /// After it began: what it did is not known.
    Begun,
}

impl RemoteDesk {
    /// Connects to the process that answers at a socket.
    pub(super) async fn connect(socket: &Path) -> Result<Self, NoHost> {
        let first = Connection::open(socket).await?;
        Ok(Self { socket: socket.to_owned(), idle: Mutex::new(vec![first]) })
    }

    /// Asks for one operation.
    pub(super) async fn ask(
        &self,
        request: &CapsuleRequest,
    ) -> Result<Result<Value, CapsuleFailure>, Lost> {
        let mut connection = self.connection().await?;
        let asked = Request::Ask(Box::new(request.clone()));
        match connection.begin(&asked).await? {
            Ok(()) => {}
            Err(failure) => return Ok(Err(failure)),
        }
        let answer = match local_socket::read(&mut connection.reader).await {
            Ok(Reply::Answer(answer)) => Ok(answer),
            Ok(Reply::Failed(failure)) => Err(failure),
            Ok(Reply::Begun | Reply::Changed(_)) | Err(_) => return Err(Lost::Begun),
        };
        let mut idle = self.idle.lock();
        if idle.len() < KEPT {
            idle.push(connection);
        }
        Ok(answer)
    }

    /// Listens on a connection of its own. The changes end with the other process.
    pub(super) async fn listen(
        &self,
        caller: &CapsuleCaller,
    ) -> Result<Result<CapsuleChanges, CapsuleFailure>, Lost> {
        let mut connection = self.connection().await?;
        match connection.begin(&Request::Listen(caller.clone())).await? {
            Ok(()) => {}
            Err(failure) => return Ok(Err(failure)),
        }
        let told = stream::unfold(connection, |mut connection| async move {
            match local_socket::read(&mut connection.reader).await {
                Ok(Reply::Changed(change)) => Some((change, connection)),
                Ok(_) | Err(_) => None,
            }
        });
        Ok(Ok(CapsuleChanges::new(told)))
    }

    async fn connection(&self) -> Result<Connection, Lost> {
        let kept = self.idle.lock().pop();
        match kept {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.socket).await.map_err(|_| Lost::Untouched),
        }
    }
}

impl Connection {
    async fn open(socket: &Path) -> Result<Self, NoHost> {
        let (reading, writer) = local_socket::connect(socket).await?.into_split();
        let mut reader = local_socket::reader(reading);
        local_socket::greeted(&mut reader, PROTOCOL).await?;
        Ok(Self { reader, writer })
    }

    /// Sends a request and waits until it is begun.
    async fn begin(&mut self, request: &Request) -> Result<Result<(), CapsuleFailure>, Lost> {
        let sent = local_socket::write(&mut self.writer, request).await;
        sent.map_err(|_| Lost::Untouched)?;
        match local_socket::read(&mut self.reader).await {
            Ok(Reply::Begun) => Ok(Ok(())),
            Ok(Reply::Failed(failure)) => Ok(Err(failure)),
            Ok(Reply::Answer(_) | Reply::Changed(_)) | Err(_) => Err(Lost::Untouched),
        }
    }
}
