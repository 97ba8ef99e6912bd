//! How much one run may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The bounds of one run. What goes beyond one ends with an error that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The engine's heap.
    pub heap_bytes: usize,
    /// The engine's stack.
    pub stack_bytes: usize,
    /// Computing time. Waiting for calls and timers does not count.
    pub cpu: Duration,
    /// Source text of a cell.
    pub code_bytes: usize,
    /// Calls in one run.
    pub calls: u32,
    /// Calls under way at the same time; further ones wait in line.
    pub concurrent_calls: u32,
    /// JSON text of a returned value, and of the arguments of a call.
    pub value_bytes: usize,
    /// JSON text of one answer; a longer one reaches the script as a failure that says so.
    pub answer_bytes: usize,
    /// All log text of a run; what comes later is counted and dropped.
    pub log_bytes: usize,
    /// Timers waiting at the same time.
    pub timers: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            heap_bytes: 64 << 20,
            stack_bytes: 1 << 20,
            cpu: Duration::from_secs(10),
            code_bytes: 1 << 20,
            calls: 1_000,
            concurrent_calls: 16,
            value_bytes: 4 << 20,
            answer_bytes: 16 << 20,
            log_bytes: 256 << 10,
            timers: 10_000,
        }
    }
}
