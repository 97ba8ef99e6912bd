//! Code mode: runs a client's TypeScript against the tools that client may use. Every call of the
//! script is one call of [`SandboxBridge`], which uses the same functions as other requests.

mod bridge;
mod data;
mod failure;
mod library;
mod logs;
mod tool;
mod types;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::Capability;
use capdeck_sandbox::{
    CapabilityDirectory, CellRun, CodeDiagnostic, RunEnvelope, RunError, RunLogs, RunReport,
    SandboxPool, SandboxSettings, SessionChoice, SessionId, TypeCheck, WorkerCommand,
};
use capdeck_storage::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use self::{logs::LogStore, types::DeckDirectory};
use crate::{
    CallConsent, RequestContext, Session, SessionContinuity, SessionScope, View, ViewPolicy,
    deck_snapshot::DeckSnapshot,
    journal::{RunEnvironment, resume_recorded, run_recorded},
    optional_argument::{count, given},
    raw,
};

pub(crate) use bridge::SandboxBridge;
pub(crate) use tool::{CODE_MODE_TOKENS, code_mode_tool};
pub use types::types_of;

/// Code to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRequest {
    pub code: String,
    /// Wall-clock time. `None` for the default.
    pub timeout: Option<Duration>,
    pub session: SessionChoice,
    pub check: TypeCheck,
    /// The person's consent at the command line; nothing that comes over a wire sets this.
    pub consent: CallConsent,
}

enum CodeStart<'a> {
    Run(Box<CellRun>),
    Resume(&'a str),
}

pub(crate) struct CodeMode {
    /// Starts no process before the first run, or before a client lists the tool.
    pool: Option<SandboxPool>,
    logs: LogStore,
    warmed: AtomicBool,
}

impl CodeMode {
    pub(crate) fn new(worker: Option<WorkerCommand>, state_dir: &Path) -> Self {
        let pool = worker.map(|worker| SandboxPool::new(SandboxSettings::new(worker)));
        Self { pool, logs: LogStore::new(state_dir), warmed: AtomicBool::new(false) }
    }

