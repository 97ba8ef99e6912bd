//! A task of a server with the extension, for a client of the core feature.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use capdeck_backend::{CallContext, CallError, ErrorCode, RpcFailure};
use capdeck_catalog::{Capability, RawMembers};
use futures_util::future::join_all;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    errors,
    task_state::{self, TaskState},
};
use crate::{RequestContext, calls::is_tool_error, raw};

/// A result is stored as long as the client requested, within these bounds.
const MIN_RESULT_TTL: Duration = Duration::from_secs(60);
const MAX_RESULT_TTL: Duration = Duration::from_secs(60 * 60);
const DEFAULT_RESULT_TTL: Duration = Duration::from_secs(5 * 60);

pub(crate) struct TranslatedTask {
    id: String,
    /// The extension lets a cancelled task continue for a while; the core feature does not.
    is_cancelled: AtomicBool,
    asked: Mutex<HashSet<String>>,
}

#[derive(Deserialize)]
struct TaskInputRequest {
    method: String,
    #[serde(default)]
    params: Option<RawMembers>,
}

pub(super) struct TaskTarget<'a> {
    pub(super) request: &'a RequestContext<'a>,
    pub(super) capability: &'a Capability,
}

impl TranslatedTask {
    pub(super) fn new(id: String) -> Self {
        Self { id, is_cancelled: AtomicBool::new(false), asked: Mutex::default() }
    }

    pub(super) async fn look(&self, target: &TaskTarget<'_>) -> Result<RawMembers, CallError> {
        let (task, _) = self.read(target).await?;
        Ok(self.to_members(&task))
    }

    pub(super) async fn cancel(&self, target: &TaskTarget<'_>) -> Result<RawMembers, CallError> {
        let (task, seen) = self.read(target).await?;
        if seen.is_over() || self.is_cancelled.load(Ordering::Relaxed) {
            return Err(is_over(&self.id));
        }
        self.ask("tasks/cancel", self.params(), target).await?;
        self.is_cancelled.store(true, Ordering::Relaxed);
        Ok(self.to_members(&task))
    }

    /// Waits for the end of the task, forwards its questions to the client, and returns the result
    /// of the call.
    pub(super) async fn result(&self, target: &TaskTarget<'_>) -> raw::Answer {
        loop {
            if self.is_cancelled.load(Ordering::Relaxed) {
                return Err(cancelled());
            }
            let (mut task, seen) = self.read(target).await?;
            match seen.status.as_str() {
                "completed" => {
                    return task.shift_remove("result").ok_or_else(errors::no_task_in_answer);
                }
                "failed" => return Err(failure(task.get("error").map(AsRef::as_ref))),
                "cancelled" => return Err(cancelled()),
                "input_required" => self.answer_questions(&task, target).await?,
                _ => {}
            }
            tokio::select! {
                () = tokio::time::sleep(seen.pause()) => {}
                () = target.request.call.cancel.cancelled() => {
                    return Err(CallError::new(ErrorCode::Cancelled, "the call was cancelled"));
                }
            }
        }
    }

    async fn answer_questions(
        &self,
        task: &RawMembers,
        target: &TaskTarget<'_>,
    ) -> Result<(), CallError> {
        let questions: RawMembers = raw::get(task, "inputRequests").unwrap_or_default();
        let new: Vec<(String, Box<RawValue>)> = {
            let mut asked = self.asked.lock();
            questions.into_iter().filter(|(key, _)| asked.insert(key.clone())).collect()
        };
        if new.is_empty() {
            return Ok(());
        }
        let asking = new.iter().map(|(key, question)| async move {
            (key.clone(), self.put_question(question, target).await)
        });
        let (mut answers, mut problem) = (RawMembers::new(), None);
        for (key, outcome) in join_all(asking).await {
            match outcome {
                Ok(answer) => drop(answers.insert(key, answer)),
                Err(error) => {
                    // The next request for the result asks the client again.
                    self.asked.lock().remove(&key);
                    problem = Some(error);
                }
            }
        }
        if !answers.is_empty() {
            let mut params = self.params();
            raw::set(&mut params, "inputResponses", &answers);
            self.ask("tasks/update", params, target).await?;
        }
        problem.map_or(Ok(()), Err)
    }

