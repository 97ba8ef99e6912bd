//! The side of the process that has the capsules: answers the others at its socket.

use capdeck_host::{CapsuleDesk as _, LocalDesk};
use tokio::net::UnixStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::protocol::{PROTOCOL, Reply, Request};
use crate::local_socket::{self, FrameError, Greeting, LocalSocket};

/// Answers until `stop`, then finishes what was begun. The socket goes first, while the folder is still this process's.
pub(super) async fn answer_others(
    socket: LocalSocket,
    desk: LocalDesk,
    version: String,
    stop: CancellationToken,
) {
    let conversations = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            stream = socket.accept() => stream,
            () = stop.cancelled() => break,
        };
        let (desk, version, stop) = (desk.clone(), version.clone(), stop.clone());
        conversations.spawn(async move {
            match converse(stream, &desk, version, &stop).await {
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
    desk: &LocalDesk,
    version: String,
    stop: &CancellationToken,
) -> Result<(), FrameError> {
    let (reading, mut writer) = stream.into_split();
    let mut reader = local_socket::reader(reading);
    local_socket::write(&mut writer, &Greeting { protocol: PROTOCOL, version }).await?;
    loop {
        let request = tokio::select! {
            request = local_socket::read(&mut reader) => request?,
            () = stop.cancelled() => return Ok(()),
        };
        match request {
            Request::Ask(request) => {
                local_socket::write(&mut writer, &Reply::Begun).await?;
                let reply = match desk.ask(*request).await {
                    Ok(answer) => Reply::Answer(answer),
                    Err(failure) => Reply::Failed(failure),
                };
                local_socket::write(&mut writer, &reply).await?;
            }
            Request::Listen(caller) => {
                let mut changes = match desk.changes(caller).await {
                    Ok(changes) => changes,
                    Err(failure) => {
                        local_socket::write(&mut writer, &Reply::Failed(failure)).await?;
                        continue;
                    }
                };
                local_socket::write(&mut writer, &Reply::Begun).await?;
                loop {
                    tokio::select! {
                        change = changes.next() => match change {
                            Some(change) => {
                                local_socket::write(&mut writer, &Reply::Changed(change)).await?;
                            }
                            None => return Ok(()),
                        },
                        // Whoever listens says nothing more; anything else ends it.
                        said = local_socket::read::<Request, _>(&mut reader) => {
                            return said.map(|_| ());
                        }
                        () = stop.cancelled() => return Ok(()),
                    }
                }
            }
        }
    }
}
