//! Tasks as the modern era's extension has them.

use capdeck_mcp::RpcError;
use serde_json::{Map, Value, json};

use super::{
    EXTENSION, POLL_INTERVAL, TTL,
    task::{Status, Task},
    unknown_task,
};
use crate::conformance::call::{Answer, Call, raw_object};

/// The result of the call that became a task.
pub(super) fn created(task: &Task) -> Value {
    let mut shown = shown(task);
    shown["resultType"] = "task".into();
    shown
}

/// `tasks/get`, `tasks/update` and `tasks/cancel`.
pub(super) fn answer(method: &str, call: &Call<'_>) -> Answer {
    if !matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel") {
        return Err(RpcError::method_not_found(method));
    }
    if !call.has_extension(EXTENSION) {
        let required = raw_object(&json!({ "extensions": { EXTENSION: {} } }));
        return Err(RpcError::missing_capability("tasks are an extension", &required));
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

fn shown(task: &Task) -> Value {
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

fn detailed(task: &Task) -> Value {
    let (mut shown, state) = (shown(task), task.state());
    shown["status"] = state.status.as_str().into();
    match (state.status, state.outcome) {
        (Status::InputRequired, _) => {
            let questions = state.pending.iter();
            let requests: Map<String, Value> =
                questions.map(|(key, question)| ((*key).to_owned(), question.shown())).collect();
            shown["inputRequests"] = requests.into();
        }
        (Status::Completed, Some(Ok(result))) => shown["result"] = result,
        (Status::Failed, Some(Err(error))) => shown["error"] = json!(error),
        _ => {}
    }
    shown
}
