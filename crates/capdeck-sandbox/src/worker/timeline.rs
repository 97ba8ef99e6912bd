//! The order of timers and responses in a repeatable run: recorded, or followed when given.

use std::collections::VecDeque;

use crate::{
    protocol::ReplayProgress,
    replay_moment::{EarlierRun, ReplayMoment},
};

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
