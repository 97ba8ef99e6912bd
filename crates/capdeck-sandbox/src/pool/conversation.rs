//! One run as a conversation with its worker: code in, calls out, answers in, the end out.

use std::{io, time::Duration};

use futures_util::{
    StreamExt,
    future::{BoxFuture, FutureExt},
    stream::FuturesUnordered,
};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};

use super::{
    preflight,
    worker_process::{Death, WorkerProcess},
};
use crate::{
    call_out::{CallAnswer, CallFailure, CallOut, CallRequest},
    directory::Directory,
    envelope::{Diagnostic, ErrorCode, LogEntry, RunError},
    protocol::{Done, FromWorker, RunRequest, ToWorker, Use, WireAnswer},
    report::{CallOutcome, CallRecord},
    run::Run,
};

/// A call under way: its number in the worker, its place in the record, its answer.
type UnderWay<'a> = BoxFuture<'a, (u32, usize, CallAnswer)>;

/// Everything one run needs while it lasts.
pub(super) struct Conversation<'a> {
    run: &'a Run,
    timeout: Duration,
    started: Instant,
    deadline: Instant,
    directory: &'a dyn Directory,
    call_out: &'a dyn CallOut,
    under_way: FuturesUnordered<UnderWay<'a>>,
    ending: Ending,
    answered: usize,
    /// Bytes of log text so far.
    logged: usize,
}

