//! Values as TOML text.

use serde_json::{Map, Value};

use crate::edit::DocumentStep;

/// Whether a value is written under headers of its own.
pub(super) fn is_section(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_object),
        _ => false,
    }
}

/// A key of the table at `map` with its value, without a line end after it.
pub(super) fn entry(map: &[DocumentStep], name: &str, value: &Value, newline: &str) -> String {
    let mut path = map.to_vec();
    path.push(DocumentStep::from(name));
    match value {
        Value::Object(entries) if is_section(value) => section(&path, entries, newline),
        Value::Array(items) if is_section(value) => {
            let items = items.iter().filter_map(Value::as_object);
            let items: Vec<String> = items.map(|one| item(&path, one, newline)).collect();
            items.join(&newline.repeat(2))
        }
        _ => format!("{} = {}", key(name), inline(value)),
    }
}

pub(super) fn item(list: &[DocumentStep], entries: &Map<String, Value>, newline: &str) -> String {
    let lines = [format!("[[{}]]", header(list))].into_iter().chain(pairs(entries));
    lines.collect::<Vec<_>>().join(newline)
}

/// A table. One that only holds tables needs no header.
fn section(path: &[DocumentStep], entries: &Map<String, Value>, newline: &str) -> String {
    if entries.values().all(is_section) {
        let blocks = entries.iter().map(|(name, value)| entry(path, name, value, newline));
        return blocks.collect::<Vec<_>>().join(&newline.repeat(2));
    }
    let lines = [format!("[{}]", header(path))].into_iter().chain(pairs(entries));
    lines.collect::<Vec<_>>().join(newline)
}

fn pairs(entries: &Map<String, Value>) -> impl Iterator<Item = String> {
    entries.iter().map(|(name, value)| format!("{} = {}", key(name), inline(value)))
}

/// The name of a table. Positions in arrays of tables are not written: the newest item is meant.
pub(super) fn header(path: &[DocumentStep]) -> String {
    let names = path.iter().filter_map(|step| match step {
        DocumentStep::Key(name) => Some(key(name)),
        DocumentStep::Index(_) => None,
    });
    names.collect::<Vec<_>>().join(".")
}

/// A key, in quotes where it needs them.
pub(super) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { string(name) }
}

/// A value on one line. TOML has no null; an empty text stands in for it.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::String(text) => string(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Object(entries) => {
            format!("{{ {} }}", pairs(entries).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The escapes of JSON are also those of TOML, which forbids one more character.
fn string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
