//! Limits of one run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of one run. Exceeding one fails with an error that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    pub heap_bytes: usize,
    pub stack_bytes: usize,
    /// CPU time. Waiting for calls and timers does not count.
    pub cpu: Duration,
    pub code_bytes: usize,
    pub calls: u32,
    /// Concurrent calls; further ones are queued.
    pub concurrent_calls: u32,
    /// JSON text of a returned value, and of the arguments of a call.
    pub value_bytes: usize,
    /// JSON text of one response; a longer one becomes a failure.
    pub answer_bytes: usize,
    /// All log text of a run; more is counted and dropped.
    pub log_bytes: usize,
    /// Concurrent timers.
    pub timers: u32,
}

impl Default for SandboxLimits {
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
