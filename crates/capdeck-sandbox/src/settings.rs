//! How a pool of workers is set up.

use std::{ffi::OsString, path::PathBuf, time::Duration};

/// What the host decides about code mode as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub worker: WorkerCommand,
    /// Worker processes at most, idle sessions included.
    pub max_workers: usize,
    /// Workers that are started ahead, so that a new session need not wait for one.
    pub spare_workers: usize,
    /// Sessions that one owner may keep; the one used longest ago makes room.
    pub max_sessions_per_owner: usize,
    /// How long an unused session stays.
    pub session_ttl: Duration,
    pub default_timeout: Duration,
    pub max_timeout: Duration,
    /// How long a worker may go on after its time before it is killed.
    pub grace: Duration,
    /// How long one type check may take, the start of the checker not counted.
    pub check_timeout: Duration,
    /// How long an unused type checker stays.
    pub checker_ttl: Duration,
}

/// How to start a worker: a program that calls `run_worker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

impl SandboxSettings {
    /// The usual settings for workers started like this.
    pub fn new(worker: WorkerCommand) -> Self {
        Self {
            worker,
            max_workers: 64,
            spare_workers: 1,
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
