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
use crate::{Principal, pool::ConnectionLease};

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
    pub(super) telling: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TaskKey {
    pub(super) owner: Principal,
    pub(super) capability: CapabilityId,
    pub(super) id: String,
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

pub(super) struct NewTask {
    pub(super) key: TaskKey,
    pub(super) session: Arc<str>,
    pub(super) ttl: Option<Duration>,
    pub(super) task: HostTask,
    /// Prevents an idle connection from being closed while the server works.
    pub(super) lease: Option<Arc<ConnectionLease>>,
    pub(super) is_watched: bool,
}

pub(crate) struct FoundTask {
    pub(crate) key: TaskKey,
    pub(crate) session: Arc<str>,
    pub(super) task: HostTask,
    pub(super) is_watched: bool,
}

#[derive(Default)]
struct TaskEntries(IndexMap<TaskKey, TaskEntry>);

struct TaskEntry {
    session: Arc<str>,
    made: Instant,
    expires: Instant,
    task: HostTask,
    watchers: usize,
    _lease: Option<Arc<ConnectionLease>>,
}

impl TaskStore {
    pub(super) fn add(&self, task: NewTask) {
        let gone = self.table.lock().add(task, Instant::now());
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

    pub(super) fn of(
        &self,
        owner: &Principal,
        capability: &CapabilityId,
    ) -> Vec<(TaskKey, HostTask)> {
        let now = Instant::now();
        let table = self.table.lock();
        let alive = table.0.iter().filter(|(key, entry)| {
            key.owner == *owner && key.capability == *capability && entry.expires > now
        });
        alive.map(|(key, entry)| (key.clone(), entry.task.clone())).collect()
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
        let now = Instant::now();
        let table = self.table.lock();
        let watched = table.0.iter().filter(|(key, entry)| {
            key.capability == *capability
                && entry.watchers > 0
                && entry.expires > now
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
    ) -> Option<FoundTask> {
        let now = Instant::now();
        let table = self.table.lock();
        let is_it = |key: &TaskKey, entry: &TaskEntry| {
            let same = match &entry.task {
                HostTask::Followed(followed) => followed.is_called(id),
                HostTask::Passed | HostTask::Translated(_) => key.id == id,
                HostTask::Completed(_) => false,
            };
            same && key.capability == *capability
                && entry.expires > now
                && session.is_none_or(|session| entry.session == *session)
        };
        let (key, entry) = table.0.iter().find(|(key, entry)| is_it(key, entry))?;
        Some(FoundTask {
            key: key.clone(),
            session: entry.session.clone(),
            task: entry.task.clone(),
            is_watched: entry.watchers > 0,
        })
    }

    /// As [`TaskStore::of_server`]; waits a moment for a task that a server mentions before its client
    /// got it.
    pub(super) async fn wait_for(
        &self,
        capability: &CapabilityId,
        session: &Arc<str>,
        id: &str,
        patience: Duration,
    ) -> Option<FoundTask> {
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
        tokio::time::timeout(patience, waiting).await.ok()
    }

    /// When the last task expires that needs this session's own connections after its end.
    pub(crate) fn needed_until(&self, session: &Arc<str>) -> Option<Instant> {
        let now = Instant::now();
        let table = self.table.lock();
        let followed = table.0.values().filter(|entry| {
            entry.session == *session
                && entry.expires > now
                && matches!(&entry.task, HostTask::Followed(_))
        });
        followed.map(|entry| entry.expires).max()
    }
}

impl TaskEntries {
    fn add(&mut self, new: NewTask, now: Instant) -> Vec<TaskEntry> {
        let NewTask { key, session, ttl, task, lease, is_watched } = new;
        let owner = key.owner.clone();
        let entry = TaskEntry {
            session,
            made: now,
            expires: expiry(now, now, ttl),
            task,
            watchers: usize::from(is_watched),
            _lease: lease,
        };
        let mut gone: Vec<TaskEntry> = self.0.insert(key, entry).into_iter().collect();
        let expired: Vec<TaskKey> = self.keys(|_, entry| entry.expires <= now);
        gone.extend(expired.iter().filter_map(|key| self.0.shift_remove(key)));
        let own = self.keys(|key, _| key.owner == owner);
        let too_many = own.len().saturating_sub(MAX_TASKS_PER_PRINCIPAL);
        gone.extend(own.iter().take(too_many).filter_map(|key| self.0.shift_remove(key)));
        while self.0.len() > MAX_TASKS {
            gone.extend(self.0.shift_remove_index(0).map(|(_, entry)| entry));
        }
        let mut bytes: usize = self.0.values().map(TaskEntry::kept_bytes).sum();
        for key in self.keys(|_, entry| entry.kept_bytes() > 0) {
            if bytes <= MAX_RESULT_BYTES {
                break;
            }
            if let Some(entry) = self.0.shift_remove(&key) {
                bytes -= entry.kept_bytes();
                gone.push(entry);
            }
        }
        gone
    }

    fn get(&mut self, key: &TaskKey, now: Instant) -> Option<&mut TaskEntry> {
        self.0.get_mut(key).filter(|entry| entry.expires > now)
    }

    fn keys(&self, wanted: impl Fn(&TaskKey, &TaskEntry) -> bool) -> Vec<TaskKey> {
        let found = self.0.iter().filter(|(key, entry)| wanted(key, entry));
        found.map(|(key, _)| key.clone()).collect()
    }
}

impl TaskEntry {
    fn kept_bytes(&self) -> usize {
        match &self.task {
            HostTask::Completed(kept) => kept.bytes(),
            HostTask::Passed | HostTask::Followed(_) | HostTask::Translated(_) => 0,
        }
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

    fn new(key: TaskKey, ttl: Option<Duration>) -> NewTask {
        let (session, task) = ("s".into(), HostTask::Passed);
        NewTask { key, session, ttl, task, lease: None, is_watched: false }
    }

    #[test]
    fn a_task_belongs_to_one_principal_and_capability() {
        let tasks = TaskStore::default();
        tasks.add(new(key("ada", 1), None));
        assert!(tasks.find(&key("ada", 1)).is_some());
        assert!(tasks.find(&key("eve", 1)).is_none());
        let other = CapabilityId::new("other").unwrap();
        assert!(tasks.find(&TaskKey { capability: other, ..key("ada", 1) }).is_none());
        let fake = CapabilityId::new("fake").unwrap();
        assert_eq!(tasks.of(&Principal::named("ada"), &fake).len(), 1);
        assert!(tasks.of(&Principal::named("eve"), &fake).is_empty());
    }

    #[test]
    fn one_principal_fills_only_its_share() {
        let (mut table, now) = (TaskEntries::default(), Instant::now());
        table.add(new(key("eve", 0), None), now);
        for number in 0..=MAX_TASKS_PER_PRINCIPAL {
            table.add(new(key("ada", number), None), now);
        }
        assert!(table.get(&key("ada", 0), now).is_none(), "its oldest made room");
        assert!(table.get(&key("ada", 1), now).is_some());
        assert!(table.get(&key("eve", 0), now).is_some(), "others are not affected");
        for owner in 0..MAX_TASKS {
            table.add(new(key(&format!("p{owner}"), 0), None), now);
        }
        assert_eq!(table.0.len(), MAX_TASKS);
        assert!(table.get(&key("eve", 0), now).is_none());
    }

    #[test]
    fn a_task_expires_with_its_ttl_and_one_without_when_nobody_looks() {
        let (mut table, now) = (TaskEntries::default(), Instant::now());
        table.add(new(key("ada", 1), Some(Duration::from_secs(5))), now);
        table.add(new(key("ada", 2), None), now);
        table.add(new(key("ada", 3), Some(Duration::MAX)), now);
        let alive = |table: &mut TaskEntries, id, after: Duration| {
            table.get(&key("ada", id), now + after).is_some()
        };
        assert!(alive(&mut table, 1, Duration::from_millis(4999)));
        assert!(!alive(&mut table, 1, Duration::from_secs(5)));
        assert!(alive(&mut table, 2, DEFAULT_TASK_TTL - Duration::from_secs(1)));
        assert!(!alive(&mut table, 2, DEFAULT_TASK_TTL));
        assert!(!alive(&mut table, 3, MAX_TASK_TTL));
        table.add(new(key("eve", 1), None), now + Duration::from_secs(6));
        assert!(!table.0.contains_key(&key("ada", 1)), "what expired does not stay");
    }
}
