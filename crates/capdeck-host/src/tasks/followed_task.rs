//! A task of a server with the core feature, for a client of the extension.
//!
//! The server returns its state from `tasks/get`, and its result and its questions from
//! `tasks/result`; the client expects all of it from `tasks/get`. So the result is fetched when
//! there is one, and while the task asks, a request for the result is held open to receive the
//! questions.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;

use capdeck_backend::{CallContext, CallError, CallerHandle, ErrorCode};
use capdeck_catalog::RawMembers;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{json, value::RawValue};
use tokio::sync::{oneshot, watch};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    MAX_RESULT_WAIT,
    task_state::{self, TaskState},
};
use crate::{audience::ClientAudience, client_questions, pool::ConnectionLease, raw};

/// How long a server may take to ask its question. Until then the task counts as working.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(700);

/// How often the server is asked again within one request, while its state and its questions
/// disagree.
const MAX_ROUNDS: u32 = 3;

/// Max open questions of one task, and max questions in all.
const MAX_OPEN_QUESTIONS: usize = 64;
const MAX_QUESTIONS: usize = 4096;

/// The member of a question's `_meta` by which a legacy server names the key for modern clients.
const INPUT_KEY: &str = "io.capdeck/inputKey";

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
            start_timeout: None,
            start_wait: None,
        }
    }
}

/// The questions of a running task, until its client answers.
pub(crate) struct TaskInbox {
    audience: ClientAudience,
    questions: Mutex<TaskQuestions>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct TaskQuestions {
    open: IndexMap<String, TaskQuestion>,
    /// No key is used twice.
    used: HashSet<String>,
}

struct TaskQuestion {
    request: Box<RawValue>,
    answer: oneshot::Sender<Box<RawValue>>,
}

impl TaskInbox {
    fn new(audience: ClientAudience) -> Self {
        Self { audience, questions: Mutex::default(), changes: watch::Sender::new(0) }
    }

    fn requests(&self) -> RawMembers {
        let questions = self.questions.lock();
        questions.open.iter().map(|(key, asked)| (key.clone(), asked.request.clone())).collect()
    }

    /// Answers to unknown questions are ignored.
    fn answer(&self, responses: RawMembers) {
        let mut questions = self.questions.lock();
        for (key, response) in responses {
            if let Some(question) = questions.open.shift_remove(&key) {
                question.answer.send(response).ok();
            }
        }
        drop(questions);
        self.note_change();
    }

    fn clear(&self) {
        self.questions.lock().open.clear();
        self.note_change();
    }

    pub(super) fn note_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn put(
        &self,
        method: &str,
        mut params: RawMembers,
    ) -> Result<(String, oneshot::Receiver<Box<RawValue>>), CallError> {
        task_state::unrelate(&mut params);
        let named = task_state::take_meta(&mut params, INPUT_KEY).and_then(|key| raw::string(&key));
        // Links a later notification to its question for a legacy client. Modern clients have no
        // such notification.
        params.shift_remove("elicitationId");
        let mut request = raw::object([("method", json!(method))]);
        raw::set(&mut request, "params", &params);
        let request = raw::text(&request)?;
        let mut questions = self.questions.lock();
        if questions.open.len() >= MAX_OPEN_QUESTIONS || questions.used.len() >= MAX_QUESTIONS {
            return Err(CallError::invalid_request(
                "too many questions of this task are unanswered",
            ));
        }
        let mut key = named.unwrap_or_default();
        while key.is_empty() || questions.used.contains(&key) {
            key = format!("question-{}", questions.used.len() + 1);
            if questions.used.contains(&key) {
                key = uuid::Uuid::new_v4().to_string();
            }
        }
        let (sender, receiver) = oneshot::channel();
        questions.used.insert(key.clone());
        questions.open.insert(key.clone(), TaskQuestion { request, answer: sender });
        Ok((key, receiver))
    }
}

#[async_trait]
impl CallerHandle for TaskInbox {
    fn wants_progress(&self) -> bool {
        false
    }

    fn progress(&self, _params: RawMembers) {}

    fn notify(&self, _method: &str, _params: Option<RawMembers>) {}

    async fn request(&self, method: &str, params: Option<RawMembers>) -> raw::Answer {
        client_questions::check_declared(&self.audience, method, params.as_ref())?;
        let (key, answer) = self.put(method, params.unwrap_or_default())?;
        let _open = TaskQuestionGuard { inbox: self, key };
        self.note_change();
        answer.await.map_err(|_| {
            CallError::new(ErrorCode::Cancelled, format!("the question `{method}` was withdrawn"))
        })
    }
}

/// Withdraws a question when the server no longer waits for its answer.
struct TaskQuestionGuard<'a> {
    inbox: &'a TaskInbox,
    key: String,
}

impl Drop for TaskQuestionGuard<'_> {
    fn drop(&mut self) {
        if self.inbox.questions.lock().open.shift_remove(&self.key).is_some() {
            self.inbox.note_change();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capdeck_backend::ClientProfile;

    fn inbox(capabilities: serde_json::Value) -> Arc<TaskInbox> {
        let capabilities = serde_json::from_value(capabilities).unwrap();
        Arc::new(TaskInbox::new(ClientAudience::new(ClientProfile { info: None, capabilities })))
    }

    async fn ask(
        inbox: &Arc<TaskInbox>,
        params: serde_json::Value,
    ) -> tokio::task::JoinHandle<bool> {
        let (mut changes, asking) = (inbox.changes(), inbox.clone());
        let asked = tokio::spawn(async move {
            let params = serde_json::from_value(params).unwrap();
            asking.request("elicitation/create", Some(params)).await.is_ok()
        });
        changes.changed().await.unwrap();
        asked
    }

    #[tokio::test]
    async fn a_key_is_used_once_and_unknown_answers_are_ignored() {
        let inbox = inbox(json!({"elicitation": {}}));
        let named = json!({"message": "?", "_meta": {INPUT_KEY: "name"}, "elicitationId": "x"});
        let first = ask(&inbox, named.clone()).await;
        let shown = serde_json::to_value(inbox.requests()).unwrap();
        let request = json!({"method": "elicitation/create", "params": {"message": "?"}});
        assert_eq!(shown, json!({"name": request}));
        inbox.answer(serde_json::from_value(json!({"other": {}})).unwrap());
        assert_eq!(inbox.requests().len(), 1);
        inbox.answer(serde_json::from_value(json!({"name": {"action": "accept"}})).unwrap());
        assert!(first.await.unwrap());
        let second = ask(&inbox, named).await;
        assert_eq!(inbox.requests().keys().collect::<Vec<_>>(), ["question-2"]);
        inbox.clear();
        assert!(!second.await.unwrap());
    }

    #[tokio::test]
    async fn a_client_is_asked_only_for_what_it_declared() {
        let error = inbox(json!({})).request("elicitation/create", None).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::UnsupportedCapability);
    }

    #[tokio::test]
    async fn a_question_that_the_server_takes_back_is_gone() {
        let inbox = inbox(json!({"elicitation": {}}));
        let asked = ask(&inbox, json!({"message": "?"})).await;
        let mut changes = inbox.changes();
        asked.abort();
        changes.changed().await.unwrap();
        assert!(inbox.requests().is_empty());
    }
}