    pub(crate) fn close(&self) {
        if let Some(pool) = &self.pool {
            pool.close();
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CodeArguments {
    #[serde(default, deserialize_with = "given")]
    code: Option<String>,
    #[serde(default, deserialize_with = "count")]
    timeout_ms: Option<u64>,
    #[serde(default, deserialize_with = "given")]
    session_id: Option<String>,
    #[serde(default, deserialize_with = "given")]
    check: Option<TypeCheck>,
    #[serde(default, deserialize_with = "given")]
    resume: Option<String>,
}

/// Runs code. Failures inside the run are in the report; an error means that there was no run.
pub async fn run(request: &RequestContext<'_>, code: CodeRequest) -> Result<RunReport, CallError> {
    let run = CellRun {
        timeout: code.timeout,
        session: code.session,
        owner: code_owner(request.session()),
        check: code.check,
        ..CellRun::new(code.code)
    };
    start(request, CodeStart::Run(Box::new(run)), code.consent).await
}

/// Resumes a paused run. `consent` is the person's consent to its calls at the command line.
pub async fn resume(
    request: &RequestContext<'_>,
    id: &str,
    consent: CallConsent,
) -> Result<RunReport, CallError> {
    start(request, CodeStart::Resume(id), consent).await
}

async fn start(
    request: &RequestContext<'_>,
    code: CodeStart<'_>,
    consent: CallConsent,
) -> Result<RunReport, CallError> {
    let started = Instant::now();
    let (session, host) = (request.session(), request.host());
    let pool = host.0.code_mode.pool.as_ref().ok_or_else(|| {
        CallError::unavailable("code mode is not available in this process")
            .hint("use `search` and `call_tool`")
    })?;
    let earlier = match &code {
        CodeStart::Run(run) => match &run.session {
            SessionChoice::Earlier(id) => Some(id.to_string()),
            SessionChoice::New | SessionChoice::Once => None,
        },
        CodeStart::Resume(_) => None,
    };
    let (guards, config) = (&host.0.flow_guards, request.deck.catalog().config());
    let flow = guards.guard_for(earlier.as_deref(), config.flow_mode());
    let can_pause = config.runs.record != Some(false) || matches!(code, CodeStart::Resume(_));
    let bridge = SandboxBridge::new(request, consent, flow.clone(), can_pause)?;
    let directory = DeckDirectory::new(&request.deck);
    let stage = RunEnvironment { pool, directory: &directory, calls: &bridge };
    let work = async {
        match code {
            CodeStart::Run(run) => Ok(run_recorded(request, stage, *run).await),
            CodeStart::Resume(id) => {
                resume_recorded(request, stage, &code_owner(session), id).await
            }
        }
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        () = request.call.cancel.cancelled() => {
            Err(CallError::new(ErrorCode::Cancelled, "the run was cancelled"))
        }
    };
    if let (Some(guard), Ok(report)) = (&flow, &outcome)
        && let Some(session) = &report.envelope.meta.session_id
    {
        guards.keep(session.as_str(), guard);
    }
    let outcome = match outcome {
        Ok(mut report) => {
            let hash = declaration_hash(&directory.capabilities());
            report.envelope.meta.declaration_hash = Some(hash);
            Ok(with_stored_logs(session, report).await)
        }
        Err(error) => Err(error),
    };
    audit_run(session, &outcome, started);
    outcome
}

pub(crate) async fn run_tool(
    request: &RequestContext<'_>,
    arguments: Option<&RawValue>,
) -> raw::Answer {
    let asked: CodeArguments = crate::meta_tools::parse("code_mode", arguments)?;
    let report = match asked {
        CodeArguments { code: Some(code), resume: None, timeout_ms, session_id, check } => {
            let session = match session_id {
                Some(id) => SessionChoice::Earlier(SessionId::from(id)),
                None => SessionChoice::New,
            };
            let timeout = timeout_ms.map(Duration::from_millis);
            let consent = CallConsent::NotAsked;
            let (code, check) = (without_fence(code), check.unwrap_or_default());
            let code = CodeRequest { code, timeout, session, check, consent };
            run(request, code).await?
        }
        CodeArguments {
            code: None, resume: Some(id), timeout_ms: None, session_id: None, ..
        } => resume(request, &id, CallConsent::NotAsked).await?,
        _ => {
            return Err(CallError::invalid_request(
                "`code_mode`: either `code` to run, or `resume` alone with the id of a paused run",
            ));
        }
    };
    request.session().as_read(as_tool_result(&report.envelope))
}

/// Starts a worker ahead for a client that lists the tool, so that its first run need not wait.
pub fn prepare(session: &Session) {
    let code_mode = &session.host.0.code_mode;
    let Some(pool) = code_mode.pool.clone() else { return };
    if session.view().offers_code_mode() && !code_mode.warmed.swap(true, Ordering::Relaxed) {
        tokio::spawn(async move {
            if let Err(error) = pool.warm().await {
                tracing::warn!(message = error.message, "code mode is not ready");
            }
        });
    }
}

/// Ends this client's sessions of code mode, unless it may come back to them.
pub(crate) fn close_sessions(session: &Session) {
    if let Some(pool) = &session.host.0.code_mode.pool
        && session.continuity == SessionContinuity::Connection
    {
        pool.close_sessions_of(&code_owner(session));
    }
}

/// Owner of a session of code mode: this client, or its principal where requests are
/// self-contained.
fn code_owner(session: &Session) -> String {
    let of_principal = format!("principal:{}", session.principal);
    match (session.continuity, &session.scope) {
        (SessionContinuity::Connection, _) => format!("session:{}", session.id),
        // A session with the whole deck is not available in a view.
        (SessionContinuity::Requests, SessionScope::Deck(ViewPolicy { view: Some(name), .. })) => {
            format!("{of_principal} view:{name}")
        }
        (SessionContinuity::Requests, _) => of_principal,
    }
}

/// The same for two runs that see the same capabilities, and so may share a session's code.
pub(crate) fn declaration_hash(capabilities: &[String]) -> String {
    sha256_hex(json!(capabilities).to_string())
}

async fn with_stored_logs(session: &Session, mut report: RunReport) -> RunReport {
    if report.envelope.logs.truncated {
        let owner = code_owner(session);
        let logs = &session.host.0.code_mode.logs;
        let entries = std::mem::take(&mut report.logs);
        if let Some((reference, stored)) = logs.store(&owner, entries).await {
            report.envelope.logs.stored = true;
            report.envelope.logs.log_ref = Some(reference);
            report.envelope.logs.expires_at = Some(stored.expires_at.to_string());
            report.logs = stored.entries;
        }
    }
    report
}

fn audit_run(session: &Session, outcome: &Result<RunReport, CallError>, started: Instant) {
    let (run, code) = match outcome {
        Ok(report) => {
            let envelope = &report.envelope;
            let code = envelope.outcome.as_ref().err().map(|error| error.code.as_str());
            (envelope.meta.run_id.as_str(), code.unwrap_or("ok"))
        }
        Err(error) => ("", error.code.as_str()),
    };
    // Each of its calls is decided by the policy and has its own line.
    session.begin_audit("code_mode", "", run).since(started).end(code);
}

pub(crate) fn may_code(deck: &DeckSnapshot<'_>, view: &View, capability: &Capability) -> bool {
    match deck.scope() {
        SessionScope::Operator => capability.is_usable(),
        SessionScope::Deck(_) => view.is_coded(capability),
        SessionScope::Transparent(_) => false,
    }
}

/// The code in a block of Markdown that is nothing but one, as models write it.
fn without_fence(code: String) -> String {
    let inner = code.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, inner)) if !language.contains('`') && !inner.contains("```") => {
            inner.to_owned()
        }
        _ => code,
    }
}

