//! Code mode: runs a client's TypeScript against what that client may use.
//!
//! A run begins and ends in [`Session::run_code`], with everything known about it. Every call of the script is one call of
//! [`Bridge`], which leads to the same functions that other clients' requests lead to.

mod bridge;
mod data;
mod deck_directory;
mod describe;
mod failure;
mod library;
mod logs;
mod run_caller;
mod tool;
mod types;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::Capability;
use capdeck_sandbox::{
    Envelope, Run, RunReport, SandboxPool, SandboxSettings, SessionChoice, SessionId, TypeCheck,
    WorkerCommand,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use self::{
    bridge::{Bridge, Manner},
    deck_directory::DeckDirectory,
    logs::LogStore,
};
use crate::{
    Consent, Continuity, Host, Scope, Session, View, ViewPolicy, audit::AuditLine, journal::Stage,
};

pub(crate) use tool::{CODE_MODE_TOKENS, code_mode_tool};

/// Code that a client wants to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRequest {
    pub code: String,
    /// Wall-clock time. `None` takes the usual one.
    pub timeout: Option<Duration>,
    pub session: SessionChoice,
    pub check: TypeCheck,
    /// What the person at the command line said to the calls; nothing that comes over a wire sets this.
    pub consent: Consent,
}

/// What a client wants of code mode.
enum Wish<'a> {
    Run(Box<Run>),
    Resume(&'a str),
}

/// What the host keeps for code mode.
pub(crate) struct CodeMode {
    /// Starts no process before the first run, or before a client is shown the tool.
    pool: Option<SandboxPool>,
    logs: LogStore,
    warmed: AtomicBool,
}

impl CodeMode {
    pub(crate) fn new(worker: Option<WorkerCommand>, state_dir: &Path) -> Self {
        let pool = worker.map(|worker| SandboxPool::new(SandboxSettings::new(worker)));
        Self { pool, logs: LogStore::new(state_dir), warmed: AtomicBool::new(false) }
    }

    /// Ends every worker process.
    pub(crate) fn close(&self) {
        if let Some(pool) = &self.pool {
            pool.close();
        }
    }
}

/// The arguments of the `code_mode` tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    check: TypeCheck,
    #[serde(default)]
    resume: Option<String>,
}

impl Session {
    /// Runs code. What goes wrong inside the run is in the report; an error means that there was no run.
    pub async fn run_code(
        &self,
        request: CodeRequest,
        context: &CallContext,
    ) -> Result<RunReport, CallError> {
        let run = Run {
            timeout: request.timeout,
            session: request.session,
            owner: self.code_owner(),
            check: request.check,
            ..Run::new(request.code)
        };
        self.enact(Wish::Run(Box::new(run)), request.consent, context).await
    }

    /// Resumes a paused run by its id. `consent` is what the person at the command line says about the calls it makes.
    pub async fn resume_code(
        &self,
        id: &str,
        consent: Consent,
        context: &CallContext,
    ) -> Result<RunReport, CallError> {
        self.enact(Wish::Resume(id), consent, context).await
    }

    async fn enact(
        &self,
        wish: Wish<'_>,
        consent: Consent,
        context: &CallContext,
    ) -> Result<RunReport, CallError> {
        let started = Instant::now();
        let pool = self.host.0.code_mode.pool.as_ref().ok_or_else(no_sandbox)?;
        let earlier = match &wish {
            Wish::Run(run) => match &run.session {
                SessionChoice::Earlier(id) => Some(id.to_string()),
                SessionChoice::New | SessionChoice::Once => None,
            },
            Wish::Resume(_) => None,
        };
        let guards = &self.host.0.flow_guards;
        let flow = guards.of(earlier.as_deref(), self.catalog().config().flow_mode());
        let manner = Manner { consent, flow: flow.clone() };
        let (directory, bridge) = (DeckDirectory::of(self), Bridge::new(self, context, manner)?);
        let stage = Stage { pool, directory: &directory, calls: &bridge, flow: flow.as_deref() };
        let work = async {
            match wish {
                Wish::Run(run) => Ok(self.run_recorded(stage, *run).await),
                Wish::Resume(id) => self.resume_recorded(stage, &self.code_owner(), id).await,
            }
        };
        let outcome = tokio::select! {
            outcome = work => outcome,
            () = context.cancel.cancelled() => {
                Err(CallError::new(ErrorCode::Cancelled, "the run was cancelled"))
            }
        };
        if let (Some(guard), Ok(report)) = (&flow, &outcome)
            && let Some(session) = &report.envelope.meta.session_id
        {
            guards.keep(session.as_str(), guard);
        }
        let outcome = match outcome {
            Ok(report) => Ok(self.with_kept_logs(report).await),
            Err(error) => Err(error),
        };
        self.note_run(&outcome, started);
        outcome
    }

