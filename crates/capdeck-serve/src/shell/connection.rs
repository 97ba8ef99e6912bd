//! One command line connected to a running host, and the person behind its calls, at the other end of the socket.

use std::{
    collections::HashMap,
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use capdeck_host::{
    AGENT_START_WAIT, CallContext, CallError, CallerHandle, ErrorCode, Host, NoCaller, RawMembers,
    Session, ShellTarget,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::UnixStream,
    sync::{mpsc, oneshot},
};
use tokio_util::sync::CancellationToken;

use super::{LocalShell, ShellCall, ShellResult, ToolShell, socket::IdleSessions};
use crate::local_socket::{self, FrameError, FrameReader, SocketGreeting};

const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Queued progress and questions for a slow reader.
const REPLY_CAPACITY: usize = 64;

/// Serves one command line until it disconnects or the host stops.
pub(super) async fn serve(
    stream: UnixStream,
    host: Host,
    people: Arc<IdleSessions>,
    stop: CancellationToken,
) {
    let (reading, mut writer) = stream.into_split();
    let mut reader = local_socket::reader(reading);
    let version = host.settings().version.clone();
    let greeting = SocketGreeting { protocol: PROTOCOL, version };
    if local_socket::write(&mut writer, &greeting).await.is_err() {
        return;
    }
    let opening = tokio::time::timeout(OPEN_TIMEOUT, local_socket::read(&mut reader));
    let Ok(Ok(ShellRequest::Open { can_be_asked })) = opening.await else { return };
    let session = if can_be_asked { people.take_session(&host) } else { host.operator() };
    let ended = ShellSession { session: session.clone(), can_be_asked, stop }
        .serve_requests(&mut reader, &mut writer)
        .await;
    if let Err(error @ (FrameError::Transport(_) | FrameError::Unreadable(_))) = ended {
        tracing::debug!(%error, "invalid message of a command line");
    }
    if can_be_asked {
        people.return_session(session).await;
    } else {
        session.close().await;
    }
}

struct ShellSession {
    session: Arc<Session>,
    can_be_asked: bool,
    stop: CancellationToken,
}

impl ShellSession {
    async fn serve_requests<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        &self,
        reader: &mut FrameReader<R>,
        writer: &mut W,
    ) -> Result<(), FrameError> {
        loop {
            let request = tokio::select! {
                request = local_socket::read(reader) => request?,
                () = self.stop.cancelled() => return Ok(()),
            };
            let (replies, mut waiting) = mpsc::channel(REPLY_CAPACITY);
            let caller = WireCaller::new(replies, self.can_be_asked);
            let context = CallContext {
                timeout: None,
                start_wait: Some(AGENT_START_WAIT),
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
                        Ok(ShellRequest::Answer { question, result }) => {
                            caller.resolve_question(question, Ok(result));
                        }
                        Ok(ShellRequest::NoAnswer { question, error }) => {
                            caller.resolve_question(question, Err(error.into()));
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
    caller.cancel_questions();
    work.await;
}

/// `None` for a message that is not a request.
async fn answer(
    session: Arc<Session>,
    request: ShellRequest,
    context: &CallContext,
) -> Option<ShellReply> {
    let shell = LocalShell::new(session);
    let reply = match request {
        ShellRequest::Find { words } => shell.find(&words, context).await.map(ShellReply::Found),
        ShellRequest::FindCallTarget { words } => {
            let found = shell.find_call_target(&words, context).await;
            found.map(|tool| ShellReply::Found(ShellTarget::Tool(Box::new(tool))))
        }
        ShellRequest::Preview(call) => {
            shell.preview(&call, context).await.map(|asks| ShellReply::Previewed { asks })
        }
        ShellRequest::Call(call) => shell.call(&call, context).await.map(ShellReply::Result),
        ShellRequest::Open { .. } | ShellRequest::Answer { .. } | ShellRequest::NoAnswer { .. } => {
            return None;
        }
    };
    Some(reply.unwrap_or_else(|error| ShellReply::Failed(ShellFailure::from(error))))
}

type QuestionResult = ShellResult<Box<RawValue>>;

/// Sends progress and questions to the command line and waits for answers.
pub(super) struct WireCaller {
    replies: mpsc::Sender<ShellReply>,
    can_be_asked: bool,
    next: AtomicU64,
    open: Mutex<HashMap<u64, oneshot::Sender<QuestionResult>>>,
}

impl WireCaller {
    pub(super) fn new(replies: mpsc::Sender<ShellReply>, can_be_asked: bool) -> Arc<Self> {
        let (next, open) = (AtomicU64::new(1), Mutex::default());
        Arc::new(Self { replies, can_be_asked, next, open })
    }

    /// Completes a question. Unknown questions are ignored.
    pub(super) fn resolve_question(&self, question: u64, answer: QuestionResult) {
        let waiting = self.open.lock().remove(&question);
        if let Some(waiting) = waiting {
            // The receiver may be gone.
            let _gone = waiting.send(answer);
        }
    }

    pub(super) fn cancel_questions(&self) {
        self.open.lock().clear();
    }
}

#[async_trait]
impl CallerHandle for WireCaller {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: RawMembers) {
        // Progress is dropped when the reader is too slow.
        let _full = self.replies.try_send(ShellReply::Progress(params));
    }

    fn notify(&self, _method: &str, _params: Option<RawMembers>) {}

    async fn request(&self, method: &str, params: Option<RawMembers>) -> QuestionResult {
        if !self.can_be_asked {
            return NoCaller.request(method, params).await;
        }
        let question = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.open.lock().insert(question, sender);
        let asked = ShellReply::Question { question, method: method.to_owned(), params };
        if self.replies.send(asked).await.is_ok()
            && let Ok(answer) = receiver.await
        {
            return answer;
        }
        NoCaller.request(method, None).await
    }
}

/// Incremented with every incompatible change.
pub(super) const PROTOCOL: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ShellRequest {
    /// The first message: whether the person can be asked.
    Open {
        can_be_asked: bool,
    },
    Find {
        words: Vec<String>,
    },
    FindCallTarget {
        words: Vec<String>,
    },
    Preview(ShellCall),
    Call(ShellCall),
    Answer {
        question: u64,
        result: Box<RawValue>,
    },
    NoAnswer {
        question: u64,
        error: ShellFailure,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ShellReply {
    Found(ShellTarget),
    Previewed { asks: bool },
    Result(Box<RawValue>),
    Failed(ShellFailure),
    Progress(RawMembers),
    Question { question: u64, method: String, params: Option<RawMembers> },
}

/// A [`CallError`] on the wire, without the details for the log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ShellFailure {
    code: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl From<CallError> for ShellFailure {
    fn from(error: CallError) -> Self {
        let CallError { code, message, hint, data, detail: _, rpc: _, host_stopped: _ } = error;
        Self { code: code.as_str().to_owned(), message, hint, data }
    }
}

impl From<ShellFailure> for CallError {
    fn from(failure: ShellFailure) -> Self {
        let ShellFailure { code, message, hint, data } = failure;
        let code = ErrorCode::from_name(&code).unwrap_or(ErrorCode::InternalError);
        Self { hint, data, ..Self::new(code, message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_socket::{FrameError, read, reader, write};

    #[tokio::test]
    async fn frames_keep_results_to_the_letter() {
        let (one, other) = tokio::io::duplex(1 << 16);
        let text = "{\"content\": [],\n  \"n\": 12345678901234567890123 }";
        let result = RawValue::from_string(text.to_owned()).unwrap();
        write(&mut { one }, &ShellReply::Result(result)).await.unwrap();
        let mut reader = reader(other);
        match read::<ShellReply, _>(&mut reader).await.unwrap() {
            ShellReply::Result(result) => assert_eq!(result.get(), text),
            other => panic!("{other:?}"),
        }
        assert!(matches!(read::<ShellReply, _>(&mut reader).await, Err(FrameError::Ended)));
    }

    #[test]
    fn errors_keep_what_a_person_needs() {
        let error = CallError::new(ErrorCode::AuthRequired, "sign in").hint("capdeck auth login");
        let text = serde_json::to_string(&ShellFailure::from(error)).unwrap();
        let back = CallError::from(serde_json::from_str::<ShellFailure>(&text).unwrap());
        assert_eq!(
            (back.code, back.hint.as_deref()),
            (ErrorCode::AuthRequired, Some("capdeck auth login"))
        );
    }
}
