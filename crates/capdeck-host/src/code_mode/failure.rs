//! Failed calls as a script sees them, with what helps to correct the next attempt.

use capdeck_backend::CallError;
use capdeck_catalog::{RawMembers, Tool, argument_list};
use capdeck_definition::first_letters;
use capdeck_sandbox::{CallFailure, call_text};
use serde_json::{Map, Value, json, value::RawValue};

use crate::raw;

/// The details have the whole message.
const MAX_MESSAGE_LENGTH: usize = 1000;

const PRESERVED_FIELDS: [&str; 5] = ["status", "statusText", "headers", "content", "artifacts"];

pub(super) fn of(error: &CallError) -> CallFailure {
    if let Some(detail) = &error.detail {
        tracing::warn!(code = error.code.as_str(), detail, "a call of a script failed");
    }
    let mut details = match &error.data {
        Some(Value::Object(members)) => members.clone(),
        Some(other) => Map::from_iter([("data".to_owned(), other.clone())]),
        None => Map::new(),
    };
    if let Some(remote) = &error.rpc {
        let data = remote.data.as_deref().and_then(raw::value);
        let rpc = json!({ "code": remote.code, "message": remote.message, "data": data });
        details.insert("rpc".to_owned(), rpc);
    }
    CallFailure {
        code: error.code.as_str().to_owned(),
        message: error.message.clone(),
        details: (!details.is_empty()).then_some(Value::Object(details)),
        hint: error.hint.clone(),
    }
}

pub(super) fn not_ready(error: &CallError) -> CallFailure {
    let mut failure = of(error);
    let code = std::mem::replace(&mut failure.code, "backend_not_ready".to_owned());
    failure.details.get_or_insert_with(|| json!({}))["code"] = json!(code);
    failure
}

pub(super) fn of_tool(
    id: &str,
    name: &str,
    data: &RawValue,
    facts: &RawMembers,
    tool: Option<&Tool>,
) -> CallFailure {
    let body = raw::value(data).unwrap_or_default();
    let status = facts.get("status").and_then(|status| raw::value(status));
    let message = match (error_message(&body), &status) {
        (Some(cause), Some(status)) => format!("`{name}` answered with status {status}: {cause}"),
        (None, Some(status)) => format!("`{name}` answered with status {status}"),
        (Some(cause), None) => cause,
        // Structured data is for programs; its meaning is often only in the text beside it.
        (None, None) => match texts(facts) {
            Some(texts) => format!("`{name}` reported a failure: {texts}"),
            None => format!("`{name}` reported a failure"),
        },
    };
    let mut details: Map<String, Value> = PRESERVED_FIELDS
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), raw::value(facts.get(key)?)?)))
        .collect();
    details.insert("body".to_owned(), body);
    CallFailure {
        code: "DOWNSTREAM_TOOL_ERROR".to_owned(),
        message: first_letters(&message, MAX_MESSAGE_LENGTH),
        details: Some(Value::Object(details)),
        hint: tool.map(|tool| {
            format!("call it as: {}", call_text(id, tool.name(), &argument_list(tool)))
        }),
    }
}

fn error_message(body: &Value) -> Option<String> {
    let at = |place: &str| body.pointer(place).and_then(Value::as_str).map(str::to_owned);
    match body {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) => {
            at("/error/message").or_else(|| at("/message")).or_else(|| at("/error"))
        }
        _ => None,
    }
}

fn texts(facts: &RawMembers) -> Option<String> {
    let blocks = raw::value(facts.get("content")?)?;
    let texts = blocks.as_array()?.iter().filter_map(|block| block.get("text")?.as_str());
    let joined =
        texts.map(str::trim).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    (!joined.is_empty()).then_some(joined)
}
