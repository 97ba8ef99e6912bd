//! Tasks as the modern era's extension has them.

use std::sync::Arc;

use capdeck_mcp::{RpcError, server::ClientPeer};
use serde_json::{Map, Value, json};

use super::{
    EXTENSION, POLL_INTERVAL, TTL,
    task::{FixtureTask, FixtureTaskStatus},
    unknown_task,
};
use crate::conformance::call::{FixtureCall, FixtureResult, raw_object};

/// The result of the call that became a task.
pub(super) fn created(task: &FixtureTask) -> Value {
    let mut shown = shown(task);
    shown["resultType"] = "task".into();
    shown
}

/// `tasks/get`, `tasks/update` and `tasks/cancel`.
pub(super) fn answer(method: &str, call: &FixtureCall<'_>) -> FixtureResult {
    if !matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel") {
        return Err(RpcError::method_not_found(method));
    }
    if !call.has_extension(EXTENSION) {
        return Err(undeclared());
    }
    let id = &call.params["taskId"];
    let task = call.fixture.tasks.find(id).ok_or_else(|| unknown_task(id))?;
    match method {
        "tasks/get" => return Ok(detailed(&task)),
        "tasks/update" => {
            let answers = call.params["inputResponses"].as_object();
            task.answer(answers.unwrap_or(&Map::new()));
        }
        _ => {
            task.cancel();
        }
    }
    Ok(json!({}))
}

/// The client did not say that it knows tasks.
pub(super) fn undeclared() -> RpcError {
    let required = raw_object(&json!({ "extensions": { EXTENSION: {} } }));
    RpcError::missing_capability("tasks are an extension", &required)
}

/// Tells a subscription of every change until the task has ended.
pub(super) async fn report(task: Arc<FixtureTask>, peer: ClientPeer) {
    let mut states = task.watch();
    loop {
        let is_over = states.borrow_and_update().status.is_terminal();
        peer.notify("notifications/tasks", Some(raw_object(&detailed(&task))));
        if is_over || states.changed().await.is_err() {
            return;
        }
    }
}

fn shown(task: &FixtureTask) -> Value {
    let state = task.state();
    json!({
        "taskId": task.id,
        "status": state.status.as_str(),
        "createdAt": task.created.to_string(),
        "lastUpdatedAt": state.updated.to_string(),
        "ttlMs": TTL,
        "pollIntervalMs": POLL_INTERVAL,
    })
}

fn detailed(task: &FixtureTask) -> Value {
    let (mut shown, state) = (shown(task), task.state());
    shown["status"] = state.status.as_str().into();
    match (state.status, state.outcome) {
        (FixtureTaskStatus::InputRequired, _) => {
            let questions = state.pending.iter();
            let requests: Map<String, Value> =
                questions.map(|(key, question)| ((*key).to_owned(), question.shown())).collect();
            shown["inputRequests"] = requests.into();
        }
        (FixtureTaskStatus::Completed, Some(Ok(result))) => shown["result"] = result,
        (FixtureTaskStatus::Failed, Some(Err(error))) => shown["error"] = json!(error),
        _ => {}
    }
    shown
}