    /// The `code_mode` tool.
    pub(crate) async fn code_mode_tool(
        &self,
        arguments: Option<&RawValue>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let asked: Arguments = crate::meta_tools::parse("code_mode", arguments)?;
        let report = match asked {
            Arguments { code: Some(code), resume: None, timeout_ms, session_id, check } => {
                let session = match session_id {
                    Some(id) => SessionChoice::Earlier(SessionId::from(id)),
                    None => SessionChoice::New,
                };
                let timeout = timeout_ms.map(Duration::from_millis);
                let consent = Consent::NotAsked;
                let request = CodeRequest { code, timeout, session, check, consent };
                self.run_code(request, context).await?
            }
            Arguments {
                code: None, resume: Some(id), timeout_ms: None, session_id: None, ..
            } => self.resume_code(&id, Consent::NotAsked, context).await?,
            _ => return Err(unclear()),
        };
        as_tool_result(&report.envelope)
    }

    /// Starts a worker ahead for a client that was shown the tool; its first run then need not wait for one.
    pub fn prepare_code_mode(&self) {
        let code_mode = &self.host.0.code_mode;
        let Some(pool) = code_mode.pool.clone() else { return };
        if self.view().offers_code_mode() && !code_mode.warmed.swap(true, Ordering::Relaxed) {
            tokio::spawn(async move {
                if let Err(error) = pool.warm().await {
                    tracing::warn!(message = error.message, "code mode is not ready");
                }
            });
        }
    }

    /// Ends what this client left behind in sessions of code mode, unless it may come back to them.
    pub(crate) fn close_code_sessions(&self) {
        if let Some(pool) = &self.host.0.code_mode.pool
            && self.continuity == Continuity::Connection
        {
            pool.close_sessions_of(&self.code_owner());
        }
    }

    /// Who finds a session of code mode again: this client, or its principal where requests stand alone.
    fn code_owner(&self) -> String {
        let of_principal = format!("principal:{}", self.principal);
        match (self.continuity, &self.scope) {
            (Continuity::Connection, _) => format!("session:{}", self.id),
            // What was left behind with the whole deck is not for a view of it.
            (Continuity::Requests, Scope::Deck(ViewPolicy { view: Some(name), .. })) => {
                format!("{of_principal} view:{name}")
            }
            (Continuity::Requests, _) => of_principal,
        }
    }

    async fn with_kept_logs(&self, mut report: RunReport) -> RunReport {
        if report.envelope.logs.truncated {
            let owner = self.code_owner();
            let logs = &self.host.0.code_mode.logs;
            if let Some(kept) = logs.keep(&owner, std::mem::take(&mut report.logs)).await {
                report.envelope.logs.stored = true;
                report.envelope.logs.log_ref = Some(kept.reference);
                report.envelope.logs.expires_at = Some(kept.expires_at.to_string());
                report.logs = kept.entries;
            }
        }
        report
    }

    fn note_run(&self, outcome: &Result<RunReport, CallError>, started: Instant) {
        let (run, code) = match outcome {
            Ok(report) => {
                let envelope = &report.envelope;
                let code = envelope.outcome.as_ref().err().map(|error| error.code.as_str());
                (envelope.meta.run_id.as_str(), code.unwrap_or("ok"))
            }
            Err(error) => ("", error.code.as_str()),
        };
        self.host.0.audit.record(AuditLine {
            at: Timestamp::now(),
            session: &self.id,
            client: &self.client_name,
            method: "code_mode",
            capability: "",
            tool: run,
            outcome: code,
            // Its calls are decided by the policy, each on a line of its own.
            approved: None,
            data_from: Vec::new(),
            elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// True when this client's scripts may use the capability.
    pub(crate) fn may_code(&self, capability: &Capability) -> bool {
        self.may_code_in(&self.view(), capability)
    }

    /// The same for those who ask about many.
    pub(crate) fn may_code_in(&self, view: &View, capability: &Capability) -> bool {
        match &self.scope {
            Scope::Operator => capability.is_usable(),
            Scope::Deck(_) => view.is_coded(capability),
            Scope::Transparent(_) => false,
        }
    }
}

impl Host {
    /// True when this host can run code at all.
    pub fn has_code_mode(&self) -> bool {
        self.0.code_mode.pool.is_some()
    }
}

/// The envelope as the answer of a tool: once for programs, once for models, each as small as it can be.
fn as_tool_result(envelope: &Envelope) -> Result<Box<RawValue>, CallError> {
    let bug =
        |error: serde_json::Error| CallError::new(ErrorCode::InternalError, error.to_string());
    let structured = serde_json::value::to_raw_value(envelope).map_err(bug)?;
    let text = json!([{ "type": "text", "text": structured.get() }]);
    let result = json!({
        "content": text,
        "isError": envelope.outcome.is_err(),
    });
    let mut result: capdeck_catalog::RawObject = serde_json::from_value(result).map_err(bug)?;
    result.insert("structuredContent".to_owned(), structured);
    serde_json::value::to_raw_value(&result).map_err(bug)
}

fn unclear() -> CallError {
    let message =
        "`code_mode`: either `code` to run, or `resume` alone with the id of a paused run";
    CallError::new(ErrorCode::RequestInvalid, message)
}

fn no_sandbox() -> CallError {
    CallError::new(ErrorCode::ServerUnavailable, "code mode is not available in this process")
        .hint("use `search` and `call_tool`")
}
