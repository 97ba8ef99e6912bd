//! One run as a message exchange with its worker.

use std::{io, time::Duration};

use futures_util::{
    StreamExt,
    future::{BoxFuture, FutureExt},
    stream::FuturesUnordered,
};
use serde_json::value::RawValue;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    preflight,
    type_checker::TypeChecker,
    worker_process::{ProcessDeath, WorkerProcess},
};
use crate::{
    declarations::declarations_for_check,
    envelope::{
        CallOutcome, CallRecord, CodeDiagnostic, CodeSeverity, LogEntry, RunError, RunErrorCode,
    },
    host_interface::{CallFailure, CallHandler, CallRequest, CapabilityDirectory, HandlerResponse},
    protocol::{
        CapabilityUse, CellResult, CheckRequest, HostMessage, ReplayProgress, RunRequest,
        SessionTypes, WireResponse, WorkerMessage,
    },
    run::{CellRun, ReplayMoment, TypeCheck},
};

/// The time for a script whose calls all wait to do something else, such as another call.
const PAUSE_SETTLE_TIME: Duration = Duration::from_millis(20);

/// A running call: its number in the worker, its index in the record, its response.
type HandlerFuture<'a> = BoxFuture<'a, (u32, usize, HandlerResponse)>;

pub(super) struct RunConversation<'a> {
    run: &'a CellRun,
    timeout: Duration,
    started: Instant,
    deadline: Instant,
    grace: Duration,
    services: RunServices<'a>,
    under_way: FuturesUnordered<HandlerFuture<'a>>,
    ending: RunResult,
    answered: usize,
    held: usize,
    /// The number of calls that wait for a person.
    people_waiting: Option<watch::Receiver<usize>>,
    paused_since: Option<Instant>,
    timers: u32,
    logged: usize,
}

#[derive(Clone, Copy)]
pub(super) struct RunServices<'a> {
    pub(super) directory: &'a dyn CapabilityDirectory,
    pub(super) call_out: &'a dyn CallHandler,
    pub(super) checker: &'a TypeChecker,
}

pub(super) struct RunResult {
    pub(super) outcome: Result<Box<RawValue>, RunError>,
    pub(super) diagnostics: Vec<CodeDiagnostic>,
    pub(super) logs: Vec<LogEntry>,
    pub(super) logs_dropped: u64,
    pub(super) calls: Vec<CallRecord>,
    pub(super) moments: Vec<ReplayMoment>,
    /// The reason the session ends, if it does.
    pub(super) closes: Option<String>,
    /// False when the next cell would find nothing of this session.
    pub(super) keeps_state: bool,
    pub(super) cpu_ms: f64,
}

impl<'a> RunConversation<'a> {
    pub(super) fn new(
        run: &'a CellRun,
        timeout: Duration,
        grace: Duration,
        services: RunServices<'a>,
    ) -> Self {
        let started = Instant::now();
        let ending = RunResult {
            outcome: Err(RunError::new(RunErrorCode::Script, "the run has no outcome")),
            diagnostics: Vec::new(),
            logs: Vec::new(),
            logs_dropped: 0,
            calls: Vec::new(),
            moments: Vec::new(),
            closes: None,
            keeps_state: true,
            cpu_ms: 0.0,
        };
        Self {
            run,
            timeout,
            started,
            deadline: started + timeout + grace,
            grace,
            services,
            under_way: FuturesUnordered::new(),
            ending,
            answered: 0,
            held: 0,
            people_waiting: services.call_out.waiting_for_people(),
            paused_since: None,
            timers: 0,
            logged: 0,
        }
    }

    /// Exchanges messages until the run ends. `closes` is set for a worker in a bad state.
    pub(super) async fn run_to_end(mut self, worker: &mut WorkerProcess) -> RunResult {
        if let Err(error) = self.talk(worker).await {
            tracing::warn!(%error, "a sandbox worker violated the protocol");
            worker.kill().await;
            self.end_without_worker(
                RunError::new(RunErrorCode::Script, "the worker failed"),
                "its worker failed",
            );
        }
        self.ending
    }

