//! Runs code and records it.

use std::sync::Arc;

use capdeck_backend::CallError;
use capdeck_definition::Definition;
use capdeck_sandbox::{
    CallHandler, CallOutcome, CallRecord, CapabilityDirectory, CellRun, RunErrorCode, RunReport,
    SandboxPool, SessionChoice, TimerPace,
};
use capdeck_storage::sha256_hex;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    RecordedCall, RunEnd, RunJournal, RunRecord, RunState, finished_run::FinishedRun,
    record::RECORD_VERSION, recovery, run_store::RunLimits,
};
use crate::{RequestContext, SessionScope, code_mode::SandboxBridge, durable::blocking};

#[derive(Clone, Copy)]
pub(crate) struct RunEnvironment<'a> {
    pub(crate) pool: &'a SandboxPool,
    pub(crate) directory: &'a dyn CapabilityDirectory,
    pub(crate) calls: &'a SandboxBridge,
}

impl RunEnvironment<'_> {
    pub(super) async fn run(&self, run: CellRun, calls: &dyn CallHandler) -> RunReport {
        let Some(guard) = self.calls.flow() else {
            return self.pool.run(run, self.directory, calls).await;
        };
        guard.begin(&run.code);
        let mut report = self.pool.run(run, self.directory, calls).await;
        report.envelope.diagnostics.extend(guard.diagnostics());
        report
    }
}

struct UnfinishedRun<'a> {
    request: &'a RequestContext<'a>,
    started: Option<RunRecord>,
}

impl Drop for UnfinishedRun<'_> {
    fn drop(&mut self) {
        if let Some(started) = self.started.take() {
            let limits = run_limits(self.request);
            let run = FinishedRun::cancelled(started, definitions(self.request));
            journal(self.request).record(run, limits);
        }
    }
}

/// Runs code. It is recorded unless the deck disables that; only a recorded run can pause.
pub(crate) async fn run_recorded(
    request: &RequestContext<'_>,
    stage: RunEnvironment<'_>,
    mut run: CellRun,
) -> RunReport {
    if request.deck.catalog().config().runs.record == Some(false) {
        return stage.run(run, stage.calls).await;
    }
    let started = begin_record(request, &run, stage.directory);
    run.determinism = Some(started.determinism(TimerPace::Wait));
    let mut unfinished = UnfinishedRun { request, started: Some(started) };
    let asked = run.session.clone();
    let mut report = stage.run(run, stage.calls).await;
    report.envelope.meta.recovery_ref = recovery::recovery_ref(request, &asked, &report).await;
    if let Some(started) = unfinished.started.take() {
        end_record(request, started, &mut report).await;
    }
    report
}

pub(super) fn journal<'a>(request: &RequestContext<'a>) -> &'a RunJournal {
    &request.host().0.journal
}

fn run_limits(request: &RequestContext<'_>) -> RunLimits {
    RunLimits::from_config(request.deck.catalog().config())
}

fn begin_record(
    request: &RequestContext<'_>,
    run: &CellRun,
    directory: &dyn CapabilityDirectory,
) -> RunRecord {
    let (after, unrepeatable) = match &run.session {
        SessionChoice::Earlier(id) => match journal(request).last_run(id.as_str()) {
            Some(before) => (Some(before), None),
            None => (None, Some("the earlier runs of its session are not known".to_owned())),
        },
        SessionChoice::New | SessionChoice::Once => (None, None),
    };
    let session = request.session();
    let at = Timestamp::now();
    let mut seed = [0; 8];
    // Without a source of randomness the time is enough; no secret depends on it.
    let seed = match getrandom::fill(&mut seed) {
        // Numbers of this size survive every reader of JSON and YAML.
        Ok(()) => u64::from_le_bytes(seed) >> 11,
        Err(_) => at.as_millisecond().unsigned_abs(),
    };
    RunRecord {
        version: RECORD_VERSION,
        id: String::new(),
        at,
        state: RunState::Cancelled,
        client: session.client_name.clone(),
        principal: session.principal.to_string(),
        scope: (&session.scope).into(),
        session: None,
        after,
        code: run.code.clone(),
        code_sha256: sha256_hex(&run.code),
        timeout_ms: 0,
        now_ms: at.as_millisecond(),
        seed,
        duration_ms: 0.0,
        capabilities: directory.capabilities(),
        calls: Vec::new(),
        moments: Vec::new(),
        end: RunEnd::Nothing,
        diagnostics: Vec::new(),
        logs: Vec::new(),
        unrepeatable,
    }
}

