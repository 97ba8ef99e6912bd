//! The open HTTP sessions, within a bound.

use std::{collections::HashMap, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;

use super::{ServerLoad, SessionLimit, http_session::HttpSession};
use crate::RpcError;

#[derive(Default)]
pub(super) struct SessionTable {
    sessions: Mutex<HashMap<String, Arc<HttpSession>>>,
}

impl SessionTable {
    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.sessions.lock().get(id).cloned()
    }

    /// Adds a session; fails when all that could make room are busy. Beyond the cap the one idle longest is returned to be ended; beyond the limit of its
    /// principal, one of the same principal.
    pub(super) fn insert(
        &self,
        session: Arc<HttpSession>,
        cap: usize,
        limit: Option<SessionLimit>,
    ) -> Result<Option<Arc<HttpSession>>, RpcError> {
        let mut sessions = self.sessions.lock();
        let own = || sessions.values().filter(|other| other.principal == session.principal);
        let victim = match limit {
            Some(SessionLimit(most)) if own().count() >= most => {
                Some(idlest(own()).ok_or_else(|| RpcError::too_many_sessions(most))?)
            }
            _ if sessions.len() >= cap => {
                let message = "too many sessions are in use; try again later";
                let full = || RpcError::new(RpcError::REFUSED, message);
                Some(idlest(sessions.values()).ok_or_else(full)?)
            }
            _ => None,
        };
        let evicted = victim.and_then(|id| sessions.remove(&id));
        sessions.insert(session.id.clone(), session);
        Ok(evicted)
    }

    pub(super) fn remove(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.sessions.lock().remove(id)
    }

    pub(super) fn sweep(&self, idle_limit: Duration) -> Vec<Arc<HttpSession>> {
        let mut sessions = self.sessions.lock();
        let stale: Vec<String> = sessions
            .values()
            .filter(|session| session.idle_for().is_some_and(|idle| idle >= idle_limit))
            .map(|session| session.id.clone())
            .collect();
        let removed = stale.iter().filter_map(|id| sessions.remove(id)).collect();
        for session in sessions.values() {
            session.sweep();
        }
        removed
    }

    pub(super) fn resting(&self, rest: Duration) -> Vec<Arc<HttpSession>> {
        let sessions = self.sessions.lock();
        sessions.values().filter(|session| session.is_resting(rest)).cloned().collect()
    }

    pub(super) fn load(&self) -> ServerLoad {
        let sessions = self.sessions.lock();
        let requests = sessions.values().map(|session| session.conversation.requests()).sum();
        let streams = sessions.values().map(|session| session.open_streams()).sum();
        ServerLoad { sessions: sessions.len(), requests, streams, suspended_calls: 0 }
    }

    pub(super) fn drain(&self) -> Vec<Arc<HttpSession>> {
        self.sessions.lock().drain().map(|(_, session)| session).collect()
    }
}

fn idlest<'s>(sessions: impl Iterator<Item = &'s Arc<HttpSession>>) -> Option<String> {
    let idle = sessions.filter_map(|session| Some((session.idle_for()?, &session.id)));
    idle.max().map(|(_, id)| id.clone())
}

pub(super) fn new_session_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
