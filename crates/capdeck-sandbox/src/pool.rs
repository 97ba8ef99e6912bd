//! Runs cells in worker processes: one process per session that holds something, forked from one that is ready.
//!
//! A process serves only one session, so a script that breaks its worker breaks only its own session, and an
//! unresponsive worker can be killed at any time. Dropping the future of a run cancels it: its calls are dropped, its
//! worker is killed, its session is closed.

#[cfg(target_os = "linux")]
mod fork_server;
mod preflight;
mod run_conversation;
mod sessions;
mod type_checker;
mod worker_process;
mod worker_source;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::{
    run_conversation::{RunConversation, RunResult, RunServices},
    sessions::{SessionLookupError, SessionPool},
    type_checker::TypeChecker,
    worker_process::{WorkerProcess, WorkerStartError},
    worker_source::WorkerSource,
};
use crate::{
    envelope::{
        CodeDiagnostic, CodeSeverity, RunEnvelope, RunError, RunErrorCode, RunLogs, RunMetadata,
        RunReport, SessionStatus,
    },
    host_interface::{CallHandler, CapabilityDirectory},
    protocol::WorkerIsolation,
    run::{CellRun, SessionChoice, SessionId},
    settings::SandboxSettings,
};

const RESTOCK_DELAY: Duration = Duration::from_millis(5);

/// Worker processes and their sessions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SandboxPool(Arc<SandboxPoolInner>);

#[derive(Debug)]
struct SandboxPoolInner {
    settings: SandboxSettings,
    room: Arc<Semaphore>,
    workers: WorkerSource,
    checker: TypeChecker,
    state: Mutex<SandboxPoolState>,
}

#[derive(Debug)]
struct SandboxPoolState {
    spares: Vec<PooledWorker>,
    starting: usize,
    sessions: SessionPool<PooledWorker>,
    sweeping: bool,
    /// Runs that wait for a process; while there are some, idle sessions are ended.
    waiting: usize,
}

#[derive(Debug)]
struct PooledWorker {
    process: WorkerProcess,
    /// Memory of its own after the last run.
    bytes: u64,
    _room: OwnedSemaphorePermit,
}

/// A worker used by a run. Dropping it before the end of the run ends its session.
struct WorkerLease {
    pool: SandboxPool,
    id: SessionId,
    owner: String,
    status: SessionStatus,
    /// `None` before a session without state has a new one.
    worker: Option<PooledWorker>,
    is_over: bool,
}

impl SandboxPool {
    /// Creates a pool; no process starts before the first run or [`Self::warm`].
    pub fn new(settings: SandboxSettings) -> Self {
        let room = Arc::new(Semaphore::new(settings.max_workers));
        let sessions = SessionPool::new(settings.session_ttl);
        let state = SandboxPoolState {
            spares: Vec::new(),
            starting: 0,
            sessions,
            sweeping: false,
            waiting: 0,
        };
        let checker = TypeChecker::new(&settings);
        let workers = WorkerSource::new(settings.worker.clone());
        let state = Mutex::new(state);
        Self(Arc::new(SandboxPoolInner { settings, room, workers, checker, state }))
    }

    /// Makes the first run as fast as later ones. Returns the isolation of a worker.
    pub async fn warm(&self) -> Result<WorkerIsolation, RunError> {
        let room = self.room(Duration::from_secs(10)).await?;
        let mut worker = self.start(room).await.map_err(|error| unavailable(&error))?;
        let isolation = worker.process.ready().await.map_err(|error| unavailable(&error))?;
        self.keep_spare(worker);
        self.restock();
        Ok(isolation)
    }

    /// Starts the type checker ahead of the first check and returns its isolation.
    pub async fn warm_checker(&self) -> Result<WorkerIsolation, RunError> {
        self.0.checker.warm().await.map_err(|error| {
            tracing::warn!(%error, "the type checker did not start");
            RunError::new(RunErrorCode::Unavailable, error.to_string())
        })
    }

    /// Returns the process id of the idle type checker, for measurements.
    pub fn checker_process(&self) -> Option<u32> {
        self.0.checker.process()
    }

    /// Ends every idle session of an owner, such as a disconnected client.
    pub fn close_sessions_of(&self, owner: &str) {
        drop(self.0.state.lock().sessions.take_all_of(owner));
    }

