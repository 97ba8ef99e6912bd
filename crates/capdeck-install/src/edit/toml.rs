//! TOML: statements on lines of their own, and inline values inside some of them. `toml_edit` reads the text and says where
//! each part is; an edit replaces bytes, because `toml_edit` itself would write LF for CRLF and dotted keys in another order.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml_edit::{Item, Table, Value as TomlValue};

use super::{
    DocumentStep, EditOperation, SyntaxError,
    commas::{self, CommaRules},
    splice::{
        self, TextChange, line_end, line_start, newline, next_line, part, place_of, skip_blanks,
    },
    tree::{DocumentNode, NodeContent, NodeEntry},
};

const RULES: CommaRules = CommaRules { line_comment: "#", may_break: false, unit: "  " };

/// What a text says; null when it says nothing.
pub(super) fn read(text: &str) -> Result<Value, SyntaxError> {
    let document = toml_edit::Document::parse(text).map_err(|error| {
        let (line, column) = place_of(text, error.span().map_or(0, |span| span.start));
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        SyntaxError { line, column, message }
    })?;
    let value = table_value(document.as_table());
    Ok(if value.as_object().is_some_and(Map::is_empty) { Value::Null } else { value })
}

/// The changes that make an edit; none where it cannot be made.
pub(super) fn edit(text: &str, operation: &EditOperation) -> Option<Vec<TextChange>> {
    let known = statements(text)?;
    match operation {
        EditOperation::Root { value } => {
            let entries = value.as_object()?.iter();
            let added = entries.map(|(key, value)| render_entry(&[], key, value, newline(text)));
            let added = added.collect::<Vec<_>>().join(newline(text));
            Some(vec![block_at_end(text, &added)])
        }
        EditOperation::Insert { map, key, value } => insert(text, &known, map, key, value),
        EditOperation::Append { list, item } => append(text, &known, list, item),
        EditOperation::Replace { path, value } => replace(text, &known, path, value),
        EditOperation::Remove { path } => remove(text, &known, path),
    }
}

fn insert(
    text: &str,
    known: &[TomlStatement],
    map: &[DocumentStep],
    key: &str,
    value: &Value,
) -> Option<Vec<TextChange>> {
    if let Some(pair) = known.iter().find(|statement| statement.holds(map)) {
        let node = pair.node(text)?;
        let container = node.find(map.get(pair.path.len()..)?)?;
        return commas::append(text, container, RULES, |_| {
            format!("{} = {}", key_text(key), inline_text(value))
        });
    }
    let newline = newline(text);
    let rendered = render_entry(map, key, value, newline);
    if is_section(value) {
        let last = known.iter().rev().find(|statement| statement.path.starts_with(map));
        return Some(vec![match last.filter(|_| !map.is_empty()) {
            Some(last) => block_after(text, last, &rendered),
            None => block_at_end(text, &rendered),
        }]);
    }
    let own = |statement: &&TomlStatement| !statement.is_header() && statement.section == map;
    if let Some(last) = known.iter().rev().find(own) {
        let at = line_end(text, last.span.end);
        return Some(vec![TextChange::insert(at, format!("{newline}{rendered}"))]);
    }
    if map.is_empty() {
        let gap = if text.is_empty() { "" } else { newline };
        return Some(vec![TextChange::insert(0, format!("{rendered}{newline}{gap}"))]);
    }
    let header =
        known.iter().rev().find(|statement| statement.is_header() && statement.path == map);
    Some(vec![match header {
        Some(header) => {
            TextChange::insert(line_end(text, header.span.end), format!("{newline}{rendered}"))
        }
        None => block_at_end(text, &format!("[{}]{newline}{rendered}", header_text(map))),
    }])
}

fn append(
    text: &str,
    known: &[TomlStatement],
    list: &[DocumentStep],
    item: &Value,
) -> Option<Vec<TextChange>> {
    if let Some(pair) = known.iter().find(|statement| statement.holds(list)) {
        let node = pair.node(text)?;
        let container = node.find(list.get(pair.path.len()..)?)?;
        return commas::append(text, container, RULES, |_| inline_text(item));
    }
    let last = known.iter().rev().find(|statement| statement.path.starts_with(list))?;
    let rendered = render_item(list, item.as_object()?, newline(text));
    Some(vec![block_after(text, last, &rendered)])
}

