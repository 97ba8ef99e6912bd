//! Sessions of people at terminals, kept for their next command.
//!
//! Somebody who can be asked has connections of their own to servers that ask only in the middle of a call. Starting such a
//! server for every command would cost more than the command, and two commands at once must not share one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_host::{Host, Session};
use parking_lot::Mutex;

use super::person_at_terminal;

/// More people than this at once start their servers anew.
const KEPT: usize = 4;

/// Whoever typed nothing for this long has left.
const IDLE: Duration = Duration::from_secs(300);

/// The sessions that nobody uses right now.
#[derive(Default)]
pub(super) struct People(Mutex<Vec<(Instant, Arc<Session>)>>);

impl People {
    /// A session for one command.
    pub(super) fn enter(&self, host: &Host) -> Arc<Session> {
        let waiting = self.0.lock().pop();
        waiting.map_or_else(|| host.operator_as(person_at_terminal()), |(_, session)| session)
    }

    /// The command is done.
    pub(super) async fn leave(&self, session: Arc<Session>) {
        let too_many = {
            let mut waiting = self.0.lock();
            waiting.push((Instant::now(), session));
            if waiting.len() > KEPT { Some(waiting.remove(0)) } else { None }
        };
        if let Some((_, session)) = too_many {
            session.close().await;
        }
    }

    /// Ends what was not used for long.
    pub(super) async fn tidy(&self) {
        let old: Vec<_> =
            self.0.lock().extract_if(.., |(since, _)| since.elapsed() >= IDLE).collect();
        for (_, session) in old {
            session.close().await;
        }
    }

    /// Ends all.
    pub(super) async fn close(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        for (_, session) in all {
            session.close().await;
        }
    }
}
