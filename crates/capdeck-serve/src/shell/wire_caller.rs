//! The person behind a call, at the other end of the socket.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use capdeck_host::{CallError, Caller, NoCaller, RawObject};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::protocol::Reply;

type Answer = Result<Box<RawValue>, CallError>;

/// Sends progress and questions to the command line and waits for answers.
pub(super) struct WireCaller {
    replies: mpsc::Sender<Reply>,
    can_be_asked: bool,
    next: AtomicU64,
    open: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

impl WireCaller {
    pub(super) fn new(replies: mpsc::Sender<Reply>, can_be_asked: bool) -> Arc<Self> {
        let (next, open) = (AtomicU64::new(1), Mutex::default());
        Arc::new(Self { replies, can_be_asked, next, open })
    }

    /// Completes a question. Unknown questions are ignored.
    pub(super) fn answered(&self, question: u64, answer: Answer) {
        let waiting = self.open.lock().remove(&question);
        if let Some(waiting) = waiting {
            // The receiver may be gone.
            let _gone = waiting.send(answer);
        }
    }

    pub(super) fn hung_up(&self) {
        self.open.lock().clear();
    }
}

#[async_trait]
impl Caller for WireCaller {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: RawObject) {
        // Progress is dropped when the reader is too slow.
        let _full = self.replies.try_send(Reply::Progress(params));
    }

    fn notify(&self, _method: &str, _params: Option<RawObject>) {}

    async fn request(&self, method: &str, params: Option<RawObject>) -> Answer {
        if !self.can_be_asked {
            return NoCaller.request(method, params).await;
        }
        let question = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.open.lock().insert(question, sender);
        let asked = Reply::Question { question, method: method.to_owned(), params };
        if self.replies.send(asked).await.is_ok()
            && let Ok(answer) = receiver.await
        {
            return answer;
        }
        NoCaller.request(method, None).await
    }
}
