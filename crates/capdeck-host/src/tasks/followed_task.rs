//! A task of a server with the core feature, for a client of the extension.
//!
//! The server returns its state from `tasks/get`, and its result and its questions from
//! `tasks/result`; the client expects all of it from `tasks/get`. So the result is fetched when
//! there is one, and while the task asks, a request for the result is held open to receive the
//! questions.

use std::{sync::Arc, time::Duration};

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::RawMembers;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    MAX_RESULT_WAIT,
    inbox::TaskInbox,
    task_state::{self, TaskState},
};
use crate::{audience::ClientAudience, pool::ConnectionLease, raw};

/// How long a server may take to ask its question. Until then the task counts as working.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(700);

/// How often the server is asked again within one request, while its state and its questions
/// disagree.
const MAX_ROUNDS: u32 = 3;

pub(crate) struct FollowedTask {
    pub(super) id: String,
    /// The server's id. Two processes of one server may use the same.
    pub(super) server_id: String,
    lease: Arc<ConnectionLease>,
    audience: ClientAudience,
    pub(super) inbox: Arc<TaskInbox>,
    collecting: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl FollowedTask {
    pub(super) fn new(
        server_id: String,
        lease: Arc<ConnectionLease>,
        audience: ClientAudience,
    ) -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            server_id,
            lease,
            inbox: Arc::new(TaskInbox::new(audience.clone())),
            audience,
            collecting: Mutex::default(),
        }
    }

    /// The whole task in the form of the extension, with its open questions or its result.
    pub(super) async fn look(&self, cancel: &CancellationToken) -> Result<RawMembers, CallError> {
        let (state, seen) = self.state(cancel).await?;
        let mut task = task_state::to_extension(state, &self.id);
        match seen.status.as_str() {
            "input_required" => {
                let requests = self.inbox.requests();
                if requests.is_empty() {
                    raw::set(&mut task, "status", "working");
                } else {
                    raw::set(&mut task, "inputRequests", &requests);
                }
            }
            "completed" | "failed" => match self.ask("tasks/result", cancel).await {
                Ok(result) => {
                    raw::set(&mut task, "status", "completed");
                    task.insert("result".to_owned(), task_state::without_relation(result));
                }
                Err(CallError { rpc: Some(failure), .. }) => {
                    let (code, message) = (json!(failure.code), json!(failure.message));
                    let mut error = raw::object([("code", code), ("message", message)]);
                    error.extend(failure.data.map(|data| ("data".to_owned(), data)));
                    raw::set(&mut task, "status", "failed");
                    raw::set(&mut task, "error", &error);
                }
                Err(error) => return Err(error),
            },
            _ => {}
        }
        Ok(task)
    }

    pub(super) fn update(&self, params: &RawMembers) -> Result<(), CallError> {
        let fault =
            || CallError::invalid_request("`inputResponses` has to be an object of objects");
        let responses: RawMembers = raw::get(params, "inputResponses").ok_or_else(fault)?;
        if responses.values().any(|response| !response.get().starts_with('{')) {
            return Err(fault());
        }
        self.inbox.answer(responses);
        Ok(())
    }

    /// Cancels the task. An ended task is unchanged, which the extension does not call an error.
    pub(super) async fn cancel(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        match self.ask("tasks/cancel", cancel).await {
            Ok(_) => {
                self.inbox.clear();
                Ok(())
            }
            Err(error) if error.code == ErrorCode::UnsupportedCapability => Err(CallError::new(
                ErrorCode::UnsupportedOperation,
                "the server behind this task cannot cancel it",
            )
            .hint("wait until it ends")),
            Err(error) if error.rpc.is_some() => {
                let (_, seen) = self.read_state(cancel).await?;
                if seen.is_over() { Ok(()) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    /// The server's state of the task. When it needs input, the question was received, or its
    /// timeout is over.
    async fn state(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(RawMembers, TaskState), CallError> {
        let mut changes = self.inbox.changes();
        for _ in 0..MAX_ROUNDS {
            changes.borrow_and_update();
            let (state, seen) = self.read_state(cancel).await?;
            if seen.status != "input_required" || !self.inbox.requests().is_empty() {
                return Ok((state, seen));
            }
            self.collect();
            let question = tokio::time::timeout(QUESTION_TIMEOUT, changes.changed()).await;
            if !matches!(question, Ok(Ok(()))) {
                return Ok((state, seen));
            }
        }
        self.read_state(cancel).await
    }

    async fn read_state(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(RawMembers, TaskState), CallError> {
        TaskState::read(&self.ask("tasks/get", cancel).await?)
    }

    fn collect(&self) {
        let mut collecting = self.collecting.lock();
        if collecting.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (lease, inbox) = (self.lease.clone(), self.inbox.clone());
        let context = self.context(&CancellationToken::new(), Some(MAX_RESULT_WAIT));
        let params = self.params();
        *collecting = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            // The result is requested again when the client asks for it.
            drop(lease.request("tasks/result", Some(params), &context).await);
            inbox.note_change();
        })));
    }

    async fn ask(&self, method: &str, cancel: &CancellationToken) -> raw::Answer {
        let context = self.context(cancel, None);
        self.lease.request(method, Some(self.params()), &context).await
    }

    fn params(&self) -> RawMembers {
        raw::object([("taskId", json!(self.server_id))])
    }

    /// Everything the server asks on these requests is a question of the task.
    fn context(&self, cancel: &CancellationToken, timeout: Option<Duration>) -> CallContext {
        CallContext {
            timeout,
            cancel: cancel.clone(),
            caller: self.inbox.clone(),
            client: Some(self.audience.client().clone()),
            log_level: None,
        }
    }
}