/// Records an ended run. One that is paused or was resumed is on disk when this returns, and the
/// error of a paused one says how to resume it.
pub(super) async fn end_record(
    request: &RequestContext<'_>,
    started: RunRecord,
    report: &mut RunReport,
) {
    let meta = &report.envelope.meta;
    if let Some(session) = &meta.session_id {
        journal(request).note_last_run(session.as_str(), &meta.run_id);
    }
    let is_resumed = started.state == RunState::Paused;
    let is_paused =
        matches!(&report.envelope.outcome, Err(error) if error.code == RunErrorCode::Paused);
    let waiting = if is_paused { waiting_calls(&report.calls) } else { Vec::new() };
    let ended = FinishedRun::new(started, report, definitions(request));
    let limits = run_limits(request);
    if !is_paused && !is_resumed {
        journal(request).record(ended, limits);
        return;
    }
    let host = request.host().clone();
    let written = blocking(move || host.0.journal.record_now(ended, limits)).await;
    let written = written.and_then(|written| written.map_err(CallError::internal));
    let trouble = match written {
        Ok(record) => record.unrepeatable,
        Err(error) => {
            tracing::error!(%error, "a paused or resumed run could not be recorded");
            Some("it could not be saved".to_owned())
        }
    };
    if is_paused {
        report_pause(request, report, &waiting, trouble);
    }
}

/// Those of the deck as the run found it, and those of now: each call of a run is a request of its own, so that a result
/// may contain a secret of a definition that was added meanwhile.
fn definitions(request: &RequestContext<'_>) -> Vec<Arc<Definition>> {
    let (began, now) = (&request.deck, request.renewed().deck);
    let mut all: Vec<_> = began.definitions().cloned().collect();
    if !now.is_same_deck(began) {
        all.extend(now.definitions().cloned());
    }
    all
}

fn report_pause(
    request: &RequestContext<'_>,
    report: &mut RunReport,
    waiting: &[PausedCall],
    trouble: Option<String>,
) {
    let id = report.envelope.meta.run_id.clone();
    let Err(error) = &mut report.envelope.outcome else { return };
    let calls: Vec<&str> = waiting.iter().map(|one| one.target.as_str()).collect();
    let approvals: Vec<&Value> = waiting.iter().filter_map(|one| one.approval.as_ref()).collect();
    let steps: Vec<String> = waiting.iter().filter_map(PausedCall::step).collect();
    error.message = format!("the run waits for a person: {}", calls.join(", "));
    error.hint = Some(match trouble {
        Some(trouble) => {
            format!(
                "it cannot be resumed: {trouble}; run the code again after the calls are approved"
            )
        }
        None => next_step(request.deck.scope(), &id, &steps),
    });
    error.details = Some(json!({ "runId": id, "calls": calls, "approvals": approvals }));
}

struct PausedCall {
    target: String,
    approval: Option<Value>,
    review: Option<String>,
}

impl PausedCall {
    /// What the person does before the run can be resumed; `None` when it only needs the answer to
    /// a question.
    fn step(&self) -> Option<String> {
        let id = self.approval.as_ref().and_then(|one| one.get("id")).and_then(Value::as_str);
        id.map(|id| format!("the person runs: capdeck approve {id}"))
            .or_else(|| self.review.clone())
    }
}

fn waiting_calls(calls: &[CallRecord]) -> Vec<PausedCall> {
    let held = calls.iter().filter_map(|call| match &call.outcome {
        CallOutcome::Held { failure } => Some((call, failure)),
        _ => None,
    });
    held.map(|(call, failure)| {
        let args: Value = serde_json::from_str(call.args.get()).unwrap_or_default();
        let name = RecordedCall::name(call.capability.as_deref(), call.method, &args);
        let detail = |key: &str| failure.details.as_ref().and_then(|details| details.get(key));
        PausedCall {
            target: format!("`{name}`"),
            approval: detail("approval").cloned(),
            review: detail("held").and(failure.hint.clone()),
        }
    })
    .collect()
}

fn next_step(scope: &SessionScope, run: &str, steps: &[String]) -> String {
    if *scope == SessionScope::Operator && !steps.is_empty() {
        return format!("{}; then resume it with: capdeck runs resume {run}", steps.join("; "));
    }
    if steps.is_empty() {
        return format!("the person answers in a terminal with: capdeck runs resume {run}");
    }
    format!(
        "{}; then call `code_mode` with {{\"resume\": \"{run}\"}}, or the person runs: capdeck runs resume {run}",
        steps.join("; ")
    )
}
