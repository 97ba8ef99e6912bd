//! Task notifications of servers, and their recipients.

use std::{sync::Arc, time::Duration};

use capdeck_backend::{CallContext, CallError, CallerHandle};
use capdeck_catalog::RawMembers;
use capdeck_definition::{CapabilityId, Definition};

use super::{HostTask, TaskForm, TaskKey, errors, support::declares_tasks, task_state};
use crate::{Host, HostEvent, Session, raw, session_connections::SessionConnections};

const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// How much earlier than its task a question may arrive.
const EARLY_QUESTION_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) const CORE_NOTICE: &str = "notifications/tasks/status";
pub(crate) const EXTENSION_NOTICE: &str = "notifications/tasks";

/// Handles a task notification of a server with the core feature, on the connection of this
/// session. False when the session's client has the same form of tasks and gets it unchanged.
pub(crate) fn core_task_changed(
    host: &Host,
    capability: &CapabilityId,
    session: &Arc<str>,
    params: &RawMembers,
) -> bool {
    let id = raw::get::<String>(params, "taskId").unwrap_or_default();
    let found = host.0.tasks.of_server(capability, Some(session), &id);
    let Some((key, entry)) = found else { return false };
    let HostTask::Followed(task) = &entry.task else { return false };
    task.inbox.note_change();
    if entry.is_watched() {
        let (task, session) = (task.clone(), entry.session);
        let host = host.clone();
        tokio::spawn(async move {
            let looking = task.look(&host.0.stop);
            match tokio::time::timeout(REPORT_TIMEOUT, looking).await {
                Ok(Ok(shown)) => announce(&host, key, session, shown),
                _ => tracing::debug!(task = key.id, "a changed task could not be read"),
            }
        });
    }
    true
}

pub(crate) fn extension_task_changed(host: &Host, capability: &CapabilityId, params: RawMembers) {
    let id = raw::get::<String>(&params, "taskId").unwrap_or_default();
    if let Some((key, entry)) = host.0.tasks.of_server(capability, None, &id) {
        announce(host, key, entry.session, params);
    }
}

/// Takes a question that a task asks outside any request. `None` when it belongs to no followed
/// task.
pub(crate) async fn ask_for_task(
    host: &Host,
    capability: &CapabilityId,
    session: &Arc<str>,
    method: &str,
    params: Option<&RawMembers>,
) -> Option<raw::Answer> {
    let id = task_state::related(params?)?;
    let waiting = host.0.tasks.wait_for(capability, session, &id, EARLY_QUESTION_TIMEOUT);
    let HostTask::Followed(task) = waiting.await?.1.task else { return None };
    Some(task.inbox.request(method, params.cloned()).await)
}

fn announce(host: &Host, key: TaskKey, session: Arc<str>, task: RawMembers) {
    let TaskKey { capability, owner, .. } = key;
    host.announce(HostEvent::TaskChanged { capability, owner, session, task: Arc::new(task) });
}

/// Subscribes to a task. The client must have the extension, and its principal must own the task.
pub async fn watch_task(
    session: &Session,
    capability: &CapabilityId,
    id: &str,
) -> Result<(), CallError> {
    let key = TaskKey::of(session, capability, id);
    if !session.host.0.tasks.watch(&key) {
        return Err(errors::unknown(id));
    }
    if let Some(HostTask::Passed) = session.host.0.tasks.find(&key) {
        let definition = session.snapshot().capability(capability.as_str())?.definition.clone();
        let updated = update_server_watches(&session.connections, &definition).await;
        return updated.inspect_err(|_| session.host.0.tasks.unwatch(&key));
    }
    Ok(())
}

/// Unsubscribes from a task.
pub async fn unwatch_task(session: &Session, capability: &CapabilityId, id: &str) {
    let key = TaskKey::of(session, capability, id);
    session.host.0.tasks.unwatch(&key);
    if let Some(HostTask::Passed) = session.host.0.tasks.find(&key)
        && let Ok(capability) = session.snapshot().capability(capability.as_str())
    {
        report_tasks(session, &capability.definition);
    }
}

pub(super) fn report_tasks(session: &Session, definition: &Arc<Definition>) {
    let (audience, definition) = (session.connections.audience().clone(), definition.clone());
    let connections = SessionConnections::shared(&session.host, audience);
    tokio::spawn(async move {
        if let Err(error) = update_server_watches(&connections, &definition).await {
            tracing::debug!(capability = %definition.id, %error, "the server does not report its tasks");
        }
    });
}

/// Rejects a task subscription that the client cannot have.
pub fn check_listening(session: &Session) -> Result<(), CallError> {
    match session.tasks == TaskForm::Extension && !declares_tasks(session) {
        true => Err(errors::undeclared("listening for tasks")),
        false => Ok(()),
    }
}

/// The notification of a changed task for this client, if it gets one.
pub fn notice(client: &Session, event: &HostEvent) -> Option<(&'static str, RawMembers)> {
    let HostEvent::TaskChanged { owner, session, task, .. } = event else { return None };
    match client.tasks {
        _ if *owner != client.principal => None,
        TaskForm::Extension => Some((EXTENSION_NOTICE, RawMembers::clone(task))),
        TaskForm::Core if *session == client.id => Some((CORE_NOTICE, task_state::to_core(task))),
        TaskForm::Core | TaskForm::Awaited => None,
    }
}

async fn update_server_watches(
    connections: &SessionConnections,
    definition: &Arc<Definition>,
) -> Result<(), CallError> {
    let tasks = &connections.host.0.tasks;
    let _order = tasks.watch_updates.lock().await;
    let context = CallContext::detached(REPORT_TIMEOUT);
    let lease = connections.lease_unchecked(definition, &context).await?;
    lease.watch_tasks(tasks.watched(&definition.id), &context).await
}
