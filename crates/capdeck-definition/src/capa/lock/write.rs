//! A lock file as YAML: one key per line, lists of mappings indented by two.

use serde_json::{Map, Value};

/// The text of the file.
pub(super) fn yaml(lock: &Map<String, Value>) -> String {
    let mut text = String::new();
    for (key, value) in lock {
        match value {
            Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
                text.push_str(&format!("{}:\n", scalar(key)));
                for item in items {
                    entry(item, &mut text);
                }
            }
            other => text.push_str(&format!("{}: {}\n", scalar(key), inline(other))),
        }
    }
    text
}

fn entry(item: &Value, text: &mut String) {
    let mut lead = "  - ";
    for (key, value) in item.as_object().into_iter().flatten() {
        text.push_str(&format!("{lead}{}: {}\n", scalar(key), inline(value)));
        lead = "    ";
    }
    if lead == "  - " {
        text.push_str("  - {}\n");
    }
}

/// A value on one line. JSON is YAML, so whatever is not a plain word is written as JSON.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text without quotes where it can only be read as that text.
fn scalar(text: &str) -> String {
    let legal =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '@' | '-' | '+');
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(legal)
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word));
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}
