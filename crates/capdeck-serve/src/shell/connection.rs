//! One command line connected to a running host.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use capdeck_host::{CallContext, Host, Session};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::UnixStream,
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{
    LocalShell, Shell,
    people::People,
    protocol::{Failure, PROTOCOL, Reply, Request},
    wire_caller::WireCaller,
};
use crate::local_socket::{self, FrameError, Greeting, Reader};

const OPENING: Duration = Duration::from_secs(10);

/// Queued progress and questions for a slow reader.
const WAITING_REPLIES: usize = 64;

/// Serves one command line until it disconnects or the host stops.
pub(super) async fn serve(
    stream: UnixStream,
    host: Host,
    people: Arc<People>,
    stop: CancellationToken,
) {
    let (reading, mut writer) = stream.into_split();
    let mut reader = local_socket::reader(reading);
    let version = host.settings().version.clone();
    let greeting = Greeting { protocol: PROTOCOL, version };
    if local_socket::write(&mut writer, &greeting).await.is_err() {
        return;
    }
    let opening = tokio::time::timeout(OPENING, local_socket::read(&mut reader));
    let Ok(Ok(Request::Open { can_be_asked })) = opening.await else { return };
    let session = if can_be_asked { people.enter(&host) } else { host.operator() };
    let ended = Conversation { session: session.clone(), can_be_asked, stop }
        .hold(&mut reader, &mut writer)
        .await;
    if let Err(error @ (FrameError::Transport(_) | FrameError::Unreadable(_))) = ended {
        tracing::debug!(%error, "invalid message of a command line");
    }
    if can_be_asked {
        people.leave(session).await;
    } else {
        session.close().await;
    }
}

struct Conversation {
    session: Arc<Session>,
    can_be_asked: bool,
    stop: CancellationToken,
}

impl Conversation {
    async fn hold<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        &self,
        reader: &mut Reader<R>,
        writer: &mut W,
    ) -> Result<(), FrameError> {
        loop {
            let request = tokio::select! {
                request = local_socket::read(reader) => request?,
                () = self.stop.cancelled() => return Ok(()),
            };
            let (replies, mut waiting) = mpsc::channel(WAITING_REPLIES);
            let caller = WireCaller::new(replies, self.can_be_asked);
            let context = CallContext {
                timeout: None,
                caller: caller.clone(),
                ..CallContext::detached(Duration::ZERO)
            };
            let mut work = pin!(answer(self.session.clone(), request, &context));
            let reply = loop {
                tokio::select! {
                    // Progress and questions precede their response.
                    biased;
                    Some(reply) = waiting.recv() => local_socket::write(writer, &reply).await?,
                    reply = &mut work => break reply,
                    said = local_socket::read(reader) => match said {
                        Ok(Request::Answer { question, result }) => {
                            caller.answered(question, Ok(result));
                        }
                        Ok(Request::NoAnswer { question, error }) => {
                            caller.answered(question, Err(error.into()));
                        }
                        other => {
                            // A disconnect or an unexpected message cancels the call.
                            cancel(&context, &caller, work).await;
                            return other.map(|_| ());
                        }
                    },
                    () = self.stop.cancelled() => {
                        cancel(&context, &caller, work).await;
                        return Ok(());
                    }
                }
            };
            match reply {
                Some(reply) => local_socket::write(writer, &reply).await?,
                None => return Ok(()),
            }
        }
    }
}

/// Cancels the work and waits for its end, so that the backend gets the cancellation.
async fn cancel(context: &CallContext, caller: &WireCaller, work: impl Future) {
    context.cancel.cancel();
    caller.hung_up();
    work.await;
}

/// `None` for a message that is not a request.
async fn answer(session: Arc<Session>, request: Request, context: &CallContext) -> Option<Reply> {
    let shell = LocalShell::new(session);
    let reply = match request {
        Request::Find { words } => shell.find(&words, context).await.map(Reply::Found),
        Request::Preview(call) => {
            shell.preview(&call, context).await.map(|asks| Reply::Previewed { asks })
        }
        Request::Call(call) => shell.call(&call, context).await.map(Reply::Result),
        Request::Open { .. } | Request::Answer { .. } | Request::NoAnswer { .. } => return None,
    };
    Some(reply.unwrap_or_else(|error| Reply::Failed(Failure::from(error))))
}
