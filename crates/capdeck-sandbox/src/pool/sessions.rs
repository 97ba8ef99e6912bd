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
    /// By owner, so that a run looks only at the sessions of its own client.
    alive: HashMap<String, HashMap<SessionId, PooledSession<W>>>,
    ended: VecDeque<EndedSession>,
}

#[derive(Debug)]
struct PooledSession<W> {
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
        self.alive.values().map(HashMap::len).sum()
    }

    pub(super) fn idle(&self, id: &SessionId) -> Option<&W> {
        self.alive.values().find_map(|sessions| sessions.get(id))?.idle_worker()
    }

    /// Takes a session for a run. Returns its worker, or `None` when a new one is needed.
    pub(super) fn take(
        &mut self,
        id: &SessionId,
        owner: &str,
        now: Instant,
    ) -> Result<Option<W>, SessionLookupError> {
        let ttl = self.ttl;
        let Some(session) = self.find(id, owner) else {
            let ended = self.ended.iter().find(|ended| ended.id == *id && ended.owner == owner);
            return Err(ended.map_or(SessionLookupError::Unknown, |ended| ended.missing.clone()));
        };
        if matches!(session.state, SessionState::Running) {
            return Err(SessionLookupError::Busy);
        }
        if now.duration_since(session.last_used) < ttl {
            return match std::mem::replace(&mut session.state, SessionState::Running) {
                SessionState::Idle(worker) => Ok(Some(worker)),
                SessionState::Running | SessionState::Empty => Ok(None),
            };
        }
        drop(self.end(id, owner, EXPIRED));
        Err(EXPIRED)
    }

    /// Opens a busy session. Returns the worker that was evicted for it.
    pub(super) fn open(
        &mut self,
        id: SessionId,
        owner: &str,
        most_per_owner: usize,
        now: Instant,
    ) -> Option<W> {
        let theirs = self.alive.entry(owner.to_owned()).or_default();
        let is_full = theirs.len() >= most_per_owner;
        let oldest =
            is_full.then(|| oldest(theirs.iter(), PooledSession::is_idle).cloned()).flatten();
        theirs.insert(id, PooledSession { state: SessionState::Running, last_used: now });
        self.end(&oldest?, owner, EVICTED)
    }

    /// The run ended and the session continues, with its worker or without one. Returns the worker if the session
    /// ended in between.
    pub(super) fn give_back(
        &mut self,
        id: &SessionId,
        owner: &str,
        worker: Option<W>,
        now: Instant,
    ) -> Option<W> {
        let Some(session) = self.find(id, owner) else { return worker };
        session.last_used = now;
        session.state = worker.map_or(SessionState::Empty, SessionState::Idle);
        None
    }

    pub(super) fn close(&mut self, id: &SessionId, owner: &str, reason: &str) {
        drop(self.end(id, owner, SessionLookupError::Closed(reason.to_owned())));
    }

    /// The session was for one run only.
    pub(super) fn forget(&mut self, id: &SessionId, owner: &str) {
        self.remove(id, owner);
    }

    pub(super) fn evict_oldest(&mut self) -> Option<W> {
        let all = self.alive.iter().flat_map(|(owner, sessions)| {
            sessions.iter().map(move |(id, session)| ((owner, id), session))
        });
        let (owner, id) = oldest(all, |session| session.idle_worker().is_some())?;
        let (owner, id) = (owner.clone(), id.clone());
        self.end(&id, &owner, EVICTED)
    }

    pub(super) fn idle_workers(&self) -> impl Iterator<Item = &W> {
        self.alive.values().flat_map(HashMap::values).filter_map(PooledSession::idle_worker)
    }

    pub(super) fn take_all_of(&mut self, owner: &str) -> Vec<W> {
        let gone = SessionLookupError::Gone("its client disconnected");
        self.end_all(|their_owner, _| their_owner == owner, gone)
    }

    pub(super) fn take_all(&mut self) -> Vec<W> {
        self.end_all(|_, _| true, SessionLookupError::Gone("the host is closing"))
    }

    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<W> {
        let ttl = self.ttl;
        self.end_all(|_, session| now.duration_since(session.last_used) >= ttl, EXPIRED)
    }

    fn end_all(
        &mut self,
        which: impl Fn(&str, &PooledSession<W>) -> bool,
        missing: SessionLookupError,
    ) -> Vec<W> {
        let mut chosen = Vec::new();
        for (owner, sessions) in &self.alive {
            let theirs =
                sessions.iter().filter(|(_, session)| session.is_idle() && which(owner, session));
            chosen.extend(theirs.map(|(id, _)| (id.clone(), owner.clone())));
        }
        chosen.iter().filter_map(|(id, owner)| self.end(id, owner, missing.clone())).collect()
    }

    fn find(&mut self, id: &SessionId, owner: &str) -> Option<&mut PooledSession<W>> {
        self.alive.get_mut(owner)?.get_mut(id)
    }

    fn remove(&mut self, id: &SessionId, owner: &str) -> Option<PooledSession<W>> {
        let theirs = self.alive.get_mut(owner)?;
        let session = theirs.remove(id);
        if theirs.is_empty() {
            self.alive.remove(owner);
        }
        session
    }

    fn end(&mut self, id: &SessionId, owner: &str, missing: SessionLookupError) -> Option<W> {
        let session = self.remove(id, owner)?;
        if self.ended.len() == MAX_ENDED_SESSIONS {
            self.ended.pop_front();
        }
        self.ended.push_back(EndedSession { id: id.clone(), owner: owner.to_owned(), missing });
        match session.state {
            SessionState::Idle(worker) => Some(worker),
            SessionState::Running | SessionState::Empty => None,
        }
    }
}

