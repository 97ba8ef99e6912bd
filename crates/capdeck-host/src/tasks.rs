//! Long-running work of servers, in the two forms that MCP has for it: the *core feature* of
//! revision 2025-11-25, where the client asks for a task and fetches its result, and the later
//! *extension*, where the server decides and a task's state includes everything.
//!
//! Where client and server differ, the host translates: [`followed_task::FollowedTask`] shows a
//! core task in the form of the extension, [`translated_task::TranslatedTask`] the reverse. A task
//! id is a handle, not a proof: a request must come from the principal that owns the task.

mod calls;
mod errors;
mod followed_task;
mod notices;
mod support;
mod task_state;
mod task_store;
mod translated_task;

use std::time::Duration;

use capdeck_backend::CallError;
use capdeck_catalog::RawMembers;
use capdeck_definition::CapabilityId;
use futures_util::future::join_all;
use serde_json::value::RawValue;

pub(crate) use calls::{TaskCall, TaskHandling, call_tool};
pub(crate) use notices::{
    CORE_NOTICE, EXTENSION_NOTICE, ask_for_task, core_task_changed, extension_task_changed,
};
pub use notices::{check_listening, notice, unwatch_task, watch_task};
pub use support::describe_server;
pub(crate) use support::{has_extension, with_extension, with_task_support, without_extension};
pub(crate) use task_store::TaskStore;

use crate::{RequestContext, Session, forward::send, raw};
use support::declares_tasks;
use task_state::TaskState;
use task_store::{HostTask, TaskKey};
use translated_task::TaskTarget;

const MAX_RESULT_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

const PAGE_SIZE: usize = 50;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The form of tasks that the client of a session supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskForm {
    /// None: the host waits for a task and returns its result.
    #[default]
    Awaited,
    /// The core feature of revision 2025-11-25.
    Core,
    /// The extension, if the client declares it.
    Extension,
}

/// True for the task requests of either form.
pub fn is_task_request(method: &str) -> bool {
    matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" | "tasks/list")
}

/// Answers a task request for one server. Unknown, expired and foreign tasks give the same error.
pub async fn answer(
    request: &RequestContext<'_>,
    id: &CapabilityId,
    method: &str,
    params: RawMembers,
) -> raw::Answer {
    let session = request.session();
    let about = raw::get::<String>(&params, "taskId");
    let subject = about.clone().unwrap_or_default();
    let answering = async {
        match (session.tasks, method) {
            (TaskForm::Extension, "tasks/list" | "tasks/result") => Err(errors::no_such_method(
                method,
                "`tasks/get` returns everything about one task, including its result",
            )),
            (TaskForm::Core | TaskForm::Awaited, "tasks/update") => Err(errors::no_such_method(
                method,
                "ask for the task's result, and its questions come as requests",
            )),
            (TaskForm::Core, "tasks/list") => list_tasks(request, id, params).await,
            (TaskForm::Extension, _) if !declares_tasks(session) => {
                Err(errors::undeclared(&format!("`{method}`")))
            }
            _ => {
                let about =
                    about.ok_or_else(|| CallError::invalid_request("`taskId` must be a string"))?;
                answer_about(request, id, &about, method, params).await
            }
        }
    };
    session.audited(method, id.as_str(), &subject, answering).await
}

async fn answer_about(
    request: &RequestContext<'_>,
    id: &CapabilityId,
    task_id: &str,
    method: &str,
    params: RawMembers,
) -> raw::Answer {
    let session = request.session();
    let capability = request.capability(id.as_str())?;
    let key = TaskKey::of(session, id, task_id);
    let task = session.host.0.tasks.find(&key).ok_or_else(|| errors::unknown(task_id))?;
    let target = TaskTarget { request, capability: &capability };
    let answer = match (task, method) {
        (HostTask::Passed, _) => {
            let mut context = request.call.clone();
            if method == "tasks/result" {
                // Answered when the task has ended, however long that takes.
                context.timeout = Some(MAX_RESULT_WAIT);
            }
            send(&request.with_call(&context), id.as_str(), method, Some(params)).await?
        }
        (HostTask::Followed(task), "tasks/get") => {
            raw::text(&task.look(&request.call.cancel).await?)?
        }
        (HostTask::Followed(task), "tasks/update") => {
            task.update(&params)?;
            raw::text(&RawMembers::new())?
        }
        (HostTask::Followed(task), "tasks/cancel") => {
            task.cancel(&request.call.cancel).await?;
            raw::text(&RawMembers::new())?
        }
        (HostTask::Translated(task), "tasks/get") => raw::text(&task.look(&target).await?)?,
        (HostTask::Translated(task), "tasks/cancel") => raw::text(&task.cancel(&target).await?)?,
        (HostTask::Translated(task), "tasks/result") => {
            related_result(&task.result(&target).await?, task_id)?
        }
        (HostTask::Completed(task), "tasks/get") => raw::text(&task.task(task_id))?,
        (HostTask::Completed(task), "tasks/result") => related_result(&task.result, task_id)?,
        (HostTask::Completed(_), "tasks/cancel") => return Err(translated_task::is_over(task_id)),
        // A client that changed its era between two requests names a task of the other form.
        _ => return Err(errors::unknown(task_id)),
    };
    if method == "tasks/get"
        && let Ok((_, seen)) = TaskState::read(&answer)
    {
        session.host.0.tasks.renew(&key, &seen);
    }
    Ok(answer)
}

