//! `tasks/list`, which only the core feature has: each principal sees the tasks it was given.

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::RawObject;
use capdeck_definition::CapabilityId;
use futures_util::future::join_all;
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};

use super::{Task, errors, table::TaskKey, translated::At};
use crate::{Session, raw};

/// How many tasks are on one page.
const PAGE: usize = 50;

impl Session {
    /// One page of this principal's tasks of a server.
    pub(super) async fn list_tasks(
        &self,
        id: &CapabilityId,
        params: RawObject,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let capability = self.capability(id.as_str())?;
        if self.host.0.eras.is_modern(&capability.definition) == Some(true) {
            let at = At { session: self, capability: &capability, context };
            return self.list_own_tasks(id, &params, &at).await;
        }
        let page = self.send(id.as_str(), "tasks/list", Some(params), context).await?;
        self.screen_tasks(id, &page)
    }

    /// The server's own page without tasks that were not handed out to this principal. A server may know no principals.
    fn screen_tasks(&self, id: &CapabilityId, page: &RawValue) -> Result<Box<RawValue>, CallError> {
        let broken = |_| errors::no_task_in_answer();
        let mut page: RawObject = serde_json::from_str(page.get()).map_err(broken)?;
        let Some(tasks) = page.get("tasks") else { return Err(errors::no_task_in_answer()) };
        let tasks: Vec<Box<RawValue>> = serde_json::from_str(tasks.get()).map_err(broken)?;
        let is_own = |task: &RawValue| {
            let task: Option<RawObject> = serde_json::from_str(task.get()).ok();
            let named = task.and_then(|task| raw::string(task.get("taskId")?));
            named.is_some_and(|named| self.host.0.tasks.find(&self.task_key(id, &named)).is_some())
        };
        let tasks: Vec<_> = tasks.into_iter().filter(|task| is_own(task)).collect();
        page.insert("tasks".to_owned(), to_raw_value(&tasks).map_err(errors::unwritable)?);
        to_raw_value(&page).map_err(errors::unwritable)
    }

    /// The extension has no list, so the host keeps it. Each task is looked at as it is now.
    async fn list_own_tasks(
        &self,
        id: &CapabilityId,
        params: &RawObject,
        at: &At<'_>,
    ) -> Result<Box<RawValue>, CallError> {
        let mut tasks = self.host.0.tasks.of(&self.principal, id);
        if let Some(cursor) = params.get("cursor").filter(|cursor| cursor.get() != "null") {
            let last = raw::string(cursor)
                .and_then(|cursor| tasks.iter().position(|(key, _)| key.id == cursor));
            let Some(last) = last else {
                return Err(CallError::new(
                    ErrorCode::RequestInvalid,
                    format!("{} is not a cursor of this list; start without one", cursor.get()),
                ));
            };
            tasks.drain(..=last);
        }
        let has_more = tasks.len() > PAGE;
        tasks.truncate(PAGE);
        let looking = tasks.iter().map(|(key, task)| self.look(key, task, at));
        let mut shown: Vec<RawObject> = Vec::new();
        for task in join_all(looking).await {
            shown.extend(task?);
        }
        let mut page = RawObject::new();
        page.insert("tasks".to_owned(), to_raw_value(&shown).map_err(errors::unwritable)?);
        if let Some((last, _)) = tasks.last().filter(|_| has_more) {
            page.extend(raw::object([("nextCursor", json!(last.id))]));
        }
        to_raw_value(&page).map_err(errors::unwritable)
    }

    /// One task as it is now. One that its server no longer knows is forgotten.
    async fn look(
        &self,
        key: &TaskKey,
        task: &Task,
        at: &At<'_>,
    ) -> Result<Option<RawObject>, CallError> {
        match task {
            Task::Kept(kept) => Ok(Some(kept.task(&key.id))),
            Task::Translated(task) => match task.look(at).await {
                Ok(task) => Ok(Some(task)),
                Err(error) if error.rpc.is_some() => {
                    self.host.0.tasks.remove(key);
                    Ok(None)
                }
                Err(error) => Err(error),
            },
            // Handed out to this principal by a client of the other era; this one could not follow it.
            Task::Passed | Task::Followed(_) => Ok(None),
        }
    }
}
