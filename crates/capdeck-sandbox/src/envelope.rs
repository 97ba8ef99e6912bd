//! The response of a run: the value or the error, diagnostics, logs and facts; and the full record for the host.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use serde_with::skip_serializing_none;

use crate::{
    DeckOperation,
    host_interface::CallFailure,
    run::{ReplayMoment, SessionId},
};

/// The maximum log text in an envelope; the rest is in the report.
const MAX_SHOWN_LOG_BYTES: usize = 12 << 10;

/// The whole response to one run. Serializes to the format of code mode clients.
#[derive(Debug)]
pub struct RunEnvelope {
    pub outcome: Result<Box<RawValue>, RunError>,
    pub diagnostics: Vec<CodeDiagnostic>,
    pub logs: RunLogs,
    pub meta: RunMetadata,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    pub code: RunErrorCode,
    pub message: String,
    pub details: Option<Value>,
    pub location: Option<CodeLocation>,
    pub hint: Option<String>,
    pub stack_preview: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum RunErrorCode {
    #[serde(rename = "REQUEST_INVALID")]
    RequestInvalid,
    /// Found before the run; see the diagnostics.
    #[serde(rename = "diagnostic_blocked")]
    DiagnosticBlocked,
    #[serde(rename = "SESSION_NOT_FOUND")]
    SessionNotFound,
    #[serde(rename = "SESSION_BUSY")]
    SessionBusy,
    #[serde(rename = "SESSION_CLOSED")]
    SessionClosed,
    #[serde(rename = "SERIALIZATION_ERROR")]
    Serialization,
    #[serde(rename = "CONTENT_TOO_LARGE")]
    ContentTooLarge,
    #[serde(rename = "sandbox_timeout")]
    Timeout,
    /// Memory, stack, calls or another limit.
    #[serde(rename = "sandbox_limit")]
    Limit,
    #[serde(rename = "sandbox_forbidden_global")]
    ForbiddenGlobal,
    #[serde(rename = "sandbox_type_error")]
    TypeError,
    #[serde(rename = "sandbox_reference_error")]
    ReferenceError,
    #[serde(rename = "runtime_bridge_error")]
    Bridge,
    #[serde(rename = "sandbox_error")]
    Script,
    /// The run only waits for calls that need an outside event.
    #[serde(rename = "RUN_PAUSED")]
    Paused,
    #[serde(rename = "RUN_DIVERGED")]
    Diverged,
    #[serde(rename = "SERVER_UNAVAILABLE")]
    Unavailable,
}

impl RunErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestInvalid => "REQUEST_INVALID",
            Self::DiagnosticBlocked => "diagnostic_blocked",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SessionBusy => "SESSION_BUSY",
            Self::SessionClosed => "SESSION_CLOSED",
            Self::Serialization => "SERIALIZATION_ERROR",
            Self::ContentTooLarge => "CONTENT_TOO_LARGE",
            Self::Timeout => "sandbox_timeout",
            Self::Limit => "sandbox_limit",
            Self::ForbiddenGlobal => "sandbox_forbidden_global",
            Self::TypeError => "sandbox_type_error",
            Self::ReferenceError => "sandbox_reference_error",
            Self::Bridge => "runtime_bridge_error",
            Self::Script => "sandbox_error",
            Self::Unavailable => "SERVER_UNAVAILABLE",
            Self::Paused => "RUN_PAUSED",
            Self::Diverged => "RUN_DIVERGED",
        }
    }
}

impl Serialize for RunErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl RunError {
    pub(crate) fn new(code: RunErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
            location: None,
            hint: None,
            stack_preview: None,
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLocation {
    pub line: u32,
    pub column: u32,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeDiagnostic {
    pub code: String,
    pub message: String,
    pub severity: CodeSeverity,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl CodeDiagnostic {
    pub(crate) fn at(
        place: CodeLocation,
        severity: CodeSeverity,
        code: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            line: Some(place.line),
            column: Some(place.column),
            ..Self::about(severity, code, message)
        }
    }

    pub(crate) fn about(severity: CodeSeverity, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), severity, line: None, column: None }
    }
}

/// The severity of a diagnostic. Errors prevent the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeSeverity {
    Error,
    Warning,
    Info,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub level: String,
    pub message: String,
    /// The time by the clock of the script; records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLogs {
    pub entries: Vec<LogEntry>,
    /// True when entries are missing here.
    pub truncated: bool,
    /// True when the host stored all of them; it then says where.
    pub stored: bool,
    pub log_ref: Option<String>,
    /// The end of their storage.
    pub expires_at: Option<String>,
}

impl RunLogs {
    pub(crate) fn from_entries(all: &[LogEntry], dropped: u64) -> Self {
        let mut room = MAX_SHOWN_LOG_BYTES;
        let fitting = all.iter().take_while(|entry| {
            let fits = entry.message.len() <= room;
            room = room.saturating_sub(entry.message.len());
            fits
        });
        let entries: Vec<LogEntry> = fitting.cloned().collect();
        let truncated = entries.len() < all.len() || dropped > 0;
        Self { entries, truncated, stored: false, log_ref: None, expires_at: None }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunMetadata {
    pub run_id: String,
    /// The request of this run; the run itself unless the host sets another.
    pub trace_id: String,
    pub duration_ms: f64,
    /// CPU time of the script alone.
    pub cpu_ms: f64,
    pub timeout_ms: u64,
    pub max_timeout_ms: u64,
    pub any_caplet_invoked: bool,
    pub calls: usize,
    pub session_id: Option<SessionId>,
    pub session_status: Option<SessionStatus>,
    /// Set by the host: the same for two runs that see the same capabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration_hash: Option<String>,
    /// Where the host stores the data to restart after the session has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_ref: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    Created,
    Reused,
    /// The run ended it; the error or a diagnostic has the reason.
    Closed,
}

impl Serialize for RunEnvelope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct EnvelopeShape<'a> {
            ok: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            value: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a RunError>,
            diagnostics: &'a [CodeDiagnostic],
            logs: &'a RunLogs,
            meta: &'a RunMetadata,
        }
        EnvelopeShape {
            ok: self.outcome.is_ok(),
            value: self.outcome.as_deref().ok(),
            error: self.outcome.as_ref().err(),
            diagnostics: &self.diagnostics,
            logs: &self.logs,
            meta: &self.meta,
        }
        .serialize(serializer)
    }
}

#[derive(Debug)]
pub struct RunReport {
    pub envelope: RunEnvelope,
    /// Every stored log entry; the envelope has only the first ones.
    pub logs: Vec<LogEntry>,
    pub calls: Vec<CallRecord>,
    /// The moments of the responses, in order; empty for runs that cannot be repeated.
    pub moments: Vec<ReplayMoment>,
}

/// One call of a run, with the data to answer it again.
#[derive(Debug)]
pub struct CallRecord {
    pub capability: Option<String>,
    pub method: DeckOperation,
    pub args: Box<RawValue>,
    pub outcome: CallOutcome,
    pub started_ms: f64,
    pub duration_ms: f64,
}

#[derive(Debug)]
pub enum CallOutcome {
    Done {
        data: Box<RawValue>,
        meta: Option<Box<RawValue>>,
        /// Its index among the responses of the run, from zero: a replay uses this order.
        place: usize,
    },
    Failed {
        failure: CallFailure,
        meta: Option<Box<RawValue>>,
        place: usize,
    },
    /// It waits for an outside event; the script has no response.
    Held {
        failure: CallFailure,
    },
    Cancelled,
}
