//! Fields of the desk's answers, and how they are shown.

use serde_json::{Map, Value, json};

use crate::{
    printer::{Printer, Style},
    table::{Cell, Table},
};

use super::moment::time;

/// A text field, empty when it is absent.
pub(in crate::commands) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A number, 0 when it is absent.
pub(in crate::commands) fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or_default()
}

/// A list, empty when it is absent.
pub(in crate::commands) fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a list, with commas.
pub(super) fn joined(value: &Value, field: &str) -> String {
    let texts: Vec<&str> = items(value, field).iter().filter_map(Value::as_str).collect();
    texts.join(", ")
}

/// A page as every listing is printed: `{items, nextCursor?, …}`.
pub(super) fn page(answer: &Value, field: &str, others: &[&str]) -> Value {
    let mut page = Map::new();
    page.insert("items".to_owned(), answer.get(field).cloned().unwrap_or_else(|| json!([])));
    for other in others {
        if let Some(value) = answer.get(*other) {
            page.insert((*other).to_owned(), value.clone());
        }
    }
    if let Some(cursor) = answer.get("next_cursor") {
        page.insert("nextCursor".to_owned(), cursor.clone());
    }
    Value::Object(page)
}

/// Entries, one a line.
pub(super) fn entries_table(entries: &[Value]) -> Table {
    let mut table = Table::new(["URI", "VERSION", "WRITTEN", "BY", "TITLE"]);
    for entry in entries {
        table.row([
            Cell::styled(Style::Strong, text(entry, "uri")),
            Cell::plain(number(entry, "version").to_string()),
            Cell::plain(time(text(entry, "written_at"))),
            Cell::plain(text(entry, "written_by")),
            Cell::plain(text(entry, "title")),
        ]);
    }
    table
}

/// Says how to get the next page.
pub(super) fn more(answer: &Value, printer: &Printer) {
    if let Some(cursor) = answer.get("next_cursor").and_then(Value::as_str) {
        printer.note(&format!("there are more; go on with: --cursor {cursor}"));
    }
}

/// `written version 3 of docs://api (specific_code: it cites files)`.
pub(super) fn written_line(done: &str, answer: &Value) -> String {
    let class = text(answer, "risk_class");
    let why = match text(answer, "promotion_reason") {
        "file_anchor" => ": it cites files",
        "function_signature" => ": it shows code",
        _ => "",
    };
    let (uri, version) = (text(answer, "uri"), number(answer, "version"));
    format!("{done} version {version} of {uri} ({class}{why})")
}
