//! The person behind a call, at the other end of the socket.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use capdeck_host::{CallError, CallerHandle, NoCaller, RawMembers};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::protocol::ShellReply;

type QuestionResult = Result<Box<RawValue>, CallError>;

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
