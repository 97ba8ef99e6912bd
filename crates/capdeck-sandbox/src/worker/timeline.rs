//! The order of timers and responses in a repeatable run: recorded, or followed when given.

use std::collections::VecDeque;

use crate::{
    moment::{Moment, Repeat},
    protocol::Passed,
};

#[derive(Default)]
pub(super) struct Timeline {
    fired: u32,
    expected: VecDeque<Moment>,
    /// Moments that were not reported to the host.
    unsent: Vec<Moment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The first of both.
    Either,
    /// A timer fired before the next response.
    Timer,
    /// The next response came before any timer.
    Answer,
}

impl Timeline {
    pub(super) fn new(repeat: Option<&Repeat>) -> Self {
        let expected = repeat.map(|repeat| repeat.moments.iter().copied().collect());
        Self { expected: expected.unwrap_or_default(), ..Self::default() }
    }

    pub(super) fn next(&self) -> Next {
        match self.expected.front() {
            None => Next::Either,
            Some(moment) if self.fired < moment.timers => Next::Timer,
            Some(_) => Next::Answer,
        }
    }

    pub(super) fn fire(&mut self) {
        self.fired = self.fired.saturating_add(1);
    }

    /// Returns the recorded clock of the current response, if it was taken before.
    pub(super) fn expected_clock(&mut self) -> Option<f64> {
        self.expected.pop_front().map(|moment| moment.clock_ms)
    }

    pub(super) fn note(&mut self, clock_ms: f64) {
        self.unsent.push(Moment { timers: self.fired, clock_ms });
    }

    pub(super) fn so_far(&mut self) -> Passed {
        Passed { taken: std::mem::take(&mut self.unsent), timers: self.fired }
    }
}
