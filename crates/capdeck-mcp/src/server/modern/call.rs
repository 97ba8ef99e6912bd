//! One modern call and its connection to the client.
//!
//! A call can outlive its request: when it asks something, the response has the questions, and the request with the
//! answers resumes the call. Notifications and questions always go to the request that waits now.

use std::{sync::Arc, time::Duration};

use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::input_capability::InputCapability;
use crate::{
    LogSeverity, RawObject, RequestId, RpcError, encode,
    raw::{self, raw},
    request_meta::SUBSCRIPTION_ID,
    rpc_error::RpcResult,
    server::peer::MessageOutlet,
};

const MAX_OPEN_QUESTIONS: usize = 64;

/// The `_meta` member by which a legacy server names the key of a question for modern clients.
const INPUT_KEY: &str = "io.capdeck/inputKey";

pub(in crate::server) struct ModernCall {
    line: Mutex<WaitingRequest>,
    questions: Mutex<OpenQuestions>,
    pub(super) asked: Notify,
    ended: CancellationToken,
    /// Only some requests can be answered with questions.
    may_ask: bool,
    /// Every notification of a subscription names it.
    subscription: Option<RequestId>,
}

pub(super) struct WaitingRequest {
    /// `None` without a waiting request.
    pub(super) outlet: Option<MessageOutlet>,
    pub(super) capabilities: Arc<RawObject>,
    pub(super) progress_token: Option<Box<RawValue>>,
    pub(super) log_level: Option<LogSeverity>,
}

#[derive(Default)]
struct OpenQuestions {
    asked: u64,
    /// Answers of the first request to questions that were not asked yet.
    early: RawObject,
    open: IndexMap<String, OpenQuestion>,
    missing: Vec<InputCapability>,
}

struct OpenQuestion {
    need: InputCapability,
    request: Box<RawValue>,
    answer: oneshot::Sender<RpcResult>,
}

impl ModernCall {
    pub(super) fn new(
        line: WaitingRequest,
        may_ask: bool,
        subscription: Option<RequestId>,
        early: RawObject,
        ended: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            line: Mutex::new(line),
            questions: Mutex::new(OpenQuestions { early, ..OpenQuestions::default() }),
            asked: Notify::new(),
            ended,
            may_ask,
            subscription,
        })
    }

    /// Attaches another request. Questions that its client cannot answer fail.
    pub(super) fn connect(&self, line: WaitingRequest, mut answers: RawObject) {
        let capabilities = Arc::clone(&line.capabilities);
        *self.line.lock() = line;
        let mut questions = self.questions.lock();
        for (key, question) in std::mem::take(&mut questions.open) {
            if let Some(answer) = answers.shift_remove(&key) {
                question.answer.send(Ok(answer)).ok();
            } else if question.need.is_declared(&capabilities) {
                questions.open.insert(key, question);
            } else {
                questions.lack(question.need);
                question.answer.send(Err(InputCapability::missing(&[question.need]))).ok();
            }
        }
    }

    pub(super) fn disconnect(&self) {
        self.line.lock().outlet = None;
    }

    pub(super) fn has_questions(&self) -> bool {
        !self.questions.lock().open.is_empty()
    }

    pub(super) fn input_requests(&self) -> RawObject {
        let questions = self.questions.lock();
        questions.open.iter().map(|(key, asked)| (key.clone(), asked.request.clone())).collect()
    }

    pub(super) fn missing(&self) -> Option<RpcError> {
        let questions = self.questions.lock();
        (!questions.missing.is_empty()).then(|| InputCapability::missing(&questions.missing))
    }

    pub(in crate::server) fn notify(&self, method: &str, mut params: Option<RawObject>) {
        let line = self.line.lock();
        let Some(outlet) = &line.outlet else {
            tracing::debug!(
                method,
                "a notification of a call without a waiting request was dropped"
            );
            return;
        };
        match method {
            "notifications/message"
                if !line.log_level.is_some_and(|level| level.admits(params.as_ref())) =>
            {
                return;
            }
            "notifications/progress" => {
                // The session knows the token of the first request.
                let Some(token) = &line.progress_token else { return };
                params.get_or_insert_default().insert("progressToken".to_owned(), token.clone());
            }
            _ => {}
        }
        if let Some(id) = &self.subscription {
            raw::extend_meta(params.get_or_insert_default(), [(SUBSCRIPTION_ID, raw(id))]);
        }
        outlet.offer(encode::notification(method, params.as_ref()));
    }

    /// Asks the client in its next result, and waits for the request with the answer.
    pub(in crate::server) async fn ask(
        &self,
        method: &str,
        mut params: Option<RawObject>,
        timeout: Duration,
    ) -> RpcResult {
        let need = InputCapability::required_by(method, params.as_ref())?;
        if !self.may_ask {
            return Err(RpcError::internal(format!(
                "`{method}` cannot be asked while this kind of request runs"
            )));
        }
        if !need.is_declared(&self.line.lock().capabilities) {
            self.questions.lock().lack(need);
            return Err(InputCapability::missing(&[need]));
        }
        if let Some(params) = &mut params {
            // Identifies the question of a later notification for legacy clients, which modern clients do not get.
            params.shift_remove("elicitationId");
        }
        let key = params
            .as_mut()
            .and_then(|params| raw::edit_meta(params, |meta| meta.shift_remove(INPUT_KEY)));
        let key = key.and_then(|key| serde_json::from_str::<String>(key.get()).ok());
        if let Some(key) = &key
            && let Some(answer) = self.questions.lock().early.shift_remove(key)
        {
            return Ok(answer);
        }
        let (key, answer) = self.put_question(key, need, method, params)?;
        let _open = ClientQuestionGuard { call: self, key: &key };
        self.asked.notify_one();
        tokio::select! {
            answered = tokio::time::timeout(timeout, answer) => match answered {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(RpcError::internal("the client is gone")),
                Err(_) => Err(RpcError::internal(format!(
                    "the client did not answer `{method}` within {} ms",
                    timeout.as_millis()
                ))),
            },
            () = self.ended.cancelled() => Err(RpcError::internal("the call was cancelled")),
        }
    }

    fn put_question(
        &self,
        key: Option<String>,
        need: InputCapability,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<(String, oneshot::Receiver<RpcResult>), RpcError> {
        let request = RawObject::from_iter([
            ("method".to_owned(), raw(method)),
            ("params".to_owned(), raw(&params.unwrap_or_default())),
        ]);
        let (sender, receiver) = oneshot::channel();
        let mut questions = self.questions.lock();
        if questions.open.len() >= MAX_OPEN_QUESTIONS {
            return Err(RpcError::internal("too many questions of this call are unanswered"));
        }
        let key = questions.free_key(key);
        let question = OpenQuestion { need, request: raw(&request), answer: sender };
        questions.open.insert(key.clone(), question);
        Ok((key, receiver))
    }
}

impl OpenQuestions {
    fn free_key(&mut self, requested: Option<String>) -> String {
        let mut key = requested.unwrap_or_default();
        while key.is_empty() || self.open.contains_key(&key) {
            self.asked += 1;
            key = format!("question-{}", self.asked);
        }
        key
    }

    fn lack(&mut self, need: InputCapability) {
        if !self.missing.contains(&need) {
            self.missing.push(need);
        }
    }
}

/// Withdraws a question when its future is dropped.
struct ClientQuestionGuard<'a> {
    call: &'a ModernCall,
    key: &'a str,
}

impl Drop for ClientQuestionGuard<'_> {
    fn drop(&mut self) {
        self.call.questions.lock().open.shift_remove(self.key);
    }
}