    async fn talk(&mut self, worker: &mut WorkerProcess) -> io::Result<()> {
        worker.queue(&HostMessage::Run(Box::new(self.request())))?;
        let mut answering = false;
        // One timer for the whole run: resetting it for every frame costs more than the frame.
        let late = sleep_until(self.deadline);
        tokio::pin!(late);
        loop {
            if late.deadline() != self.deadline {
                late.as_mut().reset(self.deadline);
            }
            let is_waiting = self.held > 0 && self.under_way.is_empty();
            let step = tokio::select! {
                biased;
                Some((id, place, answer)) = self.under_way.next() => {
                    self.answer(worker, id, place, answer)?;
                    continue;
                }
                frame = worker.exchange() => frame?,
                () = changed(&mut self.people_waiting) => {
                    self.update_clock(worker)?;
                    continue;
                }
                () = &mut late, if self.paused_since.is_none() => {
                    worker.kill().await;
                    self.end_late();
                    return Ok(());
                }
                () = tokio::time::sleep(PAUSE_SETTLE_TIME), if is_waiting => {
                    worker.kill().await;
                    self.pause();
                    return Ok(());
                }
            };
            match step {
                Some(WorkerMessage::Uses { uses, session }) => {
                    self.check(worker, &uses, session).await?;
                }
                Some(WorkerMessage::Call { id, capability, method, args, so_far }) => {
                    answering = true;
                    self.record_progress(so_far);
                    self.call(id, CallRequest { capability, method, args });
                }
                Some(WorkerMessage::Log(entry)) => self.keep_log(entry),
                Some(WorkerMessage::Done(done)) => {
                    self.end(*done);
                    return Ok(());
                }
                Some(WorkerMessage::Ready(_) | WorkerMessage::Checked(_)) => {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                None => {
                    let death = worker.death().await;
                    self.end_dead(death, answering);
                    return Ok(());
                }
            }
        }
    }

    /// Pauses the timeout of a run while a person is asked, here and in the worker.
    fn update_clock(&mut self, worker: &mut WorkerProcess) -> io::Result<()> {
        let waits =
            self.people_waiting.as_mut().is_some_and(|people| *people.borrow_and_update() > 0);
        match (waits, self.paused_since) {
            (true, None) => self.paused_since = Some(Instant::now()),
            (false, Some(since)) => {
                self.paused_since = None;
                self.deadline += since.elapsed();
            }
            _ => return Ok(()),
        }
        worker.queue(&HostMessage::SetPaused(waits))
    }

    fn request(&self) -> RunRequest {
        let capabilities = self.services.directory.capabilities();
        RunRequest {
            code: self.run.code.clone(),
            timeout_ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            limits: self.run.limits,
            determinism: self.run.determinism,
            repeat: self.run.repeat.clone(),
            capabilities: serde_json::to_string(&capabilities).unwrap_or_default(),
            type_check: self.run.check != TypeCheck::Off,
        }
    }

    async fn check(
        &mut self,
        worker: &mut WorkerProcess,
        uses: &[CapabilityUse],
        session: Option<SessionTypes>,
    ) -> io::Result<()> {
        let mut problems = preflight::problems(uses, self.services.directory);
        let mut types = Vec::new();
        let blocks = |problems: &[CodeDiagnostic]| {
            problems.iter().any(|problem| problem.severity == CodeSeverity::Error)
        };
        if let Some(session) = session
            && !blocks(&problems)
        {
            let directory = self.services.directory;
            let request = CheckRequest {
                code: self.run.code.clone(),
                capabilities: declarations_for_check(uses, &session.tools, directory),
                session: session.declarations,
            };
            let checked = self.services.checker.check(request).await;
            let (of_types, inferred) = preflight::of_types(checked, self.run.check);
            problems.extend(of_types);
            types = inferred;
            // The type check does not count, and the first one is slow.
            self.deadline = Instant::now() + self.timeout + self.grace;
        }
        let is_refused = blocks(&problems);
        self.ending.diagnostics = problems;
        let answer = if is_refused { HostMessage::Refuse } else { HostMessage::Proceed(types) };
        worker.queue(&answer)
    }

    fn call(&mut self, id: u32, request: CallRequest) {
        let place = self.ending.calls.len();
        // The worker limits its calls; a compromised one has the same limit here.
        if place >= self.run.limits.calls as usize {
            return;
        }
        self.ending.calls.push(CallRecord {
            capability: request.capability.clone(),
            method: request.method,
            args: request.args.clone(),
            outcome: CallOutcome::Cancelled,
            started_ms: self.elapsed_ms(),
            duration_ms: 0.0,
        });
        let answer = self.services.call_out.call(request);
        self.under_way.push(async move { (id, place, answer.await) }.boxed());
    }

    fn answer(
        &mut self,
        worker: &mut WorkerProcess,
        id: u32,
        place: usize,
        answer: HandlerResponse,
    ) -> io::Result<()> {
        let HandlerResponse { outcome, meta } = answer;
        if let Err(failure) = &outcome
            && self.services.call_out.is_waiting(failure)
        {
            self.hold_call(place, failure.clone());
            return Ok(());
        }
        let most = self.run.limits.answer_bytes;
        let answer = match outcome {
            Ok(data) if data.get().len() > most => {
                WireResponse::Failed { failure: too_large(data.get().len(), most), meta }
            }
            Ok(data) => WireResponse::Done { data, meta },
            Err(failure) => WireResponse::Failed { failure, meta },
        };
        let frame = HostMessage::Answer { id, answer };
        worker.queue(&frame)?;
        let now = self.elapsed_ms();
        let order = self.answered;
        self.answered += 1;
        if let (Some(record), HostMessage::Answer { answer, .. }) =
            (self.ending.calls.get_mut(place), frame)
        {
            record.duration_ms = now - record.started_ms;
            record.outcome = match answer {
                WireResponse::Done { data, meta } => CallOutcome::Done { data, meta, place: order },
                WireResponse::Failed { failure, meta } => {
                    CallOutcome::Failed { failure, meta, place: order }
                }
            };
        }
        Ok(())
    }

    /// Leaves a call open: the script waits for it like for a slow one.
    fn hold_call(&mut self, place: usize, failure: CallFailure) {
        self.held += 1;
        let now = self.elapsed_ms();
        if let Some(record) = self.ending.calls.get_mut(place) {
            record.duration_ms = now - record.started_ms;
            record.outcome = CallOutcome::Held { failure };
        }
    }

    /// Ends a run that only waits. Responses without a reported moment were taken after all reported ones.
    fn pause(&mut self) {
        if self.run.determinism.is_some() {
            let moment = ReplayMoment { timers: self.timers, clock_ms: self.elapsed_ms() };
            self.ending.moments.resize(self.answered, moment);
        }
        let message = "the run waits for an outside event";
        self.end_without_worker(
            RunError::new(RunErrorCode::Paused, message),
            "its last run is paused",
        );
    }

    fn record_progress(&mut self, so_far: ReplayProgress) {
        self.timers = so_far.timers;
        let room = self.answered.saturating_sub(self.ending.moments.len());
        self.ending.moments.extend(so_far.taken.into_iter().take(room));
    }

    fn keep_log(&mut self, entry: LogEntry) {
        // The worker counts too; a compromised one cannot fill the host's memory.
        self.logged += entry.message.len();
        if self.logged <= self.run.limits.log_bytes {
            self.ending.logs.push(entry);
        }
    }

    fn end(&mut self, done: CellResult) {
        let CellResult { outcome, diagnostics, closes, keeps_state, cpu_ms, logs_dropped, so_far } =
            done;
        self.record_progress(so_far);
        self.ending.outcome = match outcome {
            Ok(value) => Ok(value.unwrap_or_else(|| RawValue::NULL.to_owned())),
            Err(mut error) => {
                // Diagnostics of the host come first.
                let blocking = |one: &&CodeDiagnostic| one.severity == CodeSeverity::Error;
                if let Some(first) = self.ending.diagnostics.iter().find(blocking)
                    && error.code == RunErrorCode::DiagnosticBlocked
                {
                    error.message.clone_from(&first.message);
                }
                Err(error)
            }
        };
        self.ending.diagnostics.extend(diagnostics);
        self.ending.closes = closes;
        self.ending.keeps_state = keeps_state;
        self.ending.cpu_ms = cpu_ms;
        self.ending.logs_dropped = logs_dropped;
    }

    fn end_late(&mut self) {
        let message =
            format!("the run took longer than {} ms and was killed", self.timeout.as_millis());
        let error = RunError::new(RunErrorCode::Timeout, message).hint(
            "do less in one run, or ask for a longer `timeoutMs`; some built-in functions cannot be interrupted",
        );
        self.end_without_worker(error, "its last run did not end in time");
    }

    fn end_dead(&mut self, death: ProcessDeath, answering: bool) {
        let error = match death {
            ProcessDeath::CpuLimit => RunError::new(
                RunErrorCode::Timeout,
                format!(
                    "the script computed for longer than {} ms and was killed",
                    self.run.limits.cpu.as_millis()
                ),
            )
            .hint("waiting for calls does not count: look for a loop that does not end"),
            ProcessDeath::Crash if !answering => RunError::new(
                RunErrorCode::Limit,
                "the worker ran out of memory or stack while it read or ran the code",
            )
            .hint("make the code smaller and nest it less"),
            ProcessDeath::Crash => {
                RunError::new(RunErrorCode::Limit, "the worker ran out of memory or stack")
                    .hint("keep less at once")
            }
            ProcessDeath::Other => {
                RunError::new(RunErrorCode::Script, "the worker ended unexpectedly")
            }
        };
        self.end_without_worker(error, "its worker ended");
    }

    fn end_without_worker(&mut self, error: RunError, closes: &str) {
        self.ending.outcome = Err(error);
        self.ending.closes = Some(closes.to_owned());
    }

    fn elapsed_ms(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1000.0
    }
}

/// Waits for a change of the number of waiting calls; forever if it cannot change.
async fn changed(people: &mut Option<watch::Receiver<usize>>) {
    let can_change = match people {
        Some(people) => people.changed().await.is_ok(),
        None => false,
    };
    if !can_change {
        std::future::pending::<()>().await;
    }
}

fn too_large(bytes: usize, most: usize) -> CallFailure {
    CallFailure {
        code: "CONTENT_TOO_LARGE".to_owned(),
        message: format!("the answer has {bytes} bytes, a script can take {most}"),
        details: None,
        hint: Some("ask for less: a smaller page, fewer fields, a narrower query".to_owned()),
    }
}