    /// Ends every session and every idle process for good. A running cell ends with its run.
    pub fn close(&self) {
        self.0.room.close();
        let mut state = self.0.state.lock();
        let ended = (std::mem::take(&mut state.spares), state.sessions.take_all());
        drop(state);
        drop(ended);
        self.0.workers.close();
        self.0.checker.close();
    }

    pub fn session_count(&self) -> usize {
        self.0.state.lock().sessions.len()
    }

    /// Returns the process id of an idle session, for measurements.
    pub fn session_process(&self, id: &SessionId) -> Option<u32> {
        self.0.state.lock().sessions.idle(id).and_then(|worker| worker.process.id())
    }

    /// Runs one cell. Every failure is in the envelope.
    pub async fn run(
        &self,
        run: CellRun,
        directory: &dyn CapabilityDirectory,
        calls: &dyn CallHandler,
    ) -> RunReport {
        let started = Instant::now();
        let settings = &self.0.settings;
        let timeout = run.timeout.unwrap_or(settings.default_timeout);
        let mut meta = new_meta(timeout, settings.max_timeout);
        if let Some((error, diagnostics)) = refused(&run, timeout, settings.max_timeout) {
            meta.duration_ms = milliseconds(started.elapsed());
            return failed(meta, error, diagnostics);
        }
        let mut lease = match self.lease(&run, timeout).await {
            Ok(lease) => lease,
            Err(error) => {
                meta.duration_ms = milliseconds(started.elapsed());
                return failed(meta, error, Vec::new());
            }
        };
        meta.session_id = Some(lease.id.clone());
        meta.session_status = Some(lease.status);
        let Some(worker) = lease.worker.as_mut() else {
            return failed(meta, closed("its worker is gone"), Vec::new());
        };
        let around = RunServices { directory, call_out: calls, checker: &self.0.checker };
        let conversation = RunConversation::new(&run, timeout, settings.grace, around);
        let mut ending = conversation.run_to_end(&mut worker.process).await;
        let once = run.session == SessionChoice::Once;
        if ending.closes.is_some() || once {
            meta.session_status = Some(SessionStatus::Closed);
        }
        lease.give_back(&ending, once);
        meta.cpu_ms = ending.cpu_ms;
        meta.calls = ending.calls.len();
        meta.any_caplet_invoked = ending.calls.iter().any(|call| call.capability.is_some());
        meta.duration_ms = milliseconds(started.elapsed());
        if let Some(reason) = &ending.closes
            && ending.outcome.is_ok()
        {
            let message = format!("the session has ended: {reason}");
            ending.diagnostics.push(CodeDiagnostic::about(
                CodeSeverity::Warning,
                "SESSION_CLOSED",
                message,
            ));
        }
        let logs = RunLogs::from_entries(&ending.logs, ending.logs_dropped);
        let RunResult { outcome, diagnostics, logs: all, calls, moments, .. } = ending;
        let envelope = RunEnvelope { outcome, diagnostics, logs, meta };
        RunReport { envelope, logs: all, calls, moments }
    }

    async fn lease(&self, run: &CellRun, timeout: Duration) -> Result<WorkerLease, RunError> {
        let (id, status, worker) = if let SessionChoice::Earlier(id) = &run.session {
            let found = self.0.state.lock().sessions.take(id, &run.owner, Instant::now());
            (id.clone(), SessionStatus::Reused, found.map_err(missing)?)
        } else {
            let worker = self.new_worker(timeout).await?;
            let id = SessionId::random();
            let most = self.0.settings.max_sessions_per_owner;
            let mut state = self.0.state.lock();
            let evicted = state.sessions.open(id.clone(), &run.owner, most, Instant::now());
            drop(state);
            // Killing processes takes a moment.
            drop(evicted);
            (id, SessionStatus::Created, Some(worker))
        };
        let (pool, owner) = (self.clone(), run.owner.clone());
        let mut lease = WorkerLease { pool, id, owner, status, worker, is_over: false };
        if lease.worker.is_none() {
            lease.worker = Some(self.new_worker(timeout).await?);
        }
        Ok(lease)
    }

    async fn new_worker(&self, timeout: Duration) -> Result<PooledWorker, RunError> {
        let worker = match self.take_spare() {
            Some(spare) => spare,
            None => {
                let room = self.room(timeout).await?;
                self.start(room).await.map_err(|error| unavailable(&error))?
            }
        };
        if !worker.process.ends_without_state() {
            self.restock();
        }
        Ok(worker)
    }

