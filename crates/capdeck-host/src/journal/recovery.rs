//! The earlier cells of a session of code mode, for a client that lost the session and rebuilds it.
//!
//! Nothing is run. The reference is the session's own name, which cannot be guessed, and only the
//! principal that ran the cells can read them.

use capdeck_backend::{CallError, ErrorCode};
use capdeck_definition::first_letters;
use capdeck_sandbox::{RunErrorCode, RunReport, SessionChoice, SessionStatus};
use serde_json::{Value, json};

use super::{RecordedCall, RunEnd, RunRecord, RunState, RunStore, record::clean};
use crate::{
    RequestContext, code_mode::declaration_hash, durable, page::OffsetPage, redact::redacted,
};

const DEFAULT_PAGE_SIZE: usize = 25;

const MAX_PAGE_SIZE: usize = 100;

const MAX_SUMMARY_LENGTH: usize = 200;

/// The reference for a new session, or for one that is gone while its cells are still recorded.
pub(super) async fn recovery_ref(
    request: &RequestContext<'_>,
    asked: &SessionChoice,
    report: &RunReport,
) -> Option<String> {
    let (meta, outcome) = (&report.envelope.meta, &report.envelope.outcome);
    match (asked, outcome) {
        (SessionChoice::New, _) if meta.session_status == Some(SessionStatus::Created) => {
            meta.session_id.as_ref().map(ToString::to_string)
        }
        (SessionChoice::Earlier(id), Err(error))
            if matches!(
                error.code,
                RunErrorCode::SessionNotFound | RunErrorCode::SessionClosed
            ) =>
        {
            let known = cells_of(request, id.as_str()).await;
            (!known.is_empty()).then(|| id.to_string())
        }
        _ => None,
    }
}

pub(crate) async fn read_recovery(
    request: &RequestContext<'_>,
    reference: &str,
    page: &OffsetPage,
) -> Result<Value, CallError> {
    let cells = cells_of(request, reference).await;
    if cells.is_empty() {
        let message = format!("there is no recovery record `{reference}`");
        return Err(CallError::new(ErrorCode::ResourceNotFound, message).hint(
            "use `meta.recoveryRef` of a run; cells are known as long as their runs are recorded",
        ));
    }
    let cells = cells.iter().map(entry).collect();
    page.of(cells, (DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE), "this record")
}

async fn cells_of(request: &RequestContext<'_>, session: &str) -> Vec<RunRecord> {
    let (host, principal) = (request.host().clone(), request.session().principal.to_string());
    let session = session.to_owned();
    let reading = durable::blocking(move || {
        let mut runs =
            RunStore::settled(&host).list().map(|listing| listing.runs).unwrap_or_default();
        runs.retain(|run| run.session.as_deref() == Some(&session) && run.principal == principal);
        runs.reverse();
        runs
    });
    reading.await.unwrap_or_default()
}

fn entry(run: &RunRecord) -> Value {
    let classification = match run.state {
        _ if run.calls.iter().any(|call| call.capability.is_some()) => "side_effecting",
        RunState::Done => "setup_like",
        _ => "unknown",
    };
    json!({
        "runId": run.id,
        "timestamp": run.at,
        "code": redacted(&run.code),
        "declarationHash": declaration_hash(&run.capabilities),
        "outcome": outcome(run),
        "summary": summary(run),
        "diagnostics": clean(json!(run.diagnostics)),
        "recoveryClassification": classification,
    })
}

fn outcome(run: &RunRecord) -> Value {
    match &run.end {
        RunEnd::Error(error) => json!({ "ok": false, "code": error.code.as_str() }),
        RunEnd::Value(_) | RunEnd::LargeValue { .. } | RunEnd::Nothing => {
            json!({ "ok": run.state == RunState::Done })
        }
    }
}

/// What the cell did: the tools that it called, or its first line.
fn summary(run: &RunRecord) -> String {
    let mut called: Vec<String> = run.calls.iter().map(RecordedCall::target).collect();
    called.dedup();
    let state = run.state.as_str();
    let text = match called.as_slice() {
        [] => format!("{state}: {}", run.headline()),
        called => format!("{state}; called {}", called.join(", ")),
    };
    first_letters(&text, MAX_SUMMARY_LENGTH)
}
