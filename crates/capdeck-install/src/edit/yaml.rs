//! YAML: block style by lines and indentation, flow style by commas.

mod parse;

use serde_json::Value;

use super::{
    DocumentStep, EditOperation, SyntaxError,
    commas::{self, CommaRules},
    splice::{
        TextChange, indentation, line_end, line_start, newline, next_line, part, starts_line,
    },
    tree::{DocumentNode, NodeContent, NodeEntry, NodeStyle},
};

const RULES: CommaRules = CommaRules { line_comment: "#", may_break: false, unit: "  " };

/// What a text says; null when it says nothing.
pub(super) fn read(text: &str) -> Result<Value, SyntaxError> {
    Ok(parse::parse(text)?.map_or(Value::Null, |root| root.to_value()))
}

/// The changes that make an edit; none where it cannot be made.
pub(super) fn edit(text: &str, operation: &EditOperation) -> Option<Vec<TextChange>> {
    let root = parse::parse(text).ok()?;
    match operation {
        EditOperation::Root { value } => whole(text, root.as_ref(), value),
        EditOperation::Replace { path, value } => replace(text, root.as_ref()?, path, value),
        EditOperation::Insert { map, key, value } => {
            let container = root.as_ref()?.find(map)?;
            if container.style == NodeStyle::Enclosed {
                return commas::append(text, container, RULES, |_| {
                    format!("{}: {}", scalar_text(key), flow_text(value))
                });
            }
            add(text, container, |indent| entry_lines(key, value, indent, newline(text)))
        }
        EditOperation::Append { list, item } => {
            let container = root.as_ref()?.find(list)?;
            if container.style == NodeStyle::Enclosed {
                return commas::append(text, container, RULES, |_| flow_text(item));
            }
            add(text, container, |indent| item_lines(item, indent, newline(text)))
        }
        EditOperation::Remove { path } => remove(text, root.as_ref()?, path),
    }
}

/// A value for a document that has none, after its comments.
fn whole(text: &str, root: Option<&DocumentNode>, value: &Value) -> Option<Vec<TextChange>> {
    let newline = newline(text);
    // A lone `~` or `null` is a value that the person wrote, and rare enough to be left to them.
    if root.is_some_and(|root| !root.span.is_empty()) {
        return None;
    }
    let entries = value.as_object()?.iter();
    let lines: Vec<String> =
        entries.map(|(key, value)| entry_lines(key, value, "", newline)).collect();
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    Some(vec![TextChange::insert(text.len(), format!("{gap}{}{newline}", lines.join(newline)))])
}

/// New lines after the last child of a block.
fn add(
    text: &str,
    container: &DocumentNode,
    render: impl Fn(&str) -> String,
) -> Option<Vec<TextChange>> {
    let (first, last) = (container.entries().first()?, container.entries().last()?);
    // Where a block begins on the line of another, `- a: 1`, its keys are still in one column.
    let blanks = " ".repeat(first.start - line_start(text, first.start));
    let indent =
        if starts_line(text, first.start) { indentation(text, first.start) } else { &blanks };
    let (at, newline) = (content_end(text, &last.value), newline(text));
    let rendered = render(indent);
    // A block text that ends the file may have kept its line end.
    Some(vec![if part(text, 0..at).ends_with('\n') {
        TextChange::insert(at, format!("{indent}{rendered}{newline}"))
    } else {
        TextChange::insert(at, format!("{newline}{indent}{rendered}"))
    }])
}

fn replace(
    text: &str,
    root: &DocumentNode,
    path: &[DocumentStep],
    value: &Value,
) -> Option<Vec<TextChange>> {
    let node = root.find(path)?;
    let (last, parents) = path.split_last()?;
    let container = root.find(parents)?;
    if container.style == NodeStyle::Enclosed {
        return Some(vec![TextChange { range: node.span.clone(), text: flow_text(value) }]);
    }
    let entry = container.entries().get(container.position(last)?)?;
    let indent = " ".repeat(entry.start - line_start(text, entry.start));
    let rendered = match &container.content {
        NodeContent::Map(_) => entry_lines(&entry.key, value, &indent, newline(text)),
        NodeContent::List(_) | NodeContent::Scalar(_) => item_lines(value, &indent, newline(text)),
    };
    // What was not written leaves the rest of its line, a comment perhaps, where it is.
    if node.span.is_empty()
        && let Some((head, lines)) = rendered.split_once(newline(text))
    {
        debug_assert!(head.ends_with(':'));
        let at = line_end(text, node.span.end);
        return Some(vec![TextChange::insert(at, format!("{}{lines}", newline(text)))]);
    }
    Some(vec![TextChange { range: entry.start..value_end(text, node), text: rendered }])
}

