//! Resumes a paused run: the script runs again from its start with the recorded results, and
//! continues from there.
//!
//! No recorded call is made twice. One process resumes a run at a time. A run whose resuming was
//! interrupted cannot be resumed again, because it is unknown which calls were made.

use std::{fs::File, sync::Arc, time::Duration};

use capdeck_backend::{CallError, ClientProfile, ErrorCode};
use capdeck_sandbox::{CellRun, EarlierRun, RunError, RunErrorCode, RunReport, TimerPace};
use jiff::Timestamp;

use super::{
    ReplayError, RunStore, RunStoreError,
    record::{RecordedCall, RecordedOutcome, RecordedScope, RunRecord, RunState},
    recording::{RunEnvironment, end_record, journal},
    replay::{CallReplay, ExpectedCall},
    run_replayer::replay_earlier,
};
use crate::{
    Host, Principal, RequestContext, Session, SessionScope, SessionSettings, ViewPolicy,
    durable::blocking, flow::FlowGuard,
};

impl RunRecord {
    /// A session for the person who resumes the run, with the name and the rights of its client.
    /// `None` where that client could not run code.
    pub fn session(&self, host: &Host, client: ClientProfile) -> Option<Arc<Session>> {
        let scope = match &self.scope {
            RecordedScope::Deck { exposure, view } => SessionScope::Deck(ViewPolicy {
                exposure: *exposure,
                view: view.as_deref().map(Arc::from),
            }),
            RecordedScope::Operator => SessionScope::Operator,
            RecordedScope::Alone { .. } => return None,
        };
        Some(host.session(SessionSettings {
            principal: Principal::named(&self.principal),
            client_name: self.client.clone(),
            shares_files: false,
            ..SessionSettings::local(scope, client)
        }))
    }
}

/// Resumes a paused run of this client, or of one with the same principal and scope.
pub(crate) async fn resume_recorded(
    request: &RequestContext<'_>,
    stage: RunEnvironment<'_>,
    owner: &str,
    id: &str,
) -> Result<RunReport, CallError> {
    let (host, asked) = (request.host().clone(), id.to_owned());
    let session = request.session();
    let mine = (session.principal.to_string(), RecordedScope::from(&session.scope));
    let (_claim, chain) =
        blocking(move || claim(&RunStore::settled(&host), &asked, &mine)).await??;
    let Some((paused, earlier)) = chain.split_last() else { return Err(unknown(id)) };
    let session = match replay_earlier(stage.pool, owner, earlier).await {
        Ok(session) => session,
        Err(error) => {
            // Nothing was called, so the run remains paused.
            let (store, record) = (journal(request).store(), paused.clone());
            blocking(move || store.save(&record)).await?.map_err(|error| stored(&error))?;
            return Err(refused(&error));
        }
    };
    if let Some(guard) = stage.calls.flow() {
        chain.iter().for_each(|run| learn(guard, run));
    }
    let bytes = |call: &RecordedCall| match &call.outcome {
        RecordedOutcome::Data(data) => data.get().len(),
        _ => 0,
    };
    stage.calls.add_answered(paused.calls.iter().map(bytes).sum());
    let calls = paused.calls.iter().cloned().map(ExpectedCall::from).collect();
    let replay = CallReplay::resuming(calls, stage.calls);
    let run = CellRun {
        timeout: Some(Duration::from_millis(paused.timeout_ms)),
        session,
        owner: owner.to_owned(),
        determinism: Some(paused.determinism(TimerPace::Wait)),
        repeat: Some(EarlierRun {
            moments: paused.moments.clone(),
            elapsed_ms: elapsed_ms(paused.at),
        }),
        ..CellRun::new(paused.code.clone())
    };
    let mut report = stage.run(run, &replay).await;
    report.envelope.meta.run_id.clone_from(&paused.id);
    report.envelope.meta.trace_id.clone_from(&paused.id);
    if let Some(why) = replay.divergence() {
        diverged(&mut report, &why);
    }
    end_record(request, paused.clone(), &mut report).await;
    Ok(report)
}

/// Recorded data is followed, too.
fn learn(guard: &FlowGuard, run: &RunRecord) {
    guard.begin(&run.code);
    for call in &run.calls {
        if let (Some(source), RecordedOutcome::Data(data)) = (&call.capability, &call.outcome) {
            guard.record_data(source, call.method, data);
        }
    }
}

fn claim(
    store: &RunStore,
    id: &str,
    mine: &(String, RecordedScope),
) -> Result<(File, Vec<RunRecord>), CallError> {
    let failed = |error: RunStoreError| match error {
        RunStoreError::Unknown { .. } => unknown(id),
        other => stored(&other),
    };
    // A run of another client is reported as unknown.
    let is_mine = |run: &RunRecord| run.principal == mine.0 && run.scope == mine.1;
    if !is_mine(&store.load(id).map_err(failed)?) {
        return Err(unknown(id));
    }
    let claim = store.claim(id).map_err(failed)?;
    // Another process may have resumed it until now.
    let run = store.load(id).map_err(failed)?;
    match run.state {
        RunState::Paused => {}
        RunState::Resuming => return Err(interrupted(id)),
        RunState::Done | RunState::Failed | RunState::Cancelled => {
            let message = format!("run `{id}` is not paused: it is {}", run.state.as_str());
            return Err(CallError::invalid_request(message)
                .hint(format!("see its result with: capdeck runs show {id}")));
        }
    }
    let chain = store.chain(run).map_err(|error| refused(&error))?;
    if let Some(paused) = chain.last() {
        let taken_up = RunRecord { state: RunState::Resuming, ..paused.clone() };
        store.save(&taken_up).map_err(failed)?;
    }
    Ok((claim, chain))
}

/// A script that differs from its record must not continue.
fn diverged(report: &mut RunReport, why: &str) {
    let message = format!("the run differs from its record before the pause: {why}");
    let hint = "no recorded call was repeated; run the code again";
    let (details, location, stack_preview) = match &mut report.envelope.outcome {
        Err(error) => (error.details.take(), error.location.take(), error.stack_preview.take()),
        Ok(_) => (None, None, None),
    };
    report.envelope.outcome = Err(RunError {
        code: RunErrorCode::Diverged,
        message,
        details,
        location,
        hint: Some(hint.to_owned()),
        stack_preview,
    });
}

fn elapsed_ms(since: Timestamp) -> f64 {
    Timestamp::now().duration_since(since).as_secs_f64().max(0.0) * 1000.0
}

fn unknown(id: &str) -> CallError {
    CallError::invalid_request(format!("there is no paused run `{id}`"))
        .hint("runs are stored for some days; omit `resume` to run code")
}

fn interrupted(id: &str) -> CallError {
    let message =
        format!("resuming run `{id}` was interrupted, and it is not known which calls were made");
    CallError::invalid_request(message)
        .hint("the audit trail lists the calls; run the code again for the missing ones")
}

fn refused(error: &ReplayError) -> CallError {
    CallError::invalid_request(error.to_string())
        .hint("run the code again; approved calls need no second approval")
}

fn stored(error: &RunStoreError) -> CallError {
    let code = match error {
        RunStoreError::Busy { .. } => ErrorCode::RequestInvalid,
        _ => ErrorCode::InternalError,
    };
    CallError::new(code, error.to_string())
}
