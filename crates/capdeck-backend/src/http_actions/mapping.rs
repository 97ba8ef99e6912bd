//! Maps a call's arguments into a declared request: `$input` as a whole string.
//!
//! Only a string that *is* a reference is replaced, and the value keeps its JSON type. A reference to a missing value
//! is *undefined*, here `None`: undefined object members are omitted, array items become null, and other uses decide
//! for themselves.

use serde_json::{Map, Value};

use crate::{CallError, ErrorCode, arguments::scalar_text};

/// Maps a declared JSON value. `None` means undefined.
pub(super) fn map_value(declared: &Value, arguments: &Map<String, Value>) -> Option<Value> {
    match declared {
        Value::String(text) => map_text(text, arguments),
        Value::Array(items) => Some(Value::Array(
            items.iter().map(|item| map_value(item, arguments).unwrap_or(Value::Null)).collect(),
        )),
        Value::Object(members) => Some(Value::Object(
            members
                .iter()
                .filter_map(|(key, member)| Some((key.clone(), map_value(member, arguments)?)))
                .collect(),
        )),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(declared.clone()),
    }
}

fn map_text(text: &str, arguments: &Map<String, Value>) -> Option<Value> {
    if text == "$input" {
        return Some(Value::Object(arguments.clone()));
    }
    let Some(path) = text.strip_prefix("$input.") else { return Some(text.into()) };
    let mut steps = path.split('.');
    let mut value = arguments.get(steps.next()?)?;
    for step in steps {
        // Only objects are traversed: an array index is undefined.
        value = value.as_object()?.get(step)?;
    }
    Some(value.clone())
}

/// Maps the query parameters. Undefined and null ones are omitted, an array repeats its name.
pub(super) fn map_query<'a>(
    declared: impl IntoIterator<Item = (&'a String, &'a Value)>,
    arguments: &Map<String, Value>,
) -> Result<Vec<(String, String)>, CallError> {
    let mut pairs = Vec::new();
    for (name, declared) in declared {
        let values = match map_value(declared, arguments) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(items)) => items,
            Some(value) => vec![value],
        };
        for value in values {
            let text = scalar_text(&value).ok_or_else(|| not_scalar("query parameter", name))?;
            pairs.push((name.clone(), text));
        }
    }
    Ok(pairs)
}

/// Maps the headers. Undefined and null ones are omitted.
pub(super) fn map_headers<'a>(
    declared: impl IntoIterator<Item = (&'a String, &'a Value)>,
    arguments: &Map<String, Value>,
) -> Result<Vec<(String, String)>, CallError> {
    let mut pairs = Vec::new();
    for (name, declared) in declared {
        match map_value(declared, arguments) {
            None | Some(Value::Null) => {}
            Some(value) => {
                let text = scalar_text(&value).ok_or_else(|| not_scalar("header", name))?;
                pairs.push((name.clone(), text));
            }
        }
    }
    Ok(pairs)
}

pub(super) fn map_body(
    declared: Option<&Value>,
    arguments: &Map<String, Value>,
) -> Result<Option<Value>, CallError> {
    let Some(declared) = declared else { return Ok(None) };
    map_value(declared, arguments).map(Some).ok_or_else(|| {
        let reference = declared.as_str().unwrap_or("$input");
        CallError::new(
            ErrorCode::RequestInvalid,
            format!("the request body is missing: `{reference}` has no value"),
        )
        .hint("call the tool with that argument")
    })
}

fn not_scalar(place: &str, name: &str) -> CallError {
    CallError::new(
        ErrorCode::RequestInvalid,
        format!("the value for {place} `{name}` must be a string, a number or a boolean"),
    )
}
