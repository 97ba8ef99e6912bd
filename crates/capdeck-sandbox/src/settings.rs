//! Settings of a worker pool, and limits of one run.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub worker: WorkerCommand,
    /// The maximum number of worker processes, including idle sessions.
    pub max_workers: usize,
    /// Workers that are started ahead where they cannot be forked, so that a new session need not wait.
    pub spare_workers: usize,
    /// The maximum memory of idle sessions; the least recently used is ended.
    pub max_idle_bytes: u64,
    /// The maximum number of sessions per owner; the least recently used is ended.
    pub max_sessions_per_owner: usize,
    pub session_ttl: Duration,
    pub default_timeout: Duration,
    pub max_timeout: Duration,
    /// The time that a worker may exceed its timeout before it is killed.
    pub grace: Duration,
    /// The timeout of one type check, without the start of the checker.
    pub check_timeout: Duration,
    pub checker_ttl: Duration,
}

/// The command of a worker: a program that calls `run_worker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

impl SandboxSettings {
    pub fn new(worker: WorkerCommand) -> Self {
        Self {
            worker,
            max_workers: 64,
            spare_workers: 1,
            max_idle_bytes: 64 << 20,
            max_sessions_per_owner: 32,
            session_ttl: Duration::from_secs(30 * 60),
            default_timeout: Duration::from_secs(10),
            max_timeout: Duration::from_secs(120),
            grace: Duration::from_millis(100),
            check_timeout: Duration::from_secs(10),
            checker_ttl: Duration::from_secs(5 * 60),
        }
    }
}

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
