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
    /// `None` while it runs a cell.
    idle: Option<W>,
    last_used: Instant,
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
        self.alive.get(id)?.idle.as_ref()
    }

    pub(super) fn take(
        &mut self,
        id: &SessionId,
        owner: &str,
        now: Instant,
    ) -> Result<W, SessionLookupError> {
        let Some(session) = self.alive.get_mut(id).filter(|session| session.owner == owner) else {
            let ended = self.ended.iter().find(|ended| ended.id == *id && ended.owner == owner);
            return Err(ended.map_or(SessionLookupError::Unknown, |ended| ended.missing.clone()));
        };
        let Some(idle) = session.idle.take() else { return Err(SessionLookupError::Busy) };
        let ttl = self.ttl;
        if now.duration_since(session.last_used) >= ttl {
            self.end(id, EXPIRED);
            return Err(EXPIRED);
        }
        Ok(idle)
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
            let Some(evicted) = self.evict(|session| session.owner == owner) else { break };
            freed.push(evicted);
        }
        let session = PooledSession { owner: owner.to_owned(), idle: None, last_used: now };
        self.alive.insert(id, session);
        freed
    }

    /// The run ended and the session continues. Returns the worker if the session ended in between.
    pub(super) fn give_back(&mut self, id: &SessionId, worker: W, now: Instant) -> Option<W> {
        match self.alive.get_mut(id) {
            Some(session) => {
                session.last_used = now;
                session.idle = Some(worker);
                None
            }
            None => Some(worker),
        }
    }

    pub(super) fn close(&mut self, id: &SessionId, reason: &str) {
        drop(self.end(id, SessionLookupError::Closed(reason.to_owned())));
    }

    /// The session was for one run only.
    pub(super) fn forget(&mut self, id: &SessionId) {
        self.alive.remove(id);
    }

    pub(super) fn evict_oldest(&mut self) -> Option<W> {
        self.evict(|_| true)
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
        let chosen =
            self.alive.iter().filter(|(_, session)| session.idle.is_some() && which(session));
        let ids: Vec<SessionId> = chosen.map(|(id, _)| id.clone()).collect();
        ids.iter().filter_map(|id| self.end(id, missing.clone())).collect()
    }

    fn evict(&mut self, which: impl Fn(&PooledSession<W>) -> bool) -> Option<W> {
        let idle =
            self.alive.iter().filter(|(_, session)| session.idle.is_some() && which(session));
        let oldest = idle.min_by_key(|(_, session)| session.last_used)?.0.clone();
        self.end(&oldest, EVICTED)
    }

    fn end(&mut self, id: &SessionId, missing: SessionLookupError) -> Option<W> {
        let session = self.alive.remove(id)?;
        if self.ended.len() == MAX_ENDED_SESSIONS {
            self.ended.pop_front();
        }
        self.ended.push_back(EndedSession { id: id.clone(), owner: session.owner, missing });
        session.idle
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
        assert_eq!(sessions.give_back(&id, worker, now), None);
        id
    }

    #[test]
    fn a_session_is_found_by_its_owner_only_and_runs_one_cell_at_a_time() {
        let (mut sessions, now) = (SessionPool::new(HOUR), Instant::now());
        let id = open(&mut sessions, "a", "me", 1, now);
        assert_eq!(sessions.take(&id, "you", now), Err(SessionLookupError::Unknown));
        assert_eq!(sessions.take(&id, "me", now), Ok(1));
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
        assert_eq!(sessions.give_back(&id, 1, now), Some(1));
    }
}
