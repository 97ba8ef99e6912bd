//! Tool calls that may become tasks.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use capdeck_backend::{CallContext, CallError, ErrorCode, ErrorKind, ToolCall};
use capdeck_catalog::{Capability, RawMembers, Tool};
use capdeck_definition::{Backend, Definition};
use serde_json::json;

use super::{
    HostTask, TaskForm, errors,
    followed_task::FollowedTask,
    notices,
    support::{ToolTaskSupport, declares_tasks, has_extension, offers_core},
    task_state::{self, TaskState},
    task_store::{TaskEntry, TaskKey},
    translated_task::{CompletedTask, TaskTarget, TranslatedTask},
};
use crate::{RequestContext, discover::answer_time, pool::ConnectionLease, raw};

const PERSON_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How many timeouts of its server the host waits for a task. A person may be part of it, so never
/// less than above.
const MAX_TIMEOUTS: u32 = 10;

const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct TaskCall<'a> {
    pub(crate) request: &'a RequestContext<'a>,
    pub(crate) lease: ConnectionLease,
    pub(crate) capability: &'a Capability,
    pub(crate) tool: Option<&'a Tool>,
    pub(crate) context: &'a CallContext,
}

/// How a call is made that may become a task, by the forms that its client and its server know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskHandling {
    /// Both know the same form.
    PassOn,
    /// The client knows the extension, and the server the core feature.
    FromCore,
    /// The reverse.
    FromExtension,
    /// The client knows none, and the tool runs only as a core task.
    AwaitCore,
    /// The client knows none, and the server may answer with a task.
    AwaitExtension,
}

impl TaskHandling {
    /// `None` for a call that cannot become a task, which most are. The server is connected, so that its era is known.
    pub(crate) fn of_call(
        request: &RequestContext<'_>,
        definition: &Definition,
        tool: Option<&Tool>,
    ) -> Option<Self> {
        if !matches!(definition.backend, Backend::Mcp(_)) {
            return None;
        }
        let is_modern = request.connections().is_modern(definition);
        match (request.session().tasks, is_modern) {
            (TaskForm::Core, false) | (TaskForm::Extension, true) => Some(Self::PassOn),
            (TaskForm::Extension, false) => Some(Self::FromCore),
            (TaskForm::Core, true) => Some(Self::FromExtension),
            (TaskForm::Awaited, true) => Some(Self::AwaitExtension),
            (TaskForm::Awaited, false) => {
                let is_required = ToolTaskSupport::from_tool(tool) == ToolTaskSupport::Required;
                is_required.then_some(Self::AwaitCore)
            }
        }
    }
}

/// Calls a tool. A call that becomes a task returns it, in the form that the client knows.
pub(crate) async fn call_tool(
    handling: TaskHandling,
    calling: TaskCall<'_>,
    call: ToolCall<'_>,
) -> raw::Answer {
    match handling {
        TaskHandling::PassOn => {
            let result = calling.lease.call_tool(call, calling.context).await?;
            if let Some((_, seen)) = task_state::created(&result) {
                let (lease, task) = (Some(Arc::new(calling.lease)), HostTask::Passed);
                hand_out(calling.request, calling.capability, &seen.id, seen.ttl, task, lease);
            }
            Ok(result)
        }
        TaskHandling::FromCore => call_core_server(calling, call).await,
        TaskHandling::FromExtension => call_extension_server(calling, call).await,
        TaskHandling::AwaitCore => await_core_server(&calling, call).await,
        TaskHandling::AwaitExtension => await_extension_server(&calling, call).await,
    }
}

/// The tool's declaration decides, as a client of the extension leaves it to the server.
async fn call_core_server(calling: TaskCall<'_>, mut call: ToolCall<'_>) -> raw::Answer {
    let TaskCall { request, lease, capability, tool, context } = calling;
    // Clients of the extension may still send it; it must not create a task.
    call.rest.shift_remove("task");
    let support = ToolTaskSupport::from_tool(tool);
    let may_be_task = support != ToolTaskSupport::Forbidden
        && lease.server().is_some_and(|facts| offers_core(&facts));
    match (may_be_task, support, declares_tasks(request.session())) {
        (true, _, true) => {}
        (true, ToolTaskSupport::Required, false) => {
            return Err(errors::undeclared(&format!("`{}` runs only as a task and", call.name)));
        }
        _ => return lease.call_tool(call, context).await,
    }
    call.rest.extend(raw::object([("task", json!({}))]));
    let result = lease.call_tool(call, context).await?;
    let Some((task, seen)) = task_state::created(&result) else { return Ok(result) };
    let audience = request.connections().audience().clone();
    let followed = Arc::new(FollowedTask::new(seen.id, Arc::new(lease), audience));
    let mut shown = raw::object([("resultType", json!("task"))]);
    shown.extend(task_state::to_extension(task, &followed.id));
    let (id, task) = (followed.id.clone(), HostTask::Followed(followed));
    hand_out(request, capability, &id, seen.ttl, task, None);
    raw::text(&shown)
}

