//! Tasks: the extension of the modern era and the core feature of the legacy one, over the same table.

mod extension;
mod legacy;
mod table;
mod task;

use capdeck_mcp::RpcError;
use serde_json::{Value, json};

use super::{
    call::{FixtureCall, FixtureResult, raw_object},
    questions::{FixtureQuestionOutcome, QuestionRounds},
    tools::{FixtureJob, JobTaskSupport},
};

pub(super) use table::FixtureTaskTable;

/// The extension's name.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How long a task is kept, and how often it should be looked at, in milliseconds.
const TTL: u32 = 300_000;
const POLL_INTERVAL: u32 = 200;

/// Runs a tool's work: as a task where the client can follow one, else at once.
pub(super) async fn run(job: FixtureJob, call: &FixtureCall<'_>) -> FixtureResult {
    let as_task = if call.is_modern {
        call.has_extension(EXTENSION)
    } else {
        call.params["task"].is_object()
    };
    if job.task_support() == JobTaskSupport::Required && !as_task {
        return Err(task_required(call.is_modern));
    }
    let before = match gather(job.questions_before(), call).await? {
        FixtureQuestionOutcome::Answers(answers) => answers,
        FixtureQuestionOutcome::Needed(result) => return Ok(result),
    };
    if as_task {
        let task = call.fixture.tasks.start(job, before, call);
        return Ok(if call.is_modern { extension::created(&task) } else { legacy::created(&task) });
    }
    match gather(job.questions(), call).await? {
        FixtureQuestionOutcome::Answers(answers) => {
            tokio::time::sleep(job.duration()).await;
            job.finish(&merged(before, answers))
        }
        FixtureQuestionOutcome::Needed(result) => Ok(result),
    }
}

/// Every `tasks/…` method.
pub(super) async fn answer(method: &str, call: &FixtureCall<'_>) -> FixtureResult {
    if call.is_modern {
        extension::answer(method, call)
    } else {
        legacy::answer(method, call).await
    }
}

/// What tells a subscription of every change of these tasks.
pub(super) fn reports(
    ids: &Value,
    call: &FixtureCall<'_>,
) -> Result<Vec<impl Future<Output = ()> + Send + 'static>, RpcError> {
    let ids = ids.as_array().map(Vec::as_slice).unwrap_or_default();
    if !ids.is_empty() && !call.has_extension(EXTENSION) {
        return Err(extension::undeclared());
    }
    let tasks = ids.iter().filter_map(|id| call.fixture.tasks.find(id));
    Ok(tasks.map(|task| extension::report(task, call.exchange.peer.clone())).collect())
}

async fn gather(
    questions: Vec<super::questions::FixtureQuestion>,
    call: &FixtureCall<'_>,
) -> Result<FixtureQuestionOutcome, RpcError> {
    if questions.is_empty() {
        return Ok(FixtureQuestionOutcome::Answers(json!({})));
    }
    call.gather(&QuestionRounds::stateless(questions)).await
}

fn merged(mut answers: Value, more: Value) -> Value {
    if let (Some(all), Value::Object(more)) = (answers.as_object_mut(), more) {
        all.extend(more);
    }
    answers
}

fn task_required(is_modern: bool) -> RpcError {
    if is_modern {
        let required = raw_object(&json!({ "extensions": { EXTENSION: {} } }));
        RpcError::missing_capability("this tool runs only as a task", &required)
    } else {
        RpcError::new(RpcError::METHOD_NOT_FOUND, "this tool runs only as a task: send `task`")
    }
}

fn unknown_task(id: &Value) -> RpcError {
    RpcError::invalid_params(format!("there is no task {id}"))
}
