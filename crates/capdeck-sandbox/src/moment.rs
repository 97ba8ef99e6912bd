//! When a script took its answers, by its own timers and clock: what it takes to give them again at the same moments.

use serde::{Deserialize, Serialize};

/// The moment at which a repeatable run took an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// Timers that had fired before.
    pub timers: u32,
    /// Milliseconds of the script's clock since the run began.
    pub clock_ms: f64,
}

/// An earlier run that this one repeats, as far as it got.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// When the answers were taken, in the order they came.
    pub moments: Vec<Moment>,
    /// Milliseconds that have passed since the earlier run began; the clock goes on from there once the moments are used up.
    pub elapsed_ms: f64,
}
