//! Values as JSON text, in the layout of the file they go into.

use serde_json::Value;

/// Where lines begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Indent<'a> {
    pub(super) newline: &'a str,
    /// What the line that holds the value begins with.
    pub(super) current: &'a str,
    pub(super) unit: &'a str,
}

/// Lists of plain values stay on one line up to this many characters.
const SHORT: usize = 72;

/// Maps over lines, short lists on one.
pub(super) fn lines(value: &Value, indent: Indent<'_>) -> String {
    let deeper = format!("{}{}", indent.current, indent.unit);
    let inner = Indent { current: &deeper, ..indent };
    let (open, close, children): (char, char, Vec<String>) = match value {
        Value::Array(items) if !items.is_empty() => {
            let short = inline(value, true);
            if short.len() <= SHORT && items.iter().all(|item| !item.is_object()) {
                return short;
            }
            ('[', ']', items.iter().map(|item| lines(item, inner)).collect())
        }
        Value::Object(entries) if !entries.is_empty() => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", string(key), lines(value, inner))
            };
            ('{', '}', entries.iter().map(entry).collect())
        }
        _ => return value.to_string(),
    };
    let separator = format!(",{}{deeper}", indent.newline);
    let children = children.join(&separator);
    format!("{open}{0}{deeper}{children}{0}{1}{close}", indent.newline, indent.current)
}

/// Everything on one line.
pub(super) fn inline(value: &Value, spaced: bool) -> String {
    let gap = if spaced { " " } else { "" };
    let separator = format!(",{gap}");
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(item, spaced)).collect();
            format!("[{}]", items.join(&separator))
        }
        Value::Object(entries) if !entries.is_empty() => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}:{gap}{}", string(key), inline(value, spaced))
            };
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{gap}{}{gap}}}", entries.join(&separator))
        }
        _ => value.to_string(),
    }
}

/// A text in double quotes.
pub(super) fn string(text: &str) -> String {
    Value::from(text).to_string()
}
