//! The side of the process that has the capsules: responds to the others at its socket.

use capdeck_host::{CapsuleService as _, LocalCapsuleService};
use tokio::net::UnixStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::protocol::{PROTOCOL, Reply, Request};
use crate::local_socket::{self, FrameError, LocalSocket, SocketGreeting};

/// Answers until `stop`, then finishes what was begun. The socket goes first, while the folder is still this process's.
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
            Request::Dispatch(request) => {
                local_socket::write(&mut writer, &Reply::Begun).await?;
                let reply = match capsules.dispatch(*request).await {
                    Ok(response) => Reply::Response(Box::new(response)),
                    Err(error) => Reply::Failed(error),
                };
                local_socket::write(&mut writer, &reply).await?;
            }
            Request::Listen(caller) => {
                let mut changes = match capsules.changes(caller).await {
                    Ok(changes) => changes,
                    Err(error) => {
                        local_socket::write(&mut writer, &Reply::Failed(error)).await?;
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
                        // A subscriber sends nothing more; anything else ends it.
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
