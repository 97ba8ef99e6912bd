//! Timers of a script, ordered by due time; and the order of timers and responses in a repeatable run.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Instant,
};

use crate::{
    protocol::ReplayProgress,
    run::{EarlierRun, ReplayMoment},
};

/// Waiting timers. A due time is in milliseconds since the start of the run.
#[derive(Debug, Default)]
pub(super) struct ScriptTimers {
    /// By due time in microseconds and order of starting.
    waiting: BTreeMap<(u64, u64), (u32, Instant)>,
    keys: BTreeMap<u32, (u64, u64)>,
    started: u64,
}

impl ScriptTimers {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Starts or restarts a timer: due at this time of the script's clock, and at that instant.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest whole number, and never wraps"
    )]
    pub(super) fn start(&mut self, id: u32, due_ms: f64, moment: Instant) {
        self.stop(id);
        self.started += 1;
        let key = ((due_ms * 1000.0) as u64, self.started);
        self.waiting.insert(key, (id, moment));
        self.keys.insert(id, key);
    }

    pub(super) fn stop(&mut self, id: u32) {
        if let Some(key) = self.keys.remove(&id) {
            self.waiting.remove(&key);
        }
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.keys.clear();
    }

    pub(super) fn next_moment(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(_, (_, moment))| *moment)
    }

    /// Takes the next timer, and its due time by the script's clock.
    #[expect(clippy::cast_precision_loss, reason = "a run lasts minutes")]
    pub(super) fn take(&mut self) -> Option<(u32, f64)> {
        let ((due, _), (id, _)) = self.waiting.pop_first()?;
        self.keys.remove(&id);
        Some((id, due as f64 / 1000.0))
    }
}

/// Recorded, or followed when given.
#[derive(Default)]
pub(super) struct ReplayTimeline {
    fired: u32,
    expected: VecDeque<ReplayMoment>,
    /// Moments that were not reported to the host.
    unsent: Vec<ReplayMoment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextEvent {
    /// The first of both.
    Either,
    /// A timer fired before the next response.
    Timer,
    /// The next response came before any timer.
    Answer,
}

impl ReplayTimeline {
    pub(super) fn new(repeat: Option<&EarlierRun>) -> Self {
        let expected = repeat.map(|repeat| repeat.moments.iter().copied().collect());
        Self { expected: expected.unwrap_or_default(), ..Self::default() }
    }

    pub(super) fn next(&self) -> NextEvent {
        match self.expected.front() {
            None => NextEvent::Either,
            Some(moment) if self.fired < moment.timers => NextEvent::Timer,
            Some(_) => NextEvent::Answer,
        }
    }

    pub(super) fn fire(&mut self) {
        self.fired = self.fired.saturating_add(1);
    }

    /// Returns the recorded clock of the current response, if it was taken before.
    pub(super) fn expected_clock(&mut self) -> Option<f64> {
        self.expected.pop_front().map(|moment| moment.clock_ms)
    }

    pub(super) fn record_moment(&mut self, clock_ms: f64) {
        self.unsent.push(ReplayMoment { timers: self.fired, clock_ms });
    }

    pub(super) fn so_far(&mut self) -> ReplayProgress {
        ReplayProgress { taken: std::mem::take(&mut self.unsent), timers: self.fired }
    }
}