/// How a run ended.
pub(super) struct Ending {
    pub(super) outcome: Result<Box<RawValue>, RunError>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) logs: Vec<LogEntry>,
    pub(super) logs_dropped: u64,
    pub(super) calls: Vec<CallRecord>,
    /// Why the session cannot go on, if it cannot.
    pub(super) closes: Option<String>,
    pub(super) cpu_ms: f64,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        run: &'a Run,
        timeout: Duration,
        grace: Duration,
        directory: &'a dyn Directory,
        call_out: &'a dyn CallOut,
    ) -> Self {
        let started = Instant::now();
        let ending = Ending {
            outcome: Err(RunError::new(ErrorCode::Script, "the run has no outcome")),
            diagnostics: Vec::new(),
            logs: Vec::new(),
            logs_dropped: 0,
            calls: Vec::new(),
            closes: None,
            cpu_ms: 0.0,
        };
        Self {
            run,
            timeout,
            started,
            deadline: started + timeout + grace,
            directory,
            call_out,
            under_way: FuturesUnordered::new(),
            ending,
            answered: 0,
            logged: 0,
        }
    }

    /// Talks until the run has ended. A worker that is not sound afterwards is named in `closes`.
    pub(super) async fn hold(mut self, worker: &mut WorkerProcess) -> Ending {
        if let Err(error) = self.talk(worker).await {
            tracing::warn!(%error, "a sandbox worker did not keep to the protocol");
            worker.kill().await;
            self.end_without_worker(
                RunError::new(ErrorCode::Script, "the worker failed"),
                "its worker failed",
            );
        }
        self.ending
    }

    async fn talk(&mut self, worker: &mut WorkerProcess) -> io::Result<()> {
        worker.queue(&ToWorker::Run(Box::new(self.request())))?;
        let mut answering = false;
        loop {
            let step = tokio::select! {
                biased;
                Some((id, place, answer)) = self.under_way.next() => {
                    self.answer(worker, id, place, answer)?;
                    continue;
                }
                frame = worker.exchange() => frame?,
                () = sleep_until(self.deadline) => {
                    worker.kill().await;
                    self.end_late();
                    return Ok(());
                }
            };
            match step {
                Some(FromWorker::Uses(uses)) => self.check(worker, &uses)?,
                Some(FromWorker::Call { id, capability, method, args }) => {
                    answering = true;
                    self.call(id, CallRequest { capability, method, args });
                }
                Some(FromWorker::Log(entry)) => self.keep_log(entry),
                Some(FromWorker::Done(done)) => {
                    self.end(*done);
                    return Ok(());
                }
                Some(FromWorker::Ready(_)) => return Err(io::ErrorKind::InvalidData.into()),
                None => {
                    let death = worker.death().await;
                    self.end_dead(death, answering);
                    return Ok(());
                }
            }
        }
    }

    fn request(&self) -> RunRequest {
        let capabilities = self.directory.capabilities();
        RunRequest {
            code: self.run.code.clone(),
            timeout_ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            limits: self.run.limits,
            determinism: self.run.determinism,
            capabilities: serde_json::to_string(&capabilities).unwrap_or_default(),
        }
    }

    fn check(&mut self, worker: &mut WorkerProcess, uses: &[Use]) -> io::Result<()> {
        self.ending.diagnostics = preflight::problems(uses, self.directory);
        let go_on = self.ending.diagnostics.is_empty();
        worker.queue(if go_on { &ToWorker::Proceed } else { &ToWorker::Refuse })
    }

    fn call(&mut self, id: u32, request: CallRequest) {
        let place = self.ending.calls.len();
        // The worker bounds its own calls; one that does not is not sound and meets the same bound here.
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
        let answer = self.call_out.call(request);
        self.under_way.push(async move { (id, place, answer.await) }.boxed());
    }

    fn answer(
        &mut self,
        worker: &mut WorkerProcess,
        id: u32,
        place: usize,
        answer: CallAnswer,
    ) -> io::Result<()> {
        let CallAnswer { outcome, meta } = answer;
        let most = self.run.limits.answer_bytes;
        let answer = match outcome {
            Ok(data) if data.get().len() > most => {
                WireAnswer::Failed { failure: too_large(data.get().len(), most), meta }
            }
            Ok(data) => WireAnswer::Done { data, meta },
            Err(failure) => WireAnswer::Failed { failure, meta },
        };
        let frame = ToWorker::Answer { id, answer };
        worker.queue(&frame)?;
        let now = self.elapsed_ms();
        let order = self.answered;
        self.answered += 1;
        if let (Some(record), ToWorker::Answer { answer, .. }) =
            (self.ending.calls.get_mut(place), frame)
        {
            record.duration_ms = now - record.started_ms;
            record.outcome = match answer {
                WireAnswer::Done { data, meta } => CallOutcome::Done { data, meta, place: order },
                WireAnswer::Failed { failure, meta } => {
                    CallOutcome::Failed { failure, meta, place: order }
                }
            };
        }
        Ok(())
    }

    fn keep_log(&mut self, entry: LogEntry) {
        // The worker counts too; one that is not sound cannot fill the host's memory.
        self.logged += entry.message.len();
        if self.logged <= self.run.limits.log_bytes {
            self.ending.logs.push(entry);
        }
    }

    fn end(&mut self, done: Done) {
        let Done { outcome, diagnostics, closes, cpu_ms, logs_dropped } = done;
        self.ending.outcome = match outcome {
            Ok(value) => Ok(value.unwrap_or_else(|| RawValue::NULL.to_owned())),
            Err(mut error) => {
                // What the host found out before the run is the reason, if it found anything.
                if let Some(first) = self.ending.diagnostics.first()
                    && error.code == ErrorCode::DiagnosticBlocked
                {
                    error.message.clone_from(&first.message);
                }
                Err(error)
            }
        };
        self.ending.diagnostics.extend(diagnostics);
        self.ending.closes = closes;
        self.ending.cpu_ms = cpu_ms;
        self.ending.logs_dropped = logs_dropped;
    }

    fn end_late(&mut self) {
        let message =
            format!("the run took longer than {} ms and was killed", self.timeout.as_millis());
        let error = RunError::new(ErrorCode::Timeout, message).hint(
            "do less in one run, or ask for a longer `timeoutMs`; some built-in functions cannot be interrupted",
        );
        self.end_without_worker(error, "its last run did not end in time");
    }

    fn end_dead(&mut self, death: Death, answering: bool) {
        let error = match death {
            Death::CpuLimit => RunError::new(
                ErrorCode::Timeout,
                format!(
                    "the script computed for longer than {} ms and was killed",
                    self.run.limits.cpu.as_millis()
                ),
            )
            .hint("waiting for calls does not count: look for a loop that does not end"),
            Death::Crash if !answering => RunError::new(
                ErrorCode::Limit,
                "the worker ran out of memory or stack while it read or ran the code",
            )
            .hint("make the code smaller and nest it less"),
            Death::Crash => {
                RunError::new(ErrorCode::Limit, "the worker ran out of memory or stack")
                    .hint("keep less at once")
            }
            Death::Other => RunError::new(ErrorCode::Script, "the worker ended unexpectedly"),
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

fn too_large(bytes: usize, most: usize) -> CallFailure {
    CallFailure {
        code: "CONTENT_TOO_LARGE".to_owned(),
        message: format!("the answer has {bytes} bytes, a script can take {most}"),
        details: None,
        hint: Some("ask for less: a smaller page, fewer fields, a narrower query".to_owned()),
    }
}
