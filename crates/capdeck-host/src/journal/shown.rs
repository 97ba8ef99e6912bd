//! A recorded run as shown: without results, and without texts that look like a secret.

use capdeck_auth::SecretScrubber;
use serde_json::{Value, json};

use super::record::{RecordedCall, RecordedOutcome, RunEnd, RunRecord};
use crate::{consent::shorten, redact::redacted};

impl RunRecord {
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
        if let Some(reason) = &self.unrepeatable {
            item["unrepeatable"] = json!(reason);
        }
        item
    }

    /// The details of the run.
    pub fn shown(&self) -> Value {
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
            "calls": self.calls.iter().map(RecordedCall::shown).collect::<Vec<_>>(),
            "diagnostics": self.diagnostics,
        });
        let mut put = |key: &str, value: Value| shown[key] = value;
        if let Some(session) = &self.session {
            put("session", json!(session));
        }
        if let Some(after) = &self.after {
            put("after", json!(after));
        }
        if let Some(reason) = &self.unrepeatable {
            put("unrepeatable", json!(reason));
        }
        match &self.end {
            RunEnd::Value(value) => {
                put("value", clean(serde_json::from_str(value.get()).unwrap_or_default()));
            }
            RunEnd::LargeValue { bytes, .. } => put("valueBytes", json!(bytes)),
            RunEnd::Error(error) => put("error", clean(json!(error))),
            RunEnd::Nothing => {}
        }
        let logs = self
            .logs
            .iter()
            .map(|entry| json!({ "level": entry.level, "message": redacted(&entry.message) }));
        put("logs", logs.collect());
        shown
    }

    /// The first line of the code that is not empty.
    pub fn headline(&self) -> String {
        let line = self.code.lines().map(str::trim).find(|line| !line.is_empty());
        redacted(line.unwrap_or_default())
    }
}

impl RecordedCall {
    fn shown(&self) -> Value {
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
        if let Some(bytes) = bytes {
            shown["answerBytes"] = json!(bytes);
        }
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
