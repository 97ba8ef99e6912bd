//! The owners of tasks. Bounded, and everything in it expires.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_definition::CapabilityId;
use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    followed_task::FollowedTask,
    task_state::TaskState,
    translated_task::{CompletedTask, TranslatedTask},
};
use crate::{Principal, Session, pool::ConnectionLease};

/// In all and per principal. The oldest are dropped.
const MAX_TASKS: usize = 4096;
const MAX_TASKS_PER_PRINCIPAL: usize = 1024;

/// Of all results of completed tasks.
const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// How long a task is remembered at most, and one without a limit since its last use.
const MAX_TASK_TTL: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_TASK_TTL: Duration = Duration::from_secs(60 * 60);

#[derive(Default)]
pub(crate) struct TaskStore {
    table: Mutex<TaskEntries>,
    added: Notify,
    /// Held while a server is sent its task subscriptions, so that they arrive in order.
    pub(super) watch_updates: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TaskKey {
    pub(super) owner: Principal,
    pub(super) capability: CapabilityId,
    pub(super) id: String,
}

impl TaskKey {
    pub(super) fn of(session: &Session, capability: &CapabilityId, id: &str) -> Self {
        let (owner, capability) = (session.principal.clone(), capability.clone());
        Self { owner, capability, id: id.to_owned() }
    }
}

#[derive(Clone)]
pub(crate) enum HostTask {
    /// The server's own form is the client's: everything passes.
    Passed,
    /// Of a server with the core feature, for a client with the extension.
    Followed(Arc<FollowedTask>),
    /// Of a server with the extension, for a client with the core feature.
    Translated(Arc<TranslatedTask>),
    /// Ended with the call: only the result is stored.
    Completed(Arc<CompletedTask>),
}

#[derive(Default)]
struct TaskEntries(IndexMap<TaskKey, TaskEntry>);

#[derive(Clone)]
pub(crate) struct TaskEntry {
    pub(super) session: Arc<str>,
    made: Instant,
    expires: Instant,
    pub(super) task: HostTask,
    watchers: usize,
    /// Prevents an idle connection from being closed while the server works.
    _lease: Option<Arc<ConnectionLease>>,
}

impl TaskEntry {
    pub(super) fn new(
        session: &Arc<str>,
        task: HostTask,
        ttl: Option<Duration>,
        lease: Option<Arc<ConnectionLease>>,
    ) -> Self {
        let now = Instant::now();
        Self {
            session: session.clone(),
            made: now,
            expires: expiry(now, now, ttl),
            watchers: usize::from(task.is_translated()),
            task,
            _lease: lease,
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watchers > 0
    }

    fn result_bytes(&self) -> usize {
        match &self.task {
            HostTask::Completed(task) => task.result.get().len(),
            HostTask::Passed | HostTask::Followed(_) | HostTask::Translated(_) => 0,
        }
    }
}

impl HostTask {
    pub(super) fn is_translated(&self) -> bool {
        matches!(self, Self::Translated(_))
    }
}

impl TaskStore {
    pub(super) fn add(&self, key: TaskKey, task: TaskEntry) {
        let gone = self.table.lock().add(key, task);
        // Dropping leases may close connections, so it happens outside the lock.
        drop(gone);
        self.added.notify_waiters();
    }

    pub(super) fn find(&self, key: &TaskKey) -> Option<HostTask> {
        self.table.lock().get(key, Instant::now()).map(|entry| entry.task.clone())
    }

    pub(super) fn renew(&self, key: &TaskKey, seen: &TaskState) {
        let now = Instant::now();
        if let Some(entry) = self.table.lock().get(key, now) {
            entry.expires = expiry(entry.made, now, seen.ttl);
        }
    }

    pub(super) fn remove(&self, key: &TaskKey) {
        let gone = self.table.lock().0.shift_remove(key);
        drop(gone);
    }

    pub(super) fn list_for(
        &self,
        owner: &Principal,
        capability: &CapabilityId,
    ) -> Vec<(TaskKey, HostTask)> {
        let table = self.table.lock();
        let own =
            table.alive().filter(|(key, _)| (&key.owner, &key.capability) == (owner, capability));
        own.map(|(key, entry)| (key.clone(), entry.task.clone())).collect()
    }