fn related_result(result: &RawValue, id: &str) -> raw::Answer {
    let mut members: RawMembers =
        serde_json::from_str(result.get()).map_err(CallError::internal)?;
    members.shift_remove("resultType");
    task_state::relate(&mut members, id);
    raw::text(&members)
}

/// `tasks/list`, which only the core feature has: each principal sees its own tasks.
async fn list_tasks(
    request: &RequestContext<'_>,
    id: &CapabilityId,
    params: RawMembers,
) -> raw::Answer {
    let capability = request.capability(id.as_str())?;
    if request.connections().is_modern(&capability.definition) {
        let target = TaskTarget { request, capability: &capability };
        return list_own_tasks(id, &params, &target).await;
    }
    let page = send(request, id.as_str(), "tasks/list", Some(params)).await?;
    screen_tasks(request.session(), id, &page)
}

/// The server's own page without tasks of other principals. A server may not distinguish
/// principals.
fn screen_tasks(session: &Session, id: &CapabilityId, page: &RawValue) -> raw::Answer {
    let mut page: RawMembers = raw::parse(page).ok_or_else(errors::no_task_in_answer)?;
    let tasks: Option<Vec<Box<RawValue>>> = raw::get(&page, "tasks");
    let mut tasks = tasks.ok_or_else(errors::no_task_in_answer)?;
    tasks.retain(|task| {
        let named = raw::parse::<RawMembers>(task).and_then(|task| raw::get(&task, "taskId"));
        let key = named.map(|named: String| TaskKey::of(session, id, &named));
        key.is_some_and(|key| session.host.0.tasks.find(&key).is_some())
    });
    raw::set(&mut page, "tasks", &tasks);
    raw::text(&page)
}

/// The extension has no list, so the host has it. Each task is read again.
async fn list_own_tasks(
    id: &CapabilityId,
    params: &RawMembers,
    target: &TaskTarget<'_>,
) -> raw::Answer {
    let session = target.request.session();
    let mut tasks = session.host.0.tasks.list_for(&session.principal, id);
    if let Some(cursor) = params.get("cursor").filter(|cursor| cursor.get() != "null") {
        let last = raw::string(cursor)
            .and_then(|cursor| tasks.iter().position(|(key, _)| key.id == cursor));
        let Some(last) = last else {
            return Err(CallError::invalid_request(format!(
                "{} is not a cursor of this list; start without one",
                cursor.get()
            )));
        };
        tasks.drain(..=last);
    }
    let has_more = tasks.len() > PAGE_SIZE;
    tasks.truncate(PAGE_SIZE);
    let looking = tasks.iter().map(|(key, task)| look(key, task, target));
    let mut shown: Vec<RawMembers> = Vec::new();
    for task in join_all(looking).await {
        shown.extend(task?);
    }
    let mut page = RawMembers::new();
    raw::set(&mut page, "tasks", &shown);
    if let Some((last, _)) = tasks.last().filter(|_| has_more) {
        raw::set(&mut page, "nextCursor", &last.id);
    }
    raw::text(&page)
}

/// A task that its server no longer knows is forgotten.
async fn look(
    key: &TaskKey,
    task: &HostTask,
    target: &TaskTarget<'_>,
) -> Result<Option<RawMembers>, CallError> {
    match task {
        HostTask::Completed(task) => Ok(Some(task.task(&key.id))),
        HostTask::Translated(task) => match task.look(target).await {
            Ok(task) => Ok(Some(task)),
            Err(error) if error.rpc.is_some() => {
                target.request.host().0.tasks.remove(key);
                Ok(None)
            }
            Err(error) => Err(error),
        },
        // Belongs to a client of the same principal and the other era; this client cannot follow
        // it.
        HostTask::Passed | HostTask::Followed(_) => Ok(None),
    }
}
