//! The questions of a running task, until its client answers.

use std::collections::HashSet;

use async_trait::async_trait;
use capdeck_backend::{CallError, CallerHandle, ErrorCode};
use capdeck_catalog::RawMembers;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{json, value::RawValue};
use tokio::sync::{oneshot, watch};

use super::task_state;
use crate::{audience::ClientAudience, client_questions, raw};

/// Max open questions of one task, and max questions in all.
const MAX_OPEN_QUESTIONS: usize = 64;
const MAX_QUESTIONS: usize = 4096;

/// The member of a question's `_meta` by which a legacy server names the key for modern clients.
const INPUT_KEY: &str = "io.capdeck/inputKey";

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
    pub(super) fn new(audience: ClientAudience) -> Self {
        Self { audience, questions: Mutex::default(), changes: watch::Sender::new(0) }
    }

    pub(super) fn requests(&self) -> RawMembers {
        let questions = self.questions.lock();
        questions.open.iter().map(|(key, asked)| (key.clone(), asked.request.clone())).collect()
    }

    /// Answers to unknown questions are ignored.
    pub(super) fn answer(&self, responses: RawMembers) {
        let mut questions = self.questions.lock();
        for (key, response) in responses {
            if let Some(question) = questions.open.shift_remove(&key) {
                question.answer.send(response).ok();
            }
        }
        drop(questions);
        self.note_change();
    }

    pub(super) fn clear(&self) {
        self.questions.lock().open.clear();
        self.note_change();
    }

    pub(super) fn note_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
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
    use std::sync::Arc;

    use capdeck_backend::ClientProfile;
    use serde_json::json;

    use super::*;

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