fn replace(
    text: &str,
    known: &[TomlStatement],
    path: &[DocumentStep],
    value: &Value,
) -> Option<Vec<TextChange>> {
    if let Some(pair) = known.iter().find(|statement| statement.holds(path)) {
        let node = pair.node(text)?;
        let span = node.find(path.get(pair.path.len()..)?)?.span.clone();
        return Some(vec![TextChange { range: span, text: inline_text(value) }]);
    }
    let (DocumentStep::Key(key), map) = path.split_last()? else { return None };
    let ours: Vec<&TomlStatement> =
        known.iter().filter(|statement| statement.path.starts_with(path)).collect();
    let (first, last) = (ours.first()?, ours.last()?);
    let is_whole = known
        .iter()
        .filter(|other| (first.span.start..last.span.end).contains(&other.span.start))
        .all(|other| other.path.starts_with(path));
    if is_whole && first.is_header() && is_section(value) {
        let rendered = render_entry(map, key, value, newline(text));
        let range = line_start(text, first.span.start)..line_end(text, last.span.end);
        return Some(vec![TextChange { range, text: rendered }]);
    }
    // Scattered over the file: out with all of it, then in again as one.
    let without = splice::apply(text, remove(text, known, path)?)?;
    let changes = insert(&without, &statements(&without)?, map, key, value)?;
    let text_after = splice::apply(&without, changes)?;
    Some(vec![TextChange { range: 0..text.len(), text: text_after }])
}

fn remove(text: &str, known: &[TomlStatement], path: &[DocumentStep]) -> Option<Vec<TextChange>> {
    let inside = known.iter().find(|statement| statement.holds(path) && statement.path != path);
    if let Some(pair) = inside {
        let node = pair.node(text)?;
        let (last, parents) = path.get(pair.path.len()..)?.split_last()?;
        let container = node.find(parents)?;
        return commas::remove(text, container, container.position(last)?);
    }
    let mut changes: Vec<TextChange> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    for statement in known {
        let lines = line_start(text, statement.span.start)..next_line(text, statement.span.end);
        if !statement.path.starts_with(path) {
            changes.extend(open.take().map(TextChange::delete));
        } else if let Some(range) = &mut open {
            range.end = lines.end;
        } else {
            let start =
                if statement.is_header() { before_blank(text, lines.start) } else { lines.start };
            open = Some(start..lines.end);
        }
    }
    changes.extend(open.map(TextChange::delete));
    Some(changes)
}

/// A section goes with the blank line before it.
fn before_blank(text: &str, start: usize) -> usize {
    match start.checked_sub(1) {
        Some(end) if part(text, line_start(text, end)..end).trim().is_empty() => {
            line_start(text, end)
        }
        _ => start,
    }
}

fn block_after(text: &str, statement: &TomlStatement, block: &str) -> TextChange {
    let newline = newline(text);
    let at = line_end(text, statement.span.end);
    TextChange::insert(at, format!("{newline}{newline}{block}"))
}

fn block_at_end(text: &str, block: &str) -> TextChange {
    let newline = newline(text);
    let gap = match text {
        "" => String::new(),
        _ if text.ends_with("\n\n") || text.ends_with("\n\r\n") => String::new(),
        _ if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    TextChange::insert(text.len(), format!("{gap}{block}{newline}"))
}

#[derive(Debug)]
struct TomlStatement {
    /// Of a pair; a header has none.
    value: Option<TomlValue>,
    /// What it defines, from the root, with the positions in arrays of tables.
    path: Vec<DocumentStep>,
    /// The section it belongs to; its own path for a header.
    section: Vec<DocumentStep>,
    /// Without indentation and comment.
    span: Range<usize>,
}

impl TomlStatement {
    fn is_header(&self) -> bool {
        self.value.is_none()
    }

    /// Whether `path` leads into, or to, the value of this pair.
    fn holds(&self, path: &[DocumentStep]) -> bool {
        !self.is_header() && path.starts_with(&self.path)
    }

    /// The value of a pair with the places of its parts. Dotted keys in an inline table are not taken apart.
    fn node(&self, text: &str) -> Option<DocumentNode> {
        node(text, self.value.as_ref()?)
    }
}

/// All statements in order, with the places that the parser gives them.
fn statements(text: &str) -> Option<Vec<TomlStatement>> {
    let document = toml_edit::Document::parse(text).ok()?;
    let mut found = Vec::new();
    collect(text, document.as_table(), &[], &[], &mut found)?;
    found.sort_by_key(|statement| statement.span.start);
    Some(found)
}

fn collect(
    text: &str,
    table: &Table,
    path: &[DocumentStep],
    section: &[DocumentStep],
    found: &mut Vec<TomlStatement>,
) -> Option<()> {
    for (name, item) in table {
        let path = [path, &[DocumentStep::from(name)]].concat();
        match item {
            Item::None => {}
            Item::Value(value) => {
                let (key, _) = table.get_key_value(name)?;
                // A dotted key begins before its last part.
                let start = skip_blanks(text, line_start(text, key.span()?.start));
                let span = start..value.span()?.end;
                let (value, section) = (Some(value.clone()), section.to_vec());
                found.push(TomlStatement { value, path, section, span });
            }
            Item::Table(inner) if inner.is_dotted() => collect(text, inner, &path, section, found)?,
            Item::Table(inner) => {
                if !inner.is_implicit() {
                    found.push(header_of(inner, &path)?);
                }
                collect(text, inner, &path, &path, found)?;
            }
            Item::ArrayOfTables(tables) => {
                for (index, inner) in tables.iter().enumerate() {
                    let path = [path.as_slice(), &[DocumentStep::Index(index)]].concat();
                    found.push(header_of(inner, &path)?);
                    collect(text, inner, &path, &path, found)?;
                }
            }
        }
    }
    Some(())
}

fn header_of(table: &Table, path: &[DocumentStep]) -> Option<TomlStatement> {
    let (path, section) = (path.to_vec(), path.to_vec());
    Some(TomlStatement { value: None, path, section, span: table.span()? })
}

fn table_value(table: &Table) -> Value {
    let entry = |(key, item): (&str, &Item)| (key.to_owned(), item_value(item));
    Value::Object(Map::from_iter(table.iter().map(entry)))
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(table_value).collect(),
    }
}

