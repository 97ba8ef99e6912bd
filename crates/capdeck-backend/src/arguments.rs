//! The arguments of a call, read for backends that have to look inside.

use serde_json::{Map, Value, value::RawValue};

use crate::{CallError, ErrorCode};

/// The arguments object; no arguments are an empty one.
pub(crate) fn read_arguments(
    arguments: Option<&RawValue>,
) -> Result<Map<String, Value>, CallError> {
    let Some(arguments) = arguments else { return Ok(Map::new()) };
    match serde_json::from_str(arguments.get()) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) | Err(_) => {
            Err(CallError::new(ErrorCode::RequestInvalid, "the arguments are not a JSON object")
                .hint("send the arguments as one object, such as `{\"name\": \"value\"}`"))
        }
    }
}

/// A string, number or boolean as text. `None` for everything else.
///
/// Whole numbers written as `2.0` come out as `2`, as they do in the languages such files are written for.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The error for a tool this backend does not have.
pub(crate) fn no_such_tool<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a String>,
) -> CallError {
    let mut known: Vec<&str> = known.into_iter().map(String::as_str).collect();
    known.sort_unstable();
    let shown =
        known.iter().take(10).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    CallError::new(ErrorCode::ToolNotFound, format!("there is no tool `{name}`"))
        .hint(format!("tools here: {shown}"))
}