/// The envelope as a tool result: all of it for programs, and as text what a model acts on.
fn as_tool_result(envelope: &RunEnvelope) -> raw::Answer {
    let structured = raw::text(envelope)?;
    let text = json!([{ "type": "text", "text": text_for_model(envelope)? }]);
    let is_error = json!(envelope.outcome.is_err());
    let mut result = raw::object([("content", text), ("isError", is_error)]);
    result.insert("structuredContent".to_owned(), structured);
    raw::text(&result)
}

/// The envelope without what no model asked for: identifiers and times of the run, and lists with nothing in them. A failed
/// run keeps what it can be looked at by.
fn text_for_model(envelope: &RunEnvelope) -> Result<String, CallError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ModelAnswer<'a> {
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a RunError>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        diagnostics: &'a [CodeDiagnostic],
        #[serde(skip_serializing_if = "Option::is_none")]
        logs: Option<&'a RunLogs>,
        #[serde(skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    }
    let RunEnvelope { outcome, diagnostics, logs, meta } = envelope;
    let kept = [
        ("sessionId", meta.session_id.as_ref().map(|id| json!(id))),
        (
            "recoveryRef",
            meta.recovery_ref.as_ref().filter(|_| outcome.is_err()).map(|id| json!(id)),
        ),
    ];
    let answer = ModelAnswer {
        ok: outcome.is_ok(),
        value: outcome.as_deref().ok(),
        error: outcome.as_ref().err(),
        diagnostics,
        logs: Some(logs).filter(|logs| logs.truncated || !logs.entries.is_empty()),
        meta: kept.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect(),
    };
    serde_json::to_string(&answer).map_err(CallError::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fenced_block_is_code() {
        for (given, code) in [
            ("```ts\nreturn 1;\n```", "return 1;\n"),
            ("  ```\nreturn 1;\n```\n", "return 1;\n"),
            ("return 1;", "return 1;"),
            ("```return 1```", "```return 1```"),
            ("return `a`;\n```", "return `a`;\n```"),
            ("```ts\na\n```\nand\n```ts\nb\n```", "```ts\na\n```\nand\n```ts\nb\n```"),
        ] {
            assert_eq!(without_fence(given.to_owned()), code, "{given}");
        }
    }
}