    async fn put_question(&self, question: &RawValue, target: &TaskTarget<'_>) -> raw::Answer {
        let TaskInputRequest { method, params } =
            raw::parse(question).ok_or_else(errors::no_task_in_answer)?;
        let mut params = params.unwrap_or_default();
        task_state::relate(&mut params, &self.id);
        let is_page = params.get("mode").is_some_and(|mode| mode.get() == r#""url""#);
        if is_page && !params.contains_key("elicitationId") {
            // Legacy clients identify a page to visit by an id, which modern servers no longer
            // send.
            raw::set(&mut params, "elicitationId", &uuid::Uuid::new_v4().to_string());
        }
        match target.request.call.caller.request(&method, Some(params)).await {
            Ok(answer) => Ok(task_state::without_relation(answer)),
            // A person who was not reached has not answered, which a form can express.
            Err(_) if method == "elicitation/create" => raw::text(&json!({ "action": "cancel" })),
            Err(error) => Err(error),
        }
    }

    async fn read(&self, target: &TaskTarget<'_>) -> Result<(RawMembers, TaskState), CallError> {
        TaskState::read(&self.ask("tasks/get", self.params(), target).await?)
    }

    async fn ask(&self, method: &str, params: RawMembers, target: &TaskTarget<'_>) -> raw::Answer {
        let (connections, call) = (target.request.connections(), target.request.call);
        let lease = connections.lease(&target.capability.definition, call).await?;
        let client = Some(connections.audience().with_tasks());
        let context = CallContext { client, ..call.clone() };
        lease.request(method, Some(params), &context).await
    }

    fn params(&self) -> RawMembers {
        raw::object([("taskId", json!(self.id))])
    }

    fn to_members(&self, task: &RawMembers) -> RawMembers {
        let mut shown = task_state::to_core(task);
        if self.is_cancelled.load(Ordering::Relaxed) {
            raw::set(&mut shown, "status", "cancelled");
        }
        shown
    }
}

/// A call that was to become a task and ended at once. Its client still asks for the result of a
/// task.
pub(crate) struct CompletedTask {
    pub(super) result: Box<RawValue>,
    at: Timestamp,
    pub(super) ttl: Duration,
}

impl CompletedTask {
    pub(super) fn new(result: Box<RawValue>, task: &RawValue) -> Self {
        let requested = raw::parse(task).and_then(|task: RawMembers| raw::get(&task, "ttl"));
        let ttl = requested.map_or(DEFAULT_RESULT_TTL, |requested| {
            Duration::from_millis(requested).clamp(MIN_RESULT_TTL, MAX_RESULT_TTL)
        });
        Self { result, at: Timestamp::now(), ttl }
    }

    pub(super) fn task(&self, id: &str) -> RawMembers {
        self.to_members(id, if is_tool_error(&self.result) { "failed" } else { "completed" })
    }

    pub(super) fn to_members(&self, id: &str, status: &str) -> RawMembers {
        let at = self.at.to_string();
        raw::object([
            ("taskId", json!(id)),
            ("status", json!(status)),
            ("createdAt", json!(at)),
            ("lastUpdatedAt", json!(at)),
            ("ttl", json!(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX))),
        ])
    }
}

pub(super) fn is_over(id: &str) -> CallError {
    CallError::invalid_request(format!("the task `{id}` has already ended and cannot be cancelled"))
}

fn cancelled() -> CallError {
    CallError::new(ErrorCode::Cancelled, "the task was cancelled")
}

fn failure(error: Option<&RawValue>) -> CallError {
    #[derive(Deserialize)]
    struct TaskFailure {
        code: i64,
        message: String,
        #[serde(default)]
        data: Option<Box<RawValue>>,
    }
    let Some(TaskFailure { code, message, data }) = error.and_then(raw::parse) else {
        return CallError::new(ErrorCode::DownstreamToolError, "the task failed");
    };
    let mut error = CallError::new(ErrorCode::DownstreamToolError, message.clone());
    error.rpc = Some(Box::new(RpcFailure { code, message, data }));
    error
}