    async fn room(&self, timeout: Duration) -> Result<OwnedSemaphorePermit, RunError> {
        let room = &self.0.room;
        if let Ok(permit) = Arc::clone(room).try_acquire_owned() {
            return Ok(permit);
        }
        let evicted = self.0.state.lock().sessions.evict_oldest();
        drop(evicted);
        let _in_line = WaitingRunGuard::new(self);
        let waiting = tokio::time::timeout(timeout, Arc::clone(room).acquire_owned());
        match waiting.await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(RunError::new(
                RunErrorCode::Unavailable,
                format!("all {} workers are busy", self.0.settings.max_workers),
            )
            .hint("try again when other runs have ended")),
        }
    }

    async fn start(&self, room: OwnedSemaphorePermit) -> Result<PooledWorker, WorkerStartError> {
        let process = self.0.workers.worker().await?;
        Ok(PooledWorker { process, bytes: 0, _room: room })
    }

    /// Returns a spare that is still alive; dead ones are dropped silently.
    fn take_spare(&self) -> Option<PooledWorker> {
        loop {
            let mut spare = self.0.state.lock().spares.pop()?;
            if spare.process.is_alive() {
                return Some(spare);
            }
        }
    }

    fn keep_spare(&self, worker: PooledWorker) {
        let mut state = self.0.state.lock();
        if state.spares.len() < self.0.settings.spare_workers {
            state.spares.push(worker);
        }
    }

    /// Starts workers ahead, in the background and only with a free permit.
    fn restock(&self) {
        let mut state = self.0.state.lock();
        while state.spares.len() + state.starting < self.0.settings.spare_workers {
            let Ok(room) = Arc::clone(&self.0.room).try_acquire_owned() else { return };
            state.starting += 1;
            let pool = self.clone();
            tokio::spawn(async move {
                // The run that took the last spare goes first; it often ends within the delay.
                tokio::time::sleep(RESTOCK_DELAY).await;
                let worker = pool.start(room).await;
                pool.0.state.lock().starting -= 1;
                match worker {
                    Ok(worker) => pool.keep_spare(worker),
                    Err(error) => tracing::warn!(%error, "a spare sandbox worker did not start"),
                }
            });
        }
    }

    /// Ends expired sessions while there are sessions, then stops.
    fn sweep(&self) {
        let mut state = self.0.state.lock();
        if std::mem::replace(&mut state.sweeping, true) {
            return;
        }
        let pool = Arc::downgrade(&self.0);
        let ttl = self.0.settings.session_ttl;
        tokio::spawn(async move {
            loop {
                tokio::time::sleep((ttl / 4).max(Duration::from_millis(10))).await;
                let Some(pool) = pool.upgrade() else { return };
                let mut state = pool.state.lock();
                let expired = state.sessions.take_expired(Instant::now());
                let over = state.sessions.len() == 0;
                state.sweeping = !over;
                drop(state);
                drop(expired);
                if over {
                    return;
                }
            }
        });
    }
}

struct WaitingRunGuard<'a>(&'a SandboxPool);

impl<'a> WaitingRunGuard<'a> {
    fn new(pool: &'a SandboxPool) -> Self {
        pool.0.state.lock().waiting += 1;
        Self(pool)
    }
}

impl Drop for WaitingRunGuard<'_> {
    fn drop(&mut self) {
        self.0.0.state.lock().waiting -= 1;
    }
}

impl WorkerLease {
    /// Ends the lease: the session continues, or is closed for the given reason.
    fn give_back(mut self, ending: &RunResult, once: bool) {
        self.is_over = true;
        let Some(mut worker) = self.worker.take() else { return };
        let ends = ending.closes.is_some() || once;
        let keeps = !ends && (ending.keeps_state || !worker.process.ends_without_state());
        if keeps {
            worker.bytes = worker.process.own_bytes();
        }
        let (kept, done) = if keeps { (Some(worker), None) } else { (None, Some(worker)) };
        let mut state = self.pool.0.state.lock();
        let mut ended = Vec::new();
        match &ending.closes {
            Some(reason) => state.sessions.close(&self.id, &self.owner, reason),
            None if once => state.sessions.forget(&self.id, &self.owner),
            None => {
                ended.extend(state.sessions.give_back(&self.id, &self.owner, kept, Instant::now()));
                if keeps {
                    ended.extend(state.end_for_others(self.pool.0.settings.max_idle_bytes));
                }
            }
        }
        drop(state);
        // Killing processes takes a moment.
        drop((done, ended));
        if !ends {
            self.pool.sweep();
        }
    }
}

