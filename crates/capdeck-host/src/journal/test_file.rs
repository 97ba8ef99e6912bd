//! A recorded run as a test: code, the results of its calls, and the expectations. As text it is
//! YAML with readable code, and JSON, which is YAML, for the rest.

use std::{collections::BTreeMap, fmt::Write as _};

use capdeck_sandbox::{CallFailure, DeckOperation, HandlerResponse, ReplayMoment};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    record::{RecordedCall, RecordedOutcome, RunEnd, RunRecord},
    replay::{ExpectedArgs, ExpectedCall},
};

/// A test of code mode that needs no server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestFile {
    pub test: String,
    /// The cells of one session, in order; the expectations are about the last.
    pub cells: Vec<TestCell>,
    pub expect: TestExpectation,
}

/// One cell and the results of its calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCell {
    pub code: String,
    /// The script's clock at the start, in milliseconds since 1970.
    #[serde(default)]
    pub now_ms: i64,
    #[serde(default)]
    pub seed: u64,
    /// Capabilities that the code may name, besides those it calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<TestCall>,
}

/// A call and its result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// The called tool; else `method` names the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<DeckOperation>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The result's data; a failure has none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CallFailure>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub meta: Value,
    /// Its position among the results, when they did not come in the order of the calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<ReplayMoment>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub unanswered: bool,
}

/// The expectations of the last cell. All that are set must be met.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestExpectation {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The value contains this: members of objects, items of lists, parts of texts.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub contains: Option<Value>,
    /// The run fails with this code, its own or that of the failed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The calls, in the order they are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<String>>,
}

/// A member that is present, even if it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl TestFile {
    /// Makes a test of recorded runs of one session; expects the result of the last one.
    pub fn from_runs(runs: &[RunRecord]) -> Self {
        let last = runs.last();
        let mut expect = TestExpectation::default();
        if let Some(run) = last {
            match &run.end {
                RunEnd::Value(value) => expect.value = serde_json::from_str(value.get()).ok(),
                RunEnd::Error(error) => {
                    expect.error = json!(error.code).as_str().map(str::to_owned);
                }
                RunEnd::LargeValue { .. } | RunEnd::Nothing => {}
            }
            expect.calls = Some(run.calls.iter().map(RecordedCall::target).collect());
        }
        let id = last.map(|run| run.id.as_str()).unwrap_or_default();
        let cells = runs.iter().map(TestCell::from_run).collect();
        Self { test: format!("run {id}"), cells, expect }
    }
}

impl TestCell {
    fn from_run(run: &RunRecord) -> Self {
        let moments: BTreeMap<usize, ReplayMoment> =
            run.moments.iter().copied().enumerate().collect();
        let calls: Vec<TestCall> =
            run.calls.iter().map(|call| TestCall::from_call(call, &moments)).collect();
        let called = |id: &&String| !calls.iter().any(|call| call.capability.as_ref() == Some(*id));
        let named = |id: &&String| run.code.contains(id.as_str());
        let capabilities = run.capabilities.iter().filter(called).filter(named).cloned().collect();
        Self { code: run.code.clone(), now_ms: run.now_ms, seed: run.seed, capabilities, calls }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let called = self.calls.iter().filter_map(|call| call.capability.clone());
        let mut names: Vec<String> = self.capabilities.iter().cloned().chain(called).collect();
        names.sort();
        names.dedup();
        names
    }

    pub(crate) fn moments(&self) -> Vec<ReplayMoment> {
        let mut taken: Vec<(usize, ReplayMoment)> = Vec::new();
        for (index, call) in self.calls.iter().filter(|call| !call.unanswered).enumerate() {
            let Some(moment) = call.taken else { return Vec::new() };
            taken.push((call.place.unwrap_or(index), moment));
        }
        taken.sort_by_key(|(place, _)| *place);
        taken.into_iter().map(|(_, moment)| moment).collect()
    }

    pub(crate) fn known_calls(&self) -> Vec<ExpectedCall> {
        let mut answered = 0;
        let mut known = |call: &TestCall| {
            let index = answered;
            answered += usize::from(!call.unanswered);
            call.known(index)
        };
        self.calls.iter().map(&mut known).collect()
    }
}

