//! What is kept of one run: enough to show it, to take it up again and to repeat it without any server.

use capdeck_definition::Exposure;
use capdeck_sandbox::{
    CallFailure, CallOutcome, CallRecord, DeckOperation, Diagnostic, LogEntry, Moment, RunError,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{Scope, ViewPolicy};

/// The form of the files. Another one is not read.
pub(crate) const VERSION: u32 = 1;

/// One recorded run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    pub version: u32,
    pub id: String,
    pub at: Timestamp,
    pub state: RunState,
    /// What the client calls itself.
    pub client: String,
    /// Who is behind it.
    pub principal: String,
    pub scope: RecordedScope,
    /// The session of code mode that the run belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run before this one in its session; what it declared was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub code: String,
    pub code_sha256: String,
    pub timeout_ms: u64,
    /// The script's clock at the start, in milliseconds since 1970.
    pub now_ms: i64,
    /// Where the script's random numbers start.
    pub seed: u64,
    pub duration_ms: f64,
    /// The capabilities that the script could name.
    pub capabilities: Vec<String>,
    pub calls: Vec<RecordedCall>,
    /// When the script took its answers.
    pub moments: Vec<Moment>,
    pub end: RunEnd,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogEntry>,
    /// Why the run cannot be repeated, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrepeatable: Option<String>,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    Done,
    Failed,
    /// The client gave it up.
    Cancelled,
    /// It waits for a person.
    Paused,
    /// It was taken up again and has not come to an end.
    Resuming,
}

impl RunState {
    /// The state in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Paused => "paused",
            Self::Resuming => "resuming",
        }
    }
}

/// What a client of a recorded run saw of the deck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedScope {
    Deck {
        exposure: Option<Exposure>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view: Option<String>,
    },
    Alone {
        capability: String,
    },
    Operator,
}

impl From<&Scope> for RecordedScope {
    fn from(scope: &Scope) -> Self {
        match scope {
            Scope::Deck(ViewPolicy { exposure, view }) => {
                Self::Deck { exposure: *exposure, view: view.as_deref().map(str::to_owned) }
            }
            Scope::Transparent(id) => Self::Alone { capability: id.to_string() },
            Scope::Operator => Self::Operator,
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunEnd {
    Value(Box<RawValue>),
    /// A value too large to keep: its length and digest.
    LargeValue {
        bytes: usize,
        sha256: String,
    },
    Error(RunError),
    /// There is none.
    Nothing,
}

/// One call of a recorded run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    pub method: DeckOperation,
    /// The arguments as people may see them.
    pub args: Value,
    /// The digest of the arguments as they were.
    pub args_sha256: String,
    pub outcome: RecordedOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<RawValue>>,
    /// Its place among the answers of the run; none without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    pub started_ms: f64,
    pub duration_ms: f64,
}

/// What came of a recorded call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedOutcome {
    Data(Box<RawValue>),
    Failure(CallFailure),
    /// It waits for a person.
    Held(CallFailure),
    /// The run ended before there was an answer.
    Cancelled,
    /// An answer that is not kept: its length.
    LeftOut {
        bytes: usize,
    },
}

impl RecordedCall {
    /// The tool that was called, if one was.
    pub fn tool(&self) -> Option<&str> {
        match self.method {
            DeckOperation::CallTool => self.args.get("name").and_then(Value::as_str),
            _ => None,
        }
    }

    /// `github.create_issue`, `github.tools()` or `search()`.
    pub fn target(&self) -> String {
        Self::name(self.capability.as_deref(), self.method, &self.args)
    }

    /// How a call is named in messages.
    pub(crate) fn name(capability: Option<&str>, method: DeckOperation, args: &Value) -> String {
        let tool = args.get("name").and_then(Value::as_str);
        match (capability, method, tool) {
            (Some(capability), DeckOperation::CallTool, Some(tool)) => {
                format!("{capability}.{tool}")
            }
            (Some(capability), method, _) => format!("{capability}.{}()", method.script_name()),
            (None, method, _) => format!("{}()", method.script_name()),
        }
    }

    pub(crate) fn of(call: CallRecord, args: Value) -> Self {
        let CallRecord { capability, method, args: sent, outcome, started_ms, duration_ms } = call;
        let (outcome, meta, place) = match outcome {
            CallOutcome::Done { data, meta, place } => {
                (RecordedOutcome::Data(data), meta, Some(place))
            }
            CallOutcome::Failed { failure, meta, place } => {
                (RecordedOutcome::Failure(failure), meta, Some(place))
            }
            CallOutcome::Held { failure } => (RecordedOutcome::Held(failure), None, None),
            CallOutcome::Cancelled => (RecordedOutcome::Cancelled, None, None),
        };
        let args_sha256 = capdeck_catalog::sha256_hex(sent.get());
        Self {
            capability,
            method,
            args,
            args_sha256,
            outcome,
            meta,
            place,
            started_ms,
            duration_ms,
        }
    }
}