impl SandboxPoolState {
    /// Ends idle sessions for runs that wait, and over the memory limit.
    fn end_for_others(&mut self, max_bytes: u64) -> Vec<PooledWorker> {
        let mut ended = Vec::new();
        if self.waiting > 0 {
            ended.extend(self.sessions.evict_oldest());
        }
        while self.sessions.idle_workers().map(|worker| worker.bytes).sum::<u64>() > max_bytes {
            let Some(oldest) = self.sessions.evict_oldest() else { break };
            ended.push(oldest);
        }
        ended
    }
}

impl Drop for WorkerLease {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.pool.0.state.lock();
        match self.worker.take() {
            Some(worker) => {
                state.sessions.close(&self.id, &self.owner, "its last run was cancelled");
                drop(state);
                drop(worker);
            }
            // It has run nothing yet, and stays as it was.
            None => drop(state.sessions.give_back(&self.id, &self.owner, None, Instant::now())),
        }
    }
}

fn new_meta(timeout: Duration, max_timeout: Duration) -> RunMetadata {
    let run_id = uuid::Uuid::now_v7().to_string();
    let whole = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    RunMetadata {
        trace_id: run_id.clone(),
        run_id,
        timeout_ms: whole(timeout),
        max_timeout_ms: whole(max_timeout),
        ..RunMetadata::default()
    }
}

fn refused(
    run: &CellRun,
    timeout: Duration,
    most: Duration,
) -> Option<(RunError, Vec<CodeDiagnostic>)> {
    if run.code.len() > run.limits.code_bytes {
        let message = format!(
            "the code has {} bytes, the limit is {}",
            run.code.len(),
            run.limits.code_bytes
        );
        return Some((RunError::new(RunErrorCode::RequestInvalid, message), Vec::new()));
    }
    if timeout.is_zero() {
        let error = RunError::new(RunErrorCode::RequestInvalid, "the timeout must be above zero");
        return Some((error, Vec::new()));
    }
    if timeout > most {
        let message = format!(
            "the timeout of {} ms is above the limit of {} ms",
            timeout.as_millis(),
            most.as_millis()
        );
        let problem =
            CodeDiagnostic::about(CodeSeverity::Error, "TIMEOUT_POLICY_EXCEEDED", &*message);
        return Some((RunError::new(RunErrorCode::DiagnosticBlocked, message), vec![problem]));
    }
    None
}

fn failed(meta: RunMetadata, error: RunError, diagnostics: Vec<CodeDiagnostic>) -> RunReport {
    let logs = RunLogs::from_entries(&[], 0);
    let envelope = RunEnvelope { outcome: Err(error), diagnostics, logs, meta };
    RunReport { envelope, logs: Vec::new(), calls: Vec::new(), moments: Vec::new() }
}

fn missing(missing: SessionLookupError) -> RunError {
    let again = "leave out `sessionId` to start a new session";
    match missing {
        SessionLookupError::Unknown => {
            RunError::new(RunErrorCode::SessionNotFound, "there is no such session").hint(again)
        }
        SessionLookupError::Gone(reason) => {
            RunError::new(RunErrorCode::SessionNotFound, format!("the session is gone: {reason}"))
                .hint(again)
        }
        SessionLookupError::Closed(reason) => closed(&reason),
        SessionLookupError::Busy => RunError::new(
            RunErrorCode::SessionBusy,
            "the session is running another cell, and runs one at a time",
        )
        .hint("wait for that run, or leave out `sessionId` to run beside it"),
    }
}

fn closed(reason: &str) -> RunError {
    RunError::new(RunErrorCode::SessionClosed, format!("the session has ended: {reason}"))
        .hint("leave out `sessionId` to start a new session")
}

fn unavailable(error: &WorkerStartError) -> RunError {
    tracing::warn!(%error, "a sandbox worker did not start");
    RunError::new(RunErrorCode::Unavailable, "no sandbox worker could be started")
        .hint("the host's log says why")
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
