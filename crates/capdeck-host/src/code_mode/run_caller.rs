//! The client behind a run, for the calls of the run.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use capdeck_backend::{CallError, CallerHandle};
use capdeck_catalog::RawMembers;
use serde_json::{json, value::RawValue};
use tokio::sync::watch;

use crate::raw;

pub(super) struct RunCaller {
    client: Arc<dyn CallerHandle>,
    steps: AtomicU64,
    open: watch::Sender<usize>,
}

impl RunCaller {
    pub(super) fn new(client: Arc<dyn CallerHandle>) -> Self {
        Self { client, steps: AtomicU64::new(0), open: watch::Sender::new(0) }
    }

    pub(super) fn open_questions(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }
}

struct RunQuestionGuard<'a>(&'a watch::Sender<usize>);

impl<'a> RunQuestionGuard<'a> {
    fn new(open: &'a watch::Sender<usize>) -> Self {
        open.send_modify(|open| *open += 1);
        Self(open)
    }
}

impl Drop for RunQuestionGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

#[async_trait]
impl CallerHandle for RunCaller {
    fn wants_progress(&self) -> bool {
        self.client.wants_progress()
    }

    /// Each call counts its own progress; the client gets the steps of the run, which only grow.
    fn progress(&self, params: RawMembers) {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let mut told = raw::object([("progress", json!(step))]);
        if let Some(message) = params.get("message") {
            told.insert("message".to_owned(), message.clone());
        }
        self.client.progress(told);
    }

    fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.client.notify(method, params);
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        let _open = RunQuestionGuard::new(&self.open);
        self.client.request(method, params).await
    }

    /// The run handles questions: the answer goes to the call that asked, and the script continues.
    fn takes_input_required(&self) -> bool {
        false
    }
}