impl TestCall {
    fn from_call(call: &RecordedCall, moments: &BTreeMap<usize, ReplayMoment>) -> Self {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let mut shown = Self {
            capability: call.capability.clone(),
            place: call.place,
            taken: call.place.and_then(|place| moments.get(&place).copied()),
            meta: call.meta.as_ref().map_or(Value::Null, |meta| parse(meta.get())),
            ..Self::default()
        };
        match call.tool() {
            Some(tool) => {
                shown.tool = Some(tool.to_owned());
                shown.args = call.args.get("args").cloned().unwrap_or_default();
                let fields = call.args.get("fields").cloned().unwrap_or_default();
                shown.fields = serde_json::from_value(fields).unwrap_or_default();
            }
            None => {
                shown.method = Some(call.method);
                shown.args = call.args.clone();
            }
        }
        match &call.outcome {
            RecordedOutcome::Data(data) => shown.data = parse(data.get()),
            RecordedOutcome::Failure(failure) => shown.failure = Some(failure.clone()),
            RecordedOutcome::Held(_)
            | RecordedOutcome::Cancelled
            | RecordedOutcome::LeftOut { .. } => shown.unanswered = true,
        }
        shown
    }

    pub(crate) fn target(&self) -> String {
        let method = self.method.map_or("callTool", DeckOperation::script_name);
        match (&self.capability, &self.tool) {
            (Some(capability), Some(tool)) => format!("{capability}.{tool}"),
            (Some(capability), None) => format!("{capability}.{method}()"),
            (None, _) => format!("{method}()"),
        }
    }

    fn known(&self, index: usize) -> ExpectedCall {
        let args = match (&self.tool, &self.args) {
            (Some(tool), args) => {
                let mut whole = json!({ "name": tool });
                whole["args"] = if args.is_null() { json!({}) } else { args.clone() };
                if !self.fields.is_empty() {
                    whole["fields"] = json!(self.fields);
                }
                whole
            }
            (None, Value::Null) => json!({}),
            (None, args) => args.clone(),
        };
        let raw = |value: &Value| serde_json::value::to_raw_value(value).ok();
        let outcome = match &self.failure {
            Some(failure) => Some(Err(failure.clone())),
            None => raw(&self.data).map(Ok),
        };
        let meta = (!self.meta.is_null()).then(|| raw(&self.meta)).flatten();
        let answer = outcome
            .filter(|_| !self.unanswered)
            .map(|outcome| (self.place.unwrap_or(index), HandlerResponse { outcome, meta }));
        ExpectedCall {
            capability: self.capability.clone(),
            method: self.method.unwrap_or(DeckOperation::CallTool),
            args: ExpectedArgs::Like(args),
            target: self.target(),
            answer,
        }
    }
}

impl TestFile {
    /// The file's text.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("test: {}\ncells:\n", json_text(&self.test));
        for cell in &self.cells {
            cell.write(&mut text);
        }
        text.push_str("expect:");
        let expect = members(&self.expect);
        if expect.is_empty() {
            text.push_str(" {}");
        }
        text.push('\n');
        for (key, value) in expect {
            let _written = writeln!(text, "  {key}: {}", json_text(&value));
        }
        text
    }
}

impl TestCell {
    fn write(&self, text: &mut String) {
        let code = self.code.trim_end();
        // A block keeps the code readable; what a block cannot hold is a quoted text.
        let fits = |letter: char| !letter.is_control() || "\n\t".contains(letter);
        if code.starts_with([' ', '\t', '\n']) || code.is_empty() || !code.chars().all(fits) {
            let _written = writeln!(text, "  - code: {}", json_text(&self.code));
        } else {
            text.push_str("  - code: |\n");
            for line in code.lines() {
                let _written = writeln!(text, "      {line}");
            }
        }
        for (key, value) in members(self) {
            match (key.as_str(), &value) {
                ("code", _) => {}
                ("calls", Value::Array(calls)) => {
                    text.push_str("    calls:\n");
                    for call in calls {
                        let _written = writeln!(text, "      - {}", json_text(call));
                    }
                }
                _ => {
                    let _written = writeln!(text, "    {key}: {}", json_text(&value));
                }
            }
        }
    }
}

fn members(value: &impl Serialize) -> Vec<(String, Value)> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
