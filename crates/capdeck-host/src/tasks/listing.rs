//! `tasks/list`, which only the core feature has: each principal sees its own tasks.

use capdeck_backend::CallError;
use capdeck_catalog::RawMembers;
use capdeck_definition::CapabilityId;
use futures_util::future::join_all;
use serde_json::value::RawValue;

use super::{HostTask, errors, task_store::TaskKey, translated_task::TaskTarget};
use crate::{RequestContext, Session, forward::send, raw};

const PAGE_SIZE: usize = 50;

pub(super) async fn list_tasks(
    request: &RequestContext<'_>,
    id: &CapabilityId,
    params: RawMembers,
) -> raw::Answer {
    let capability = request.capability(id.as_str())?;
    if request.host().0.eras.is_modern(&capability.definition) == Some(true) {
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
        let key = named.map(|named: String| session.task_key(id, &named));
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
    let mut tasks = session.host.0.tasks.of(&session.principal, id);
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
        HostTask::Completed(kept) => Ok(Some(kept.task(&key.id))),
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
