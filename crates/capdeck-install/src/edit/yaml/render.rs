//! Values as YAML text.

use serde_json::Value;

/// A key with its value, block style. The first line is written without indentation, the others with it.
pub(super) fn entry(key: &str, value: &Value, indent: &str, newline: &str) -> String {
    let key = scalar_text(key);
    let deeper = format!("{indent}  ");
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let lines = entries.iter().map(|(name, value)| {
                format!("{newline}{deeper}{}", entry(name, value, &deeper, newline))
            });
            format!("{key}:{}", lines.collect::<String>())
        }
        Value::Array(items) if !items.is_empty() => {
            let lines =
                items.iter().map(|one| format!("{newline}{deeper}{}", item(one, &deeper, newline)));
            format!("{key}:{}", lines.collect::<String>())
        }
        _ => format!("{key}: {}", inline(value)),
    }
}

/// An item of a list, with its dash.
pub(super) fn item(value: &Value, indent: &str, newline: &str) -> String {
    let deeper = format!("{indent}  ");
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let lines: Vec<String> =
                entries.iter().map(|(name, value)| entry(name, value, &deeper, newline)).collect();
            format!("- {}", lines.join(&format!("{newline}{deeper}")))
        }
        Value::Array(items) if !items.is_empty() => {
            let lines: Vec<String> = items.iter().map(|one| item(one, &deeper, newline)).collect();
            format!("- {}", lines.join(&format!("{newline}{deeper}")))
        }
        _ => format!("- {}", inline(value)),
    }
}

/// A value on one line. Flow style in double quotes is JSON.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar_text(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", scalar_text(key), inline(value))
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text, plain where no reader could take it for anything else.
pub(super) fn scalar_text(text: &str) -> String {
    // Words that some version of YAML reads as something else.
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