/// The key of the session that was used longest ago.
fn oldest<'a, K, W: 'a>(
    sessions: impl Iterator<Item = (K, &'a PooledSession<W>)>,
    which: impl Fn(&PooledSession<W>) -> bool,
) -> Option<K> {
    let chosen = sessions.filter(|(_, session)| which(session));
    chosen.min_by_key(|(_, session)| session.last_used).map(|(key, _)| key)
}

impl<W> PooledSession<W> {
    fn is_idle(&self) -> bool {
        !matches!(self.state, SessionState::Running)
    }

    fn idle_worker(&self) -> Option<&W> {
        match &self.state {
            SessionState::Idle(worker) => Some(worker),
            SessionState::Running | SessionState::Empty => None,
        }
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
        assert_eq!(sessions.give_back(&id, owner, Some(worker), now), None);
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
        assert_eq!(sessions.open(SessionId::from("c"), "me", 2, later), Some(1));
        assert_eq!(sessions.take(&first, "me", later), Err(EVICTED));
        assert_eq!(sessions.len(), 3);
    }

    #[test]
    fn a_closed_session_tells_why() {
        let (mut sessions, now) = (SessionPool::new(HOUR), Instant::now());
        let id = open(&mut sessions, "a", "me", 1, now);
        sessions.take(&id, "me", now).unwrap();
        sessions.close(&id, "me", "it broke");
        assert_eq!(
            sessions.take(&id, "me", now),
            Err(SessionLookupError::Closed("it broke".to_owned()))
        );
        assert_eq!(sessions.give_back(&id, "me", Some(1), now), Some(1));
    }

    #[test]
    fn a_session_without_a_worker_is_found_again_and_evicted_only_for_its_owner() {
        let (mut sessions, now) = (SessionPool::<u32>::new(HOUR), Instant::now());
        let id = SessionId::from("a");
        sessions.open(id.clone(), "me", 1, now);
        assert_eq!(sessions.give_back(&id, "me", None, now), None);
        assert_eq!(sessions.evict_oldest(), None);
        assert_eq!(sessions.take(&id, "me", now), Ok(None));
        assert_eq!(sessions.take(&id, "me", now), Err(SessionLookupError::Busy));
        sessions.give_back(&id, "me", None, now);
        assert_eq!(sessions.open(SessionId::from("b"), "me", 1, now), None);
        assert_eq!(sessions.take(&id, "me", now), Err(EVICTED));
    }
}
