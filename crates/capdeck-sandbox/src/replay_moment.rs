//! The times of a script's responses by its timers and clock, to repeat them at the same moments.

use serde::{Deserialize, Serialize};

/// The moment at which a repeatable run took a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayMoment {
    /// The number of timers that fired before.
    pub timers: u32,
    /// Milliseconds of the script's clock since the start of the run.
    pub clock_ms: f64,
}

/// An earlier run that this one repeats, up to its last response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlierRun {
    /// The moments of the responses, in order.
    pub moments: Vec<ReplayMoment>,
    /// Milliseconds since the start of the earlier run; the clock continues from there after the last moment.
    pub elapsed_ms: f64,
}
