//! What a client reads about a run: the value or the error, diagnostics, logs and facts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::run::SessionId;

/// Log text that an envelope carries; the rest is in the report.
const SHOWN_LOG_BYTES: usize = 12 << 10;

/// The whole answer to one run. It serialises to the form that clients of code mode know.
#[derive(Debug)]
pub struct Envelope {
    pub outcome: Result<Box<RawValue>, RunError>,
    pub diagnostics: Vec<Diagnostic>,
    pub logs: Logs,
    pub meta: Meta,
}

/// Why a run has no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    pub code: ErrorCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_preview: Option<String>,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ErrorCode {
    #[serde(rename = "REQUEST_INVALID")]
    RequestInvalid,
    /// Found before anything ran; the diagnostics say what.
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
    /// A value that JSON can carry, but too much of it.
    #[serde(rename = "CONTENT_TOO_LARGE")]
    ContentTooLarge,
    #[serde(rename = "sandbox_timeout")]
    Timeout,
    /// Memory, stack, calls or another bound was reached.
    #[serde(rename = "sandbox_limit")]
    Limit,
    #[serde(rename = "sandbox_forbidden_global")]
    ForbiddenGlobal,
    #[serde(rename = "sandbox_type_error")]
    TypeError,
    #[serde(rename = "sandbox_reference_error")]
    ReferenceError,
    /// A call failed and nobody caught it.
    #[serde(rename = "runtime_bridge_error")]
    Bridge,
    #[serde(rename = "sandbox_error")]
    Script,
    /// Nothing but calls that wait for something from outside is left to do.
    #[serde(rename = "RUN_PAUSED")]
    Paused,
    /// A repeated run did something else than before.
    #[serde(rename = "RUN_DIVERGED")]
    Diverged,
    /// No worker process could be had.
    #[serde(rename = "SERVER_UNAVAILABLE")]
    Unavailable,
}

impl ErrorCode {
    /// The code as clients read it.
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

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl RunError {
    /// An error with a code and a message.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
            location: None,
            hint: None,
            stack_preview: None,
        }
    }

    /// The same error with what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A place in the author's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub line: u32,
    pub column: u32,
}

/// Something to say about the code or the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub code: String,
    pub message: String,
    pub severity: Severity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl Diagnostic {
    /// A diagnostic about a place.
    pub(crate) fn at(
        place: Location,
        severity: Severity,
        code: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            line: Some(place.line),
            column: Some(place.column),
            ..Self::about(severity, code, message)
        }
    }

    /// A diagnostic about the run as a whole.
    pub(crate) fn about(severity: Severity, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), severity, line: None, column: None }
    }
}

/// How grave a diagnostic is. Errors keep the code from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    Info,
}

/// One line of a script's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub level: String,
    pub message: String,
}

/// The logs as an envelope shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Logs {
    pub entries: Vec<LogEntry>,
    /// Whether entries are missing here.
    pub truncated: bool,
    /// Whether the host kept all of them; it then says where.
    pub stored: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_ref: Option<String>,
    /// Until when they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

impl Logs {
    /// As many of the first entries as an answer should carry.
    pub(crate) fn shown(all: &[LogEntry], dropped: u64) -> Self {
        let mut room = SHOWN_LOG_BYTES;
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

/// Facts about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    pub run_id: String,
    /// The request this run belongs to; the run itself unless the host says otherwise.
    pub trace_id: String,
    /// Which declaration the client was shown, if the host says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration_hash: Option<String>,
    pub duration_ms: f64,
    /// Computing time of the script alone.
    pub cpu_ms: f64,
    pub timeout_ms: u64,
    pub max_timeout_ms: u64,
    pub any_caplet_invoked: bool,
    pub calls: usize,
    pub session_id: Option<SessionId>,
    pub session_status: Option<SessionStatus>,
    /// Where the host keeps what is needed to start again after the session is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_ref: Option<String>,
}

/// What became of the session of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    Created,
    Reused,
    /// The run ended it; the error or a diagnostic says why.
    Closed,
}

impl Serialize for Envelope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            ok: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            value: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a RunError>,
            diagnostics: &'a [Diagnostic],
            logs: &'a Logs,
            meta: &'a Meta,
        }
        Shape {
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