    pub(super) fn watch(&self, key: &TaskKey) -> bool {
        let mut table = self.table.lock();
        let Some(entry) = table.get(key, Instant::now()) else { return false };
        entry.watchers += 1;
        true
    }

    pub(super) fn unwatch(&self, key: &TaskKey) {
        if let Some(entry) = self.table.lock().get(key, Instant::now()) {
            entry.watchers = entry.watchers.saturating_sub(1);
        }
    }

    pub(super) fn watched(&self, capability: &CapabilityId) -> Vec<String> {
        let table = self.table.lock();
        let watched = table.alive().filter(|(key, entry)| {
            key.capability == *capability
                && entry.is_watched()
                && matches!(entry.task, HostTask::Passed | HostTask::Translated(_))
        });
        watched.map(|(key, _)| key.id.clone()).collect()
    }

    /// The task of a server's id, on the connection of this session where it has its own.
    pub(super) fn of_server(
        &self,
        capability: &CapabilityId,
        session: Option<&Arc<str>>,
        id: &str,
    ) -> Option<(TaskKey, TaskEntry)> {
        let table = self.table.lock();
        let is_it = |key: &TaskKey, entry: &TaskEntry| {
            let same = match &entry.task {
                HostTask::Followed(followed) => followed.server_id == id,
                HostTask::Passed | HostTask::Translated(_) => key.id == id,
                HostTask::Completed(_) => false,
            };
            same && key.capability == *capability
                && session.is_none_or(|session| entry.session == *session)
        };
        let (key, entry) = table.alive().find(|(key, entry)| is_it(key, entry))?;
        Some((key.clone(), entry.clone()))
    }

    /// As [`TaskStore::of_server`]; waits a moment for a task that a server mentions before its client
    /// got it.
    pub(super) async fn wait_for(
        &self,
        capability: &CapabilityId,
        session: &Arc<str>,
        id: &str,
        timeout: Duration,
    ) -> Option<(TaskKey, TaskEntry)> {
        let waiting = async {
            loop {
                let added = self.added.notified();
                tokio::pin!(added);
                added.as_mut().enable();
                if let Some(found) = self.of_server(capability, Some(session), id) {
                    return found;
                }
                added.await;
            }
        };
        tokio::time::timeout(timeout, waiting).await.ok()
    }

    /// When the last task expires that needs this session's own connections after its end.
    pub(crate) fn needed_until(&self, session: &Arc<str>) -> Option<Instant> {
        let table = self.table.lock();
        let followed = table.alive().filter(|(_, entry)| {
            entry.session == *session && matches!(&entry.task, HostTask::Followed(_))
        });
        followed.map(|(_, entry)| entry.expires).max()
    }
}

impl TaskEntries {
    fn add(&mut self, key: TaskKey, entry: TaskEntry) -> Vec<TaskEntry> {
        let (owner, now) = (key.owner.clone(), entry.made);
        let mut gone: Vec<TaskEntry> = self.0.insert(key, entry).into_iter().collect();
        let expired: Vec<TaskKey> = self.keys(|_, entry| entry.expires <= now);
        gone.extend(expired.iter().filter_map(|key| self.0.shift_remove(key)));
        let own = self.keys(|key, _| key.owner == owner);
        let too_many = own.len().saturating_sub(MAX_TASKS_PER_PRINCIPAL);
        gone.extend(own.iter().take(too_many).filter_map(|key| self.0.shift_remove(key)));
        while self.0.len() > MAX_TASKS {
            gone.extend(self.0.shift_remove_index(0).map(|(_, entry)| entry));
        }
        let mut bytes: usize = self.0.values().map(TaskEntry::result_bytes).sum();
        for key in self.keys(|_, entry| entry.result_bytes() > 0) {
            if bytes <= MAX_RESULT_BYTES {
                break;
            }
            if let Some(entry) = self.0.shift_remove(&key) {
                bytes -= entry.result_bytes();
                gone.push(entry);
            }
        }
        gone
    }