fn remove(text: &str, root: &DocumentNode, path: &[DocumentStep]) -> Option<Vec<TextChange>> {
    let (last, parents) = path.split_last()?;
    let container = root.find(parents)?;
    if container.style == NodeStyle::Enclosed {
        return commas::remove(text, container, container.position(last)?);
    }
    let position = container.position(last)?;
    let entry = container.entries().get(position)?;
    if !starts_line(text, entry.start) {
        return None;
    }
    let lines = lines_of(text, entry);
    if container.entries().len() > 1 {
        // The last line may have had no end; then the one before it has none now.
        let is_cut = lines.end == text.len() && !text.ends_with('\n');
        let kept = part(text, 0..lines.start).trim_end_matches(['\n', '\r']).len();
        return Some(vec![TextChange::delete(if is_cut { kept..lines.end } else { lines })]);
    }
    let empty = if matches!(container.content, NodeContent::Map(_)) { "{}" } else { "[]" };
    let Some((parent, above)) = parents.split_last() else {
        return Some(vec![TextChange { range: lines, text: format!("{empty}{}", newline(text)) }]);
    };
    let outer = root.find(above)?;
    let parent = outer.entries().get(outer.position(parent)?)?;
    Some(vec![TextChange::insert(parent.head, format!(" {empty}")), TextChange::delete(lines)])
}

fn lines_of(text: &str, entry: &NodeEntry) -> std::ops::Range<usize> {
    let end = content_end(text, &entry.value);
    let ends_lines = part(text, 0..end).ends_with('\n');
    line_start(text, entry.start)..if ends_lines { end } else { next_line(text, end) }
}

/// Where the last line of a value ends, with the comment beside it.
fn content_end(text: &str, node: &DocumentNode) -> usize {
    let end = value_end(text, node);
    if part(text, 0..end).ends_with('\n') { end } else { line_end(text, end) }
}

/// Where a value ends, without the blank lines after it.
fn value_end(text: &str, node: &DocumentNode) -> usize {
    match (node.style, node.entries().last()) {
        (NodeStyle::Block, Some(last)) => value_end(text, &last.value),
        _ => {
            let written = part(text, node.span.clone());
            let is_kept = written.ends_with('\n')
                && written.lines().next().is_some_and(|line| line.contains('+'));
            if is_kept { node.span.end } else { node.span.start + written.trim_end().len() }
        }
    }
}

/// A key with its value, block style. The first line is written without indentation, the others with it.
fn entry_lines(key: &str, value: &Value, indent: &str, newline: &str) -> String {
    let key = scalar_text(key);
    match child_lines(value, indent, newline) {
        Some((lines, separator)) => format!("{key}:{separator}{}", lines.join(&separator)),
        None => format!("{key}: {}", flow_text(value)),
    }
}

/// An item of a list, with its dash.
fn item_lines(value: &Value, indent: &str, newline: &str) -> String {
    match child_lines(value, indent, newline) {
        Some((lines, separator)) => format!("- {}", lines.join(&separator)),
        None => format!("- {}", flow_text(value)),
    }
}

/// What is one level deeper, and what begins each of its lines; none where there is nothing.
fn child_lines(value: &Value, indent: &str, newline: &str) -> Option<(Vec<String>, String)> {
    let deeper = format!("{indent}  ");
    let lines: Vec<String> = match value {
        Value::Object(entries) => {
            let lines = entries.iter();
            lines.map(|(name, value)| entry_lines(name, value, &deeper, newline)).collect()
        }
        Value::Array(items) => items.iter().map(|one| item_lines(one, &deeper, newline)).collect(),
        _ => Vec::new(),
    };
    (!lines.is_empty()).then(|| (lines, format!("{newline}{deeper}")))
}

/// A value on one line. Flow style in double quotes is JSON.
fn flow_text(value: &Value) -> String {
    match value {
        Value::String(text) => scalar_text(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow_text).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", scalar_text(key), flow_text(value))
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text, plain where no reader could take it for anything else.
fn scalar_text(text: &str) -> String {
    // Words that some version of YAML reads as something else.
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
