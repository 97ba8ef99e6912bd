//! The record of one run: enough to show it, to resume it and to replay it without any server. It is
//! shown without results, and without texts that look like a secret.

use capdeck_auth::SecretScrubber;
use capdeck_definition::Exposure;
use capdeck_sandbox::{
    CallFailure, CallOutcome, CallRecord, CodeDiagnostic, DeckOperation, DeterminismSettings,
    LogEntry, ReplayMoment, RunError, TimerPace,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::{SessionScope, ViewPolicy, consent::shorten, raw, redact::redacted};

/// The file format version. Others are not read.
pub(crate) const RECORD_VERSION: u32 = 1;

/// One recorded run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    pub version: u32,
    pub id: String,
    pub at: Timestamp,
    pub state: RunState,
    pub client: String,
    pub principal: String,
    pub scope: RecordedScope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The previous run of the session, whose declarations this one could use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub code: String,
    pub code_sha256: String,
    pub timeout_ms: u64,
    /// The script's clock at the start, in milliseconds since 1970.
    pub now_ms: i64,
    pub seed: u64,
    pub duration_ms: f64,
    pub capabilities: Vec<String>,
    pub calls: Vec<RecordedCall>,
    /// When the script received its results.
    pub moments: Vec<ReplayMoment>,
    pub end: RunEnd,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<CodeDiagnostic>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogEntry>,
    /// Why the run cannot be replayed, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrepeatable: Option<String>,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    Done,
    Failed,
    /// The client cancelled it.
    Cancelled,
    /// It waits for a person.
    Paused,
    /// It was resumed and has not ended.
    Resuming,
}

impl RunState {
    /// The name of the state.
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

/// The part of the deck that the client of a recorded run had.
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

impl From<&SessionScope> for RecordedScope {
    fn from(scope: &SessionScope) -> Self {
        match scope {
            SessionScope::Deck(ViewPolicy { exposure, view }) => {
                Self::Deck { exposure: *exposure, view: view.as_deref().map(str::to_owned) }
            }
            SessionScope::Transparent(id) => Self::Alone { capability: id.to_string() },
            SessionScope::Operator => Self::Operator,
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunEnd {
    Value(Box<RawValue>),
    /// A value too large to store: its length and digest.
    LargeValue {
        bytes: usize,
        sha256: String,
    },
    Error(RunError),
    Nothing,
}

/// One call of a recorded run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    pub method: DeckOperation,
    pub args: Value,
    /// The digest of the original arguments.
    pub args_sha256: String,
    pub outcome: RecordedOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<RawValue>>,
    /// Its position among the results of the run; `None` without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    pub started_ms: f64,
    pub duration_ms: f64,
}

/// The result of a recorded call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedOutcome {
    Data(Box<RawValue>),
    Failure(CallFailure),
    /// It waits for a person.
    Held(CallFailure),
    Cancelled,
    /// A result that is not stored: its length.
    LeftOut {
        bytes: usize,
    },
}

impl RecordedCall {
    /// The called tool, if any.
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

    pub(crate) fn from_record(call: CallRecord, args: Value) -> Self {
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
        let args_sha256 = capdeck_storage::sha256_hex(sent.get());
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

impl RunRecord {
    /// The clock and the random numbers of the run, for another one.
    pub(super) fn determinism(&self, timers: TimerPace) -> DeterminismSettings {
        DeterminismSettings { now_ms: self.now_ms, seed: self.seed, timers }
    }

    /// The run in one line of a list.
    pub fn summary(&self) -> Value {
        let mut item = json!({
            "id": self.id,
            "at": self.at,
            "state": self.state,
            "client": self.client,
            "principal": self.principal,
            "calls": self.calls.len(),
            "durationMs": self.duration_ms,
            "headline": self.headline(),
        });
        raw::put_some(&mut item, "unrepeatable", self.unrepeatable.as_ref());
        item
    }

    /// The details of the run.
    pub fn to_json(&self) -> Value {
        let mut shown = json!({
            "id": self.id,
            "at": self.at,
            "state": self.state,
            "client": self.client,
            "principal": self.principal,
            "code": redacted(&self.code),
            "codeSha256": self.code_sha256,
            "timeoutMs": self.timeout_ms,
            "durationMs": self.duration_ms,
            "isRepeatable": self.unrepeatable.is_none(),
            "calls": self.calls.iter().map(RecordedCall::to_json).collect::<Vec<_>>(),
            "diagnostics": self.diagnostics,
        });
        raw::put_some(&mut shown, "session", self.session.as_ref());
        raw::put_some(&mut shown, "after", self.after.as_ref());
        raw::put_some(&mut shown, "unrepeatable", self.unrepeatable.as_ref());
        match &self.end {
            RunEnd::Value(value) => shown["value"] = clean(raw::value(value).unwrap_or_default()),
            RunEnd::LargeValue { bytes, .. } => shown["valueBytes"] = json!(bytes),
            RunEnd::Error(error) => shown["error"] = clean(json!(error)),
            RunEnd::Nothing => {}
        }
        let log = |entry: &LogEntry| {
            let message = redacted(&entry.message);
            json!(LogEntry { message, ..entry.clone() })
        };
        shown["logs"] = self.logs.iter().map(log).collect();
        shown
    }

    /// The first line of the code that is not empty.
    pub fn headline(&self) -> String {
        let line = self.code.lines().map(str::trim).find(|line| !line.is_empty());
        redacted(line.unwrap_or_default())
    }
}

impl RecordedCall {
    fn to_json(&self) -> Value {
        let (outcome, bytes) = match &self.outcome {
            RecordedOutcome::Data(data) => ("ok", Some(data.get().len())),
            RecordedOutcome::Failure(failure) => (failure.code.as_str(), None),
            RecordedOutcome::Held(_) => ("waiting", None),
            RecordedOutcome::Cancelled => ("cancelled", None),
            RecordedOutcome::LeftOut { bytes } => ("ok", Some(*bytes)),
        };
        let mut shown = json!({
            "call": self.target(),
            "args": self.args,
            "outcome": outcome,
            "startedMs": self.started_ms,
            "durationMs": self.duration_ms,
        });
        raw::put_some(&mut shown, "answerBytes", bytes);
        if let RecordedOutcome::Held(failure) = &self.outcome {
            let approval = failure.details.as_ref().and_then(|details| details.get("approval"));
            shown["approval"] = approval.and_then(|one| one.get("id")).cloned().unwrap_or_default();
        }
        shown
    }
}

/// Removes members with names of secrets, and texts that look like one.
pub(super) fn clean(mut value: Value) -> Value {
    shorten(&mut value, &SecretScrubber::default(), usize::MAX);
    each_text(&mut value);
    value
}

fn each_text(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(text),
        Value::Array(items) => items.iter_mut().for_each(each_text),
        Value::Object(members) => members.values_mut().for_each(each_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