    fn alive(&self) -> impl Iterator<Item = (&TaskKey, &TaskEntry)> {
        let now = Instant::now();
        self.0.iter().filter(move |(_, entry)| entry.expires > now)
    }

    fn get(&mut self, key: &TaskKey, now: Instant) -> Option<&mut TaskEntry> {
        self.0.get_mut(key).filter(|entry| entry.expires > now)
    }

    fn keys(&self, is_meant: impl Fn(&TaskKey, &TaskEntry) -> bool) -> Vec<TaskKey> {
        let found = self.0.iter().filter(|(key, entry)| is_meant(key, entry));
        found.map(|(key, _)| key.clone()).collect()
    }
}

fn expiry(made: Instant, now: Instant, ttl: Option<Duration>) -> Instant {
    match ttl {
        Some(ttl) => made + ttl.min(MAX_TASK_TTL),
        None => now + DEFAULT_TASK_TTL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(owner: &str, id: usize) -> TaskKey {
        let capability = CapabilityId::new("fake").unwrap();
        TaskKey { owner: Principal::named(owner), capability, id: id.to_string() }
    }

    fn task(made: Instant, ttl: Option<Duration>) -> TaskEntry {
        let task = TaskEntry::new(&"s".into(), HostTask::Passed, ttl, None);
        TaskEntry { made, expires: expiry(made, made, ttl), ..task }
    }

    #[test]
    fn a_task_belongs_to_one_principal_and_capability() {
        let tasks = TaskStore::default();
        tasks.add(key("ada", 1), task(Instant::now(), None));
        assert!(tasks.find(&key("ada", 1)).is_some());
        assert!(tasks.find(&key("eve", 1)).is_none());
        let other = CapabilityId::new("other").unwrap();
        assert!(tasks.find(&TaskKey { capability: other, ..key("ada", 1) }).is_none());
        let fake = CapabilityId::new("fake").unwrap();
        assert_eq!(tasks.list_for(&Principal::named("ada"), &fake).len(), 1);
        assert!(tasks.list_for(&Principal::named("eve"), &fake).is_empty());
    }

    #[test]
    fn one_principal_fills_only_its_share() {
        let (mut table, now) = (TaskEntries::default(), Instant::now());
        table.add(key("eve", 0), task(now, None));
        for number in 0..=MAX_TASKS_PER_PRINCIPAL {
            table.add(key("ada", number), task(now, None));
        }
        assert!(table.get(&key("ada", 0), now).is_none(), "its oldest made room");
        assert!(table.get(&key("ada", 1), now).is_some());
        assert!(table.get(&key("eve", 0), now).is_some(), "others are not affected");
        for owner in 0..MAX_TASKS {
            table.add(key(&format!("p{owner}"), 0), task(now, None));
        }
        assert_eq!(table.0.len(), MAX_TASKS);
        assert!(table.get(&key("eve", 0), now).is_none());
    }

    #[test]
    fn a_task_expires_with_its_ttl_and_one_without_when_nobody_looks() {
        let (mut table, now) = (TaskEntries::default(), Instant::now());
        table.add(key("ada", 1), task(now, Some(Duration::from_secs(5))));
        table.add(key("ada", 2), task(now, None));
        table.add(key("ada", 3), task(now, Some(Duration::MAX)));
        let alive = |table: &mut TaskEntries, id, after: Duration| {
            table.get(&key("ada", id), now + after).is_some()
        };
        assert!(alive(&mut table, 1, Duration::from_millis(4999)));
        assert!(!alive(&mut table, 1, Duration::from_secs(5)));
        assert!(alive(&mut table, 2, DEFAULT_TASK_TTL - Duration::from_secs(1)));
        assert!(!alive(&mut table, 2, DEFAULT_TASK_TTL));
        assert!(!alive(&mut table, 3, MAX_TASK_TTL));
        table.add(key("eve", 1), task(now + Duration::from_secs(6), None));
        assert!(!table.0.contains_key(&key("ada", 1)), "what expired does not stay");
    }
}