/// The client asks for a task, and the server decides: a call that ends at once is stored as a
/// completed task.
async fn call_extension_server(calling: TaskCall<'_>, mut call: ToolCall<'_>) -> raw::Answer {
    let TaskCall { request, lease, capability, context, .. } = calling;
    let (name, options) = (call.name, call.rest.shift_remove("task"));
    let has_tasks = || lease.server().is_some_and(|facts| has_extension(&facts.capabilities));
    let Some(options) = options.filter(|_| has_tasks()) else {
        let outcome = lease.call_tool(call, context).await;
        return outcome.map_err(|error| match errors::wants_extension(&error) {
            true => errors::task_required(name),
            false => error,
        });
    };
    let client = Some(request.connections().audience().with_tasks());
    let context = CallContext { client, ..context.clone() };
    let result = lease.call_tool(call, &context).await?;
    let task = match task_state::created(&result) {
        Some((created, seen)) => {
            let task = HostTask::Translated(Arc::new(TranslatedTask::new(seen.id.clone())));
            hand_out(request, capability, &seen.id, seen.ttl, task, Some(Arc::new(lease)));
            task_state::to_core(&created)
        }
        None => {
            let task = Arc::new(CompletedTask::new(result, &options));
            let id = uuid::Uuid::new_v4().to_string();
            // Every task begins as working.
            let shown = task.to_members(&id, "working");
            hand_out(request, capability, &id, Some(task.ttl), HostTask::Completed(task), None);
            shown
        }
    };
    raw::text(&BTreeMap::from([("task", task)]))
}

/// A server that runs the tool only as a task is sent the extension, and the host waits for the
/// task.
async fn await_extension_server(calling: &TaskCall<'_>, call: ToolCall<'_>) -> raw::Answer {
    let TaskCall { request, lease, capability, context, .. } = calling;
    match lease.call_tool(call.clone(), context).await {
        Err(error) if errors::wants_extension(&error) => {}
        outcome => return outcome,
    }
    let client = Some(request.connections().audience().with_tasks());
    let with_tasks = CallContext { client, ..(*context).clone() };
    let result = lease.call_tool(call, &with_tasks).await?;
    let Some((_, seen)) = task_state::created(&result) else { return Ok(result) };
    let task = TranslatedTask::new(seen.id);
    let watched = request.with_call(context);
    let target = TaskTarget { request: &watched, capability };
    let leaving = async {
        let last = CallContext::detached(CANCEL_TIMEOUT);
        let request = &request.with_call(&last);
        drop(task.cancel(&TaskTarget { request, capability }).await);
    };
    wait_for(calling, task.result(&target), leaving).await
}

fn hand_out(
    request: &RequestContext<'_>,
    capability: &Capability,
    id: &str,
    ttl: Option<Duration>,
    task: HostTask,
    lease: Option<Arc<ConnectionLease>>,
) {
    let is_watched = task.is_translated();
    let session = request.session();
    let key = TaskKey::of(session, &capability.definition.id, id);
    session.host.0.tasks.add(key, TaskEntry::new(&session.id, task, ttl, lease));
    if is_watched {
        // Clients of the core feature get changes without asking.
        notices::report_tasks(session, &capability.definition);
    }
}

/// Waits for the task of a tool that runs only as one.
async fn await_core_server(calling: &TaskCall<'_>, mut call: ToolCall<'_>) -> raw::Answer {
    let TaskCall { lease, context, .. } = calling;
    if !lease.server().is_some_and(|facts| offers_core(&facts)) {
        return lease.call_tool(call, context).await;
    }
    call.rest.extend(raw::object([("task", json!({}))]));
    let result = lease.call_tool(call, context).await?;
    let Some((_, seen)) = task_state::created(&result) else { return Ok(result) };
    let params = raw::object([("taskId", json!(seen.id))]);
    let leaving = async {
        let last = CallContext::detached(CANCEL_TIMEOUT);
        drop(lease.request("tasks/cancel", Some(params.clone()), &last).await);
    };
    wait_for(calling, core_result(calling, seen, &params), leaving).await
}

/// Polls a core task until it has ended or asks something, and returns its result.
async fn core_result(
    calling: &TaskCall<'_>,
    mut seen: TaskState,
    params: &RawMembers,
) -> raw::Answer {
    let TaskCall { lease, context, .. } = calling;
    loop {
        if seen.is_over() || seen.status == "input_required" {
            let patient = CallContext { timeout: Some(PERSON_TIMEOUT), ..(*context).clone() };
            let result = lease.request("tasks/result", Some(params.clone()), &patient).await;
            return result.map(task_state::without_relation);
        }
        tokio::time::sleep(seen.pause()).await;
        let state = lease.request("tasks/get", Some(params.clone()), context).await?;
        seen.status = TaskState::read(&state)?.1.status;
    }
}

/// Waits for a task on behalf of a client without tasks, as long as for any call that reports
/// progress. The server is notified when the client cancels.
async fn wait_for(
    calling: &TaskCall<'_>,
    result: impl Future<Output = raw::Answer>,
    leaving: impl Future<Output = ()>,
) -> raw::Answer {
    let TaskCall { capability, context, .. } = calling;
    let backend = &capability.definition.backend;
    let timeout = context.timeout.unwrap_or_else(|| answer_time(backend));
    let longest = timeout.saturating_mul(MAX_TIMEOUTS).max(PERSON_TIMEOUT);
    let error = tokio::select! {
        result = result => match result {
            Err(error) if error.kind() == ErrorKind::Cancelled => error,
            result => return result,
        },
        () = context.cancel.cancelled() => {
            CallError::new(ErrorCode::Cancelled, "the call was cancelled")
        }
        () = tokio::time::sleep(longest) => CallError::new(
            ErrorCode::ToolCallTimeout,
            format!("the task was not done within {} s", longest.as_secs()),
        )
        .hint("raise `callTimeoutMs`, or call the tool from a client that knows tasks"),
    };
    leaving.await;
    Err(error)
}
