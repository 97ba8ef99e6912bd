//! Settings of a worker pool.

use std::{ffi::OsString, path::PathBuf, time::Duration};

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
