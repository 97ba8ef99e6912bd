//! The clock and random numbers of a script: those of the system, or repeatable ones.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::run::{DeterminismSettings, TimerPace};

pub(super) struct ScriptClock {
    started: Instant,
    /// Milliseconds that had passed when the run was resumed.
    before_ms: f64,
    fixed: Option<FixedTime>,
}

struct FixedTime {
    start_ms: f64,
    passed_ms: f64,
    pace: TimerPace,
}

impl ScriptClock {
    pub(super) fn new(determinism: Option<DeterminismSettings>, before_ms: f64) -> Self {
        let fixed = determinism.map(|given| FixedTime {
            #[expect(clippy::cast_precision_loss, reason = "dates in JavaScript are doubles")]
            start_ms: given.now_ms as f64,
            passed_ms: 0.0,
            pace: given.timers,
        });
        Self { started: Instant::now(), before_ms, fixed }
    }

    pub(super) fn now_ms(&self) -> f64 {
        match &self.fixed {
            Some(fixed) => fixed.start_ms + fixed.passed_ms,
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |since| (since.as_secs_f64() * 1000.0).floor()),
        }
    }

    /// Milliseconds since the start of the run.
    pub(super) fn monotonic_ms(&self) -> f64 {
        match &self.fixed {
            Some(fixed) => fixed.passed_ms,
            None => self.started.elapsed().as_secs_f64() * 1000.0,
        }
    }

    pub(super) fn skips(&self) -> bool {
        matches!(&self.fixed, Some(FixedTime { pace: TimerPace::Skip, .. }))
    }

    /// Returns the time of a repeatable clock for a response that no earlier run had. A clock that does not wait does
    /// not advance.
    pub(super) fn answer_ms(&self) -> Option<f64> {
        let fixed = self.fixed.as_ref()?;
        let waits = fixed.pace == TimerPace::Wait;
        waits.then(|| self.before_ms + self.started.elapsed().as_secs_f64() * 1000.0)
    }

    pub(super) fn is_repeatable(&self) -> bool {
        self.fixed.is_some()
    }

    /// A repeatable clock advances when a timer fires or a response arrives.
    pub(super) fn advance_to(&mut self, monotonic_ms: f64) {
        if let Some(fixed) = &mut self.fixed {
            fixed.passed_ms = fixed.passed_ms.max(monotonic_ms);
        }
    }
}

/// A small generator, identical on every platform.
pub(super) struct RandomGenerator {
    state: u64,
    fixed: bool,
}

impl RandomGenerator {
    pub(super) fn new(determinism: Option<DeterminismSettings>) -> Self {
        let mut seed = [0; 8];
        let state = match determinism {
            Some(given) => given.seed,
            // Without entropy the time is used; nothing secret depends on `Math.random`.
            None => match getrandom::fill(&mut seed) {
                Ok(()) => u64::from_le_bytes(seed),
                Err(_) => UNIX_EPOCH.elapsed().map_or(1, |since| u64::from(since.subsec_nanos())),
            },
        };
        Self { state, fixed: determinism.is_some() }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    pub(super) fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Random bytes: from the system, or repeatable ones in a repeatable run.
    pub(super) fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        if self.fixed {
            for chunk in bytes.chunks_mut(8) {
                let random = self.next().to_le_bytes();
                chunk.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
            }
            return Some(bytes);
        }
        getrandom::fill(&mut bytes).ok().map(|()| bytes)
    }
}
