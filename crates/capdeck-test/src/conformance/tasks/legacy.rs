//! Tasks as the last legacy revision has them.

use std::sync::Arc;

use capdeck_mcp::{RpcError, server::ClientPeer};
use futures_util::future::try_join_all;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{
    POLL_INTERVAL, TTL,
    task::{FixtureTask, FixtureTaskState, FixtureTaskStatus},
    unknown_task,
};
use crate::conformance::call::{FixtureCall, FixtureResult, raw_object};

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The result of the call that became a task.
pub(super) fn created(task: &FixtureTask) -> Value {
    json!({ "task": shown(task, &task.state()) })
}

/// `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`.
pub(super) async fn answer(method: &str, call: &FixtureCall<'_>) -> FixtureResult {
    let named = || {
        let id = &call.params["taskId"];
        call.fixture.tasks.find(id).ok_or_else(|| unknown_task(id))
    };
    match method {
        "tasks/list" => {
            let tasks = call.fixture.tasks.all();
            let tasks: Vec<Value> = tasks.iter().map(|task| shown(task, &task.state())).collect();
            Ok(json!({ "tasks": tasks }))
        }
        "tasks/get" => {
            let task = named()?;
            Ok(shown(&task, &task.state()))
        }
        "tasks/cancel" => {
            let task = named()?;
            if !task.cancel() {
                return Err(RpcError::invalid_params("the task has ended already"));
            }
            Ok(shown(&task, &task.state()))
        }
        "tasks/result" => result(&*named()?, call).await,
        _ => Err(RpcError::method_not_found(method)),
    }
}

/// Tells the client of every change until the task has ended.
pub(super) async fn report(
    task: Arc<FixtureTask>,
    mut states: watch::Receiver<FixtureTaskState>,
    peer: ClientPeer,
) {
    while states.changed().await.is_ok() {
        let state = states.borrow_and_update().clone();
        let params = raw_object(&shown(&task, &state));
        peer.notify("notifications/tasks/status", Some(params));
        if state.status.is_terminal() {
            return;
        }
    }
}

/// Waits for the end of the task, and asks on the way what the task wants to know.
async fn result(task: &FixtureTask, call: &FixtureCall<'_>) -> FixtureResult {
    let mut states = task.watch();
    loop {
        let state = states.borrow_and_update().clone();
        if state.status == FixtureTaskStatus::InputRequired {
            let questions = state.pending.into_values().map(|mut question| async move {
                question.params["_meta"] = related(task);
                let answer = call.ask(&question).await?;
                Ok::<_, RpcError>((question.key.to_owned(), answer))
            });
            task.answer(&try_join_all(questions).await?.into_iter().collect::<Map<_, _>>());
        } else if let Some(outcome) = state.outcome {
            let mut result = outcome?;
            result["_meta"] = related(task);
            return Ok(result);
        } else if states.changed().await.is_err() {
            return Err(RpcError::internal("the task is gone"));
        }
    }
}

fn related(task: &FixtureTask) -> Value {
    json!({ RELATED: { "taskId": task.id } })
}

fn shown(task: &FixtureTask, state: &FixtureTaskState) -> Value {
    json!({
        "taskId": task.id,
        "status": state.status.as_str(),
        "createdAt": task.created.to_string(),
        "lastUpdatedAt": state.updated.to_string(),
        "ttl": TTL,
        "pollInterval": POLL_INTERVAL,
    })
}
