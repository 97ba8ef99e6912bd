//! Timers of a script, ordered by due time.

use std::{collections::BTreeMap, time::Instant};

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
