//! The sessions, their owners, and the reasons of ended ones.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use crate::run::SessionId;

const MAX_ENDED_SESSIONS: usize = 256;

#[derive(Debug)]
pub(super) struct SessionPool<W> {
    ttl: Duration,
    alive: HashMap<SessionId, PooledSession<W>>,
    ended: VecDeque<EndedSession>,
}

#[derive(Debug)]
struct PooledSession<W> {
    owner: String,
    state: SessionState<W>,
    last_used: Instant,
}

#[derive(Debug)]
enum SessionState<W> {
    Running,
    Idle(W),
    /// Its cells have left nothing behind; any new worker continues it.
    Empty,
}

#[derive(Debug)]
struct EndedSession {
    id: SessionId,
    owner: String,
    missing: SessionLookupError,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionLookupError {
    /// Never existed, or has another owner: both look the same.
    Unknown,
    Gone(&'static str),
    Closed(String),
    Busy,
}

const EXPIRED: SessionLookupError = SessionLookupError::Gone("it was not used for too long");
const EVICTED: SessionLookupError = SessionLookupError::Gone("it was replaced by newer ones");

impl<W> SessionPool<W> {
    pub(super) fn new(ttl: Duration) -> Self {
        Self { ttl, alive: HashMap::new(), ended: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.alive.len()
    }

    pub(super) fn idle(&self, id: &SessionId) -> Option<&W> {
        match &self.alive.get(id)?.state {
            SessionState::Idle(worker) => Some(worker),
            SessionState::Running | SessionState::Empty => None,
        }
    }

    /// Takes a session for a run. Returns its worker, or `None` when a new one is needed.
    pub(super) fn take(
        &mut self,
        id: &SessionId,
        owner: &str,
        now: Instant,
    ) -> Result<Option<W>, SessionLookupError> {
        let Some(session) = self.alive.get_mut(id).filter(|session| session.owner == owner) else {
            let ended = self.ended.iter().find(|ended| ended.id == *id && ended.owner == owner);
            return Err(ended.map_or(SessionLookupError::Unknown, |ended| ended.missing.clone()));
        };
        if matches!(session.state, SessionState::Running) {
            return Err(SessionLookupError::Busy);
        }
        if now.duration_since(session.last_used) >= self.ttl {
            drop(self.end(id, EXPIRED));
            return Err(EXPIRED);
        }
        match std::mem::replace(&mut session.state, SessionState::Running) {
            SessionState::Idle(worker) => Ok(Some(worker)),
            SessionState::Running | SessionState::Empty => Ok(None),
        }
    }

    /// Opens a busy session. Returns the workers that were evicted for it.
    pub(super) fn open(
        &mut self,
        id: SessionId,
        owner: &str,
        most_per_owner: usize,
        now: Instant,
    ) -> Vec<W> {
        let mut freed = self.take_expired(now);
        while self.alive.values().filter(|session| session.owner == owner).count() >= most_per_owner
        {
            let is_theirs =
                |session: &PooledSession<W>| session.owner == owner && session.is_idle();
            let Some(oldest) = self.oldest(is_theirs) else { break };
            freed.extend(self.end(&oldest, EVICTED));
        }
        let state = SessionState::Running;
        let session = PooledSession { owner: owner.to_owned(), state, last_used: now };
        self.alive.insert(id, session);
        freed
    }

    /// The run ended and the session continues, with its worker or without one. Returns the worker if the session
    /// ended in between.
    pub(super) fn give_back(
        &mut self,
        id: &SessionId,
        worker: Option<W>,
        now: Instant,
    ) -> Option<W> {
        let Some(session) = self.alive.get_mut(id) else { return worker };
        session.last_used = now;
        session.state = worker.map_or(SessionState::Empty, SessionState::Idle);
        None
    }

    pub(super) fn close(&mut self, id: &SessionId, reason: &str) {
        drop(self.end(id, SessionLookupError::Closed(reason.to_owned())));
    }

    /// The session was for one run only.
    pub(super) fn forget(&mut self, id: &SessionId) {
        self.alive.remove(id);
    }

    pub(super) fn evict_oldest(&mut self) -> Option<W> {
        let oldest = self.oldest(|session| matches!(session.state, SessionState::Idle(_)))?;
        self.end(&oldest, EVICTED)
    }

    pub(super) fn idle_workers(&self) -> impl Iterator<Item = &W> {
        self.alive.keys().filter_map(|id| self.idle(id))
    }

    pub(super) fn take_all_of(&mut self, owner: &str) -> Vec<W> {
        let is_theirs = |session: &PooledSession<W>| session.owner == owner;
        self.end_all(is_theirs, SessionLookupError::Gone("its client disconnected"))
    }

    pub(super) fn take_all(&mut self) -> Vec<W> {
        self.end_all(|_| true, SessionLookupError::Gone("the host is closing"))
    }

    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<W> {
        let ttl = self.ttl;
        self.end_all(|session| now.duration_since(session.last_used) >= ttl, EXPIRED)
    }

    fn end_all(
        &mut self,
        which: impl Fn(&PooledSession<W>) -> bool,
        missing: SessionLookupError,
    ) -> Vec<W> {
        let chosen = self.alive.iter().filter(|(_, session)| session.is_idle() && which(session));
        let ids: Vec<SessionId> = chosen.map(|(id, _)| id.clone()).collect();
        ids.iter().filter_map(|id| self.end(id, missing.clone())).collect()
    }

    fn oldest(&self, which: impl Fn(&PooledSession<W>) -> bool) -> Option<SessionId> {
        let chosen = self.alive.iter().filter(|(_, session)| which(session));
        Some(chosen.min_by_key(|(_, session)| session.last_used)?.0.clone())
    }

    fn end(&mut self, id: &SessionId, missing: SessionLookupError) -> Option<W> {
        let session = self.alive.remove(id)?;
        if self.ended.len() == MAX_ENDED_SESSIONS {
            self.ended.pop_front();
        }
        self.ended.push_back(EndedSession { id: id.clone(), owner: session.owner, missing });
        match session.state {
            SessionState::Idle(worker) => Some(worker),
            SessionState::Running | SessionState::Empty => None,
        }
    }
}

impl<W> PooledSession<W> {
    fn is_idle(&self) -> bool {
        !matches!(self.state, SessionState::Running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn open(
        sessions: &mut SessionPool<u32>,
        name: &str,
        owner: &str,
        worker: u32,
        now: Instant,
    ) -> SessionId {
        let id = SessionId::from(name);
        sessions.open(id.clone(), owner, 2, now);
        assert_eq!(sessions.give_back(&id, Some(worker), now), None);
        id
    }

    #[test]
    fn a_session_is_found_by_its_owner_only_and_runs_one_cell_at_a_time() {
        let (mut sessions, now) = (SessionPool::new(HOUR), Instant::now());
        let id = open(&mut sessions, "a", "me", 1, now);
        assert_eq!(sessions.take(&id, "you", now), Err(SessionLookupError::Unknown));
        assert_eq!(sessions.take(&id, "me", now), Ok(Some(1)));
        assert_eq!(sessions.take(&id, "me", now), Err(SessionLookupError::Busy));
    }

    #[test]
    fn unused_sessions_expire_and_say_so() {
        let (mut sessions, now) = (SessionPool::new(HOUR), Instant::now());
        let id = open(&mut sessions, "a", "me", 1, now);
        assert_eq!(sessions.take_expired(now + HOUR), [1]);
        assert_eq!(sessions.take(&id, "me", now + HOUR), Err(EXPIRED));
        let id = open(&mut sessions, "b", "me", 2, now);
        assert_eq!(sessions.take(&id, "me", now + HOUR), Err(EXPIRED));
    }

    #[test]
    fn the_oldest_of_the_same_owner_makes_room() {
        let (mut sessions, now) = (SessionPool::new(HOUR), Instant::now());
        let first = open(&mut sessions, "a", "me", 1, now);
        open(&mut sessions, "x", "you", 9, now);
        let later = now + Duration::from_secs(1);
        open(&mut sessions, "b", "me", 2, later);
        assert_eq!(sessions.open(SessionId::from("c"), "me", 2, later), [1]);
        assert_eq!(sessions.take(&first, "me", later), Err(EVICTED));
        assert_eq!(sessions.len(), 3);
    }

    #[test]
    fn a_closed_session_tells_why() {
        let (mut sessions, now) = (SessionPool::new(HOUR), Instant::now());
        let id = open(&mut sessions, "a", "me", 1, now);
        sessions.take(&id, "me", now).unwrap();
        sessions.close(&id, "it broke");
        assert_eq!(
            sessions.take(&id, "me", now),
            Err(SessionLookupError::Closed("it broke".to_owned()))
        );
        assert_eq!(sessions.give_back(&id, Some(1), now), Some(1));
    }

    #[test]
    fn a_session_without_a_worker_is_found_again_and_evicted_only_for_its_owner() {
        let (mut sessions, now) = (SessionPool::<u32>::new(HOUR), Instant::now());
        let id = SessionId::from("a");
        sessions.open(id.clone(), "me", 1, now);
        assert_eq!(sessions.give_back(&id, None, now), None);
        assert_eq!(sessions.evict_oldest(), None);
        assert_eq!(sessions.take(&id, "me", now), Ok(None));
        assert_eq!(sessions.take(&id, "me", now), Err(SessionLookupError::Busy));
        sessions.give_back(&id, None, now);
        assert!(sessions.open(SessionId::from("b"), "me", 1, now).is_empty());
        assert_eq!(sessions.take(&id, "me", now), Err(EVICTED));
    }
}