fn plain(value: &TomlValue) -> Value {
    match value {
        TomlValue::String(text) => Value::from(text.value().as_str()),
        TomlValue::Integer(number) => Value::from(*number.value()),
        TomlValue::Float(number) => match Number::from_f64(*number.value()) {
            Some(finite) => Value::Number(finite),
            None => Value::from(number.value().to_string()),
        },
        TomlValue::Boolean(value) => Value::from(*value.value()),
        TomlValue::Datetime(moment) => Value::from(moment.value().to_string()),
        TomlValue::Array(items) => items.iter().map(plain).collect(),
        TomlValue::InlineTable(entries) => Value::Object(Map::from_iter(
            entries.iter().map(|(key, value)| (key.to_owned(), plain(value))),
        )),
    }
}

fn node(text: &str, value: &TomlValue) -> Option<DocumentNode> {
    let content = match value {
        TomlValue::Array(items) => {
            let items = items.iter().map(|item| node(text, item).map(NodeEntry::item));
            NodeContent::List(items.collect::<Option<_>>()?)
        }
        TomlValue::InlineTable(entries) => {
            let entry = |(name, item): (&str, &TomlValue)| {
                let (key, _) = entries.get_key_value(name)?;
                let (start, item) = (key.span()?.start, NodeEntry::item(node(text, item)?));
                Some(NodeEntry { key: name.to_owned(), start, ..item })
            };
            NodeContent::Map(entries.iter().map(entry).collect::<Option<_>>()?)
        }
        _ => return Some(DocumentNode::scalar(value.span()?, plain(value))),
    };
    Some(DocumentNode::enclosed(text, value.span()?, content))
}

/// Whether a value is written under headers of its own.
fn is_section(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_object),
        _ => false,
    }
}

/// A key of the table at `map` with its value, without a line end after it.
fn render_entry(map: &[DocumentStep], name: &str, value: &Value, newline: &str) -> String {
    let mut path = map.to_vec();
    path.push(DocumentStep::from(name));
    match value {
        Value::Object(entries) if is_section(value) => render_section(&path, entries, newline),
        Value::Array(items) if is_section(value) => {
            let items = items.iter().filter_map(Value::as_object);
            let items: Vec<String> = items.map(|one| render_item(&path, one, newline)).collect();
            items.join(&newline.repeat(2))
        }
        _ => format!("{} = {}", key_text(name), inline_text(value)),
    }
}

fn render_item(list: &[DocumentStep], entries: &Map<String, Value>, newline: &str) -> String {
    let lines = [format!("[[{}]]", header_text(list))].into_iter().chain(render_pairs(entries));
    lines.collect::<Vec<_>>().join(newline)
}

/// A table. One that only holds tables needs no header.
fn render_section(path: &[DocumentStep], entries: &Map<String, Value>, newline: &str) -> String {
    if entries.values().all(is_section) {
        let blocks = entries.iter().map(|(name, value)| render_entry(path, name, value, newline));
        return blocks.collect::<Vec<_>>().join(&newline.repeat(2));
    }
    let lines = [format!("[{}]", header_text(path))].into_iter().chain(render_pairs(entries));
    lines.collect::<Vec<_>>().join(newline)
}

fn render_pairs(entries: &Map<String, Value>) -> impl Iterator<Item = String> {
    entries.iter().map(|(name, value)| format!("{} = {}", key_text(name), inline_text(value)))
}

/// The name of a table. Positions in arrays of tables are not written: the newest item is meant.
fn header_text(path: &[DocumentStep]) -> String {
    let names = path.iter().filter_map(|step| match step {
        DocumentStep::Key(name) => Some(key_text(name)),
        DocumentStep::Index(_) => None,
    });
    names.collect::<Vec<_>>().join(".")
}

/// A key, in quotes where it needs them.
fn key_text(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { string_text(name) }
}

/// A value on one line. TOML has no null; an empty text replaces it.
fn inline_text(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::String(text) => string_text(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline_text).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Object(entries) => {
            format!("{{ {} }}", render_pairs(entries).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The escapes of JSON are also those of TOML, which forbids one more character.
fn string_text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
