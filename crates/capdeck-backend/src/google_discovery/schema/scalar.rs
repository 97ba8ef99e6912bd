//! Strings, numbers and booleans, and the words said about any schema.

use serde_json::{Map, Number, Value};

use super::Direction;

/// The schema of a scalar without its description.
pub(super) fn constrained(
    members: &Map<String, Value>,
    kind: &str,
    direction: Direction,
) -> Map<String, Value> {
    let mut written = Map::from_iter([("type".into(), kind.into())]);
    let text = |key: &str| members.get(key).and_then(Value::as_str);
    match text("format") {
        Some("byte") => {
            written.insert("contentEncoding".into(), "base64".into());
        }
        // 64-bit integers travel as text: JSON numbers would lose digits.
        Some(format) => {
            written.insert("format".into(), format.into());
        }
        None => {}
    }
    if direction == Direction::Output {
        return written;
    }
    if let Some(options) = members.get("enum").and_then(Value::as_array) {
        written.insert("enum".into(), options.clone().into());
    }
    if let (Some(pattern), "string") = (text("pattern"), kind) {
        written.insert("pattern".into(), pattern.into());
    }
    if matches!(kind, "integer" | "number") {
        for bound in ["minimum", "maximum"] {
            if let Some(value) = members.get(bound).and_then(number) {
                written.insert(bound.into(), value.into());
            }
        }
    }
    written
}

/// A number, which documents write as text.
pub(in super::super) fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => match text.parse::<i64>() {
            Ok(whole) => Some(whole.into()),
            Err(_not_whole) => Number::from_f64(text.parse().ok()?),
        },
        _ => None,
    }
}

/// The default, which documents write as text whatever its type. One that does not fit the type is left out.
pub(super) fn default_value(members: &Map<String, Value>) -> Option<Value> {
    let default = members.get("default")?;
    let value = match (members.get("type").and_then(Value::as_str)?, default) {
        ("string", Value::String(_)) => default.clone(),
        ("boolean", Value::Bool(_)) => default.clone(),
        ("boolean", Value::String(text)) => Value::Bool(text.parse().ok()?),
        ("integer", _) => number(default).filter(|number| !number.is_f64())?.into(),
        ("number", _) => number(default)?.into(),
        _ => return None,
    };
    let is_repeated = members.get("repeated") == Some(&Value::Bool(true));
    Some(if is_repeated { Value::Array(vec![value]) } else { value })
}

/// Adds what the document says in words: the description, what each value means, that it is deprecated.
pub(super) fn describe(members: &Map<String, Value>, written: &mut Map<String, Value>) {
    let mut text =
        members.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |key: &str| members.get(key).and_then(Value::as_array);
    if let Some(options) = list("enum") {
        let flagged = |index: usize| {
            list("enumDeprecated").and_then(|flags| flags.get(index)) == Some(&Value::Bool(true))
        };
        for (index, option) in options.iter().enumerate() {
            let meaning = list("enumDescriptions").and_then(|all| all.get(index)?.as_str());
            let meaning = meaning.unwrap_or_default().trim();
            let mark = if flagged(index) { "deprecated. " } else { "" };
            if let (Some(option), false) = (option.as_str(), meaning.is_empty() && mark.is_empty())
            {
                text.push_str(&format!("\n- `{option}`: {mark}{meaning}"));
            }
        }
    }
    if !text.trim().is_empty() {
        written.insert("description".into(), text.trim().into());
    }
    if members.get("deprecated") == Some(&Value::Bool(true)) {
        written.insert("deprecated".into(), true.into());
    }
}
