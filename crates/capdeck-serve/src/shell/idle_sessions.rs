//! Sessions of people at terminals, cached for their next command.
//!
//! A client that can be asked has its own connections to servers that elicit during a call. Starting such a server for every
//! command would be slow, and concurrent commands must not share one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_host::{Host, Session};
use parking_lot::Mutex;

use super::person_at_terminal;

/// Further concurrent sessions are not cached.
const MAX_IDLE_SESSIONS: usize = 4;

const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Default)]
pub(super) struct IdleSessions(Mutex<Vec<(Instant, Arc<Session>)>>);

impl IdleSessions {
    pub(super) fn take_session(&self, host: &Host) -> Arc<Session> {
        let waiting = self.0.lock().pop();
        waiting.map_or_else(|| host.operator_as(person_at_terminal()), |(_, session)| session)
    }

    pub(super) async fn return_session(&self, session: Arc<Session>) {
        let too_many = {
            let mut waiting = self.0.lock();
            waiting.push((Instant::now(), session));
            if waiting.len() > MAX_IDLE_SESSIONS { Some(waiting.remove(0)) } else { None }
        };
        if let Some((_, session)) = too_many {
            session.close().await;
        }
    }

    pub(super) async fn close_idle(&self) {
        let old: Vec<_> =
            self.0.lock().extract_if(.., |(since, _)| since.elapsed() >= IDLE_TIMEOUT).collect();
        for (_, session) in old {
            session.close().await;
        }
    }

    pub(super) async fn close(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        for (_, session) in all {
            session.close().await;
        }
    }
}
