//! JSON with comments and trailing commas.

use serde_json::Value;

use super::{
    DocumentStep, EditOperation, SyntaxError,
    commas::{self, CommaRules, ItemLayout},
    splice::{self, TextChange, indentation, newline, place_of, starts_line},
    tree::{DocumentNode, NodeContent},
};
use crate::edit::{
    splice::part,
    tree::{NodeEntry, NodeStyle},
};

/// What a text says; null when it says nothing.
pub(super) fn read(text: &str) -> Result<Value, SyntaxError> {
    Ok(parse(text)?.map_or(Value::Null, |root| root.to_value()))
}

/// The changes that make an edit; none where it cannot be made.
pub(super) fn edit(text: &str, operation: &EditOperation) -> Option<Vec<TextChange>> {
    let root = parse(text).ok()?;
    let rules = CommaRules { line_comment: "//", may_break: true, unit: unit(text, root.as_ref()) };
    match operation {
        EditOperation::Root { value } => Some(vec![whole(text, root.as_ref(), value, rules)]),
        EditOperation::Replace { path, value } => {
            let node = root.as_ref()?.find(path)?;
            let indent = indentation(text, node.span.start).to_owned();
            let shape = if text.trim().contains('\n') {
                ItemLayout::Lines(indent)
            } else {
                ItemLayout::Inline { spaced: text.contains(": ") }
            };
            let text = write(value, &shape, rules, newline(text));
            Some(vec![TextChange { range: node.span.clone(), text }])
        }
        EditOperation::Insert { map, key, value } => {
            commas::append(text, root.as_ref()?.find(map)?, rules, |shape| {
                let colon =
                    if matches!(shape, ItemLayout::Inline { spaced: false }) { ":" } else { ": " };
                let value = write(value, shape, rules, newline(text));
                format!("{}{colon}{value}", string(key))
            })
        }
        EditOperation::Append { list, item } => {
            commas::append(text, root.as_ref()?.find(list)?, rules, |shape| {
                write(item, shape, rules, newline(text))
            })
        }
        EditOperation::Remove { path } => remove(text, root.as_ref()?, path),
    }
}

fn write(value: &Value, shape: &ItemLayout, rules: CommaRules, newline: &str) -> String {
    match shape {
        ItemLayout::Lines(indent) => {
            lines(value, LineIndent { newline, current: indent, unit: rules.unit })
        }
        ItemLayout::Inline { spaced } => inline(value, *spaced),
    }
}

/// A value for a document that has none, after its comments.
fn whole(text: &str, root: Option<&DocumentNode>, value: &Value, rules: CommaRules) -> TextChange {
    let newline = newline(text);
    let rendered = lines(value, LineIndent { newline, current: "", unit: rules.unit });
    if let Some(root) = root {
        return TextChange { range: root.span.clone(), text: rendered };
    }
    let kept = text.trim_end();
    let before = if kept.is_empty() { "" } else { newline };
    TextChange { range: kept.len()..text.len(), text: format!("{before}{rendered}{newline}") }
}

/// Every writing of the key goes, or an earlier one would come to count.
fn remove(text: &str, root: &DocumentNode, path: &[DocumentStep]) -> Option<Vec<TextChange>> {
    let (last, parents) = path.split_last()?;
    let container = root.find(parents)?;
    let twins = match last {
        DocumentStep::Key(key) => {
            container.entries().iter().filter(|entry| entry.key == *key).count()
        }
        DocumentStep::Index(_) => 1,
    };
    let changes = commas::remove(text, container, container.position(last)?)?;
    if twins == 1 {
        return Some(changes);
    }
    let once = splice::apply(text, changes)?;
    let rest = remove(&once, &parse(&once).ok()??, path)?;
    let text_after = splice::apply(&once, rest)?;
    Some(vec![TextChange { range: 0..text.len(), text: text_after }])
}

/// One level of indentation: what the first line inside the document begins with.
fn unit(text: &str, root: Option<&DocumentNode>) -> &'static str {
    let entries = root.map(DocumentNode::entries).unwrap_or_default();
    let Some(first) = entries.first().filter(|first| starts_line(text, first.start)) else {
        return "  ";
    };
    // A document whose first level is not indented may still indent the second.
    let nested = || entries.iter().find_map(|entry| entry.value.entries().first());
    match (indentation(text, first.start), nested()) {
        ("", Some(nested)) if indentation(text, nested.start).starts_with('\t') => "\t",
        ("", Some(nested)) if indentation(text, nested.start).len() == 4 => "    ",
        (depth, _) if depth.starts_with('\t') => "\t",
        (depth, _) => match depth.len() {
            1 => " ",
            3 => "   ",
            4 => "    ",
            8 => "        ",
            _ => "  ",
        },
    }
}

/// Nesting beyond this is refused, as recursion must end.
const MAX_DEPTH: usize = 128;

/// The one value of the text, or none when there is nothing but blanks and comments.
fn parse(text: &str) -> Result<Option<DocumentNode>, SyntaxError> {
    let mut parser = JsonTextParser { text, at: 0 };
    parser.skip()?;
    if parser.peek().is_none() {
        return Ok(None);
    }
    let root = parser.value(0)?;
    parser.skip()?;
    match parser.peek() {
        None => Ok(Some(root)),
        Some(found) => Err(parser.expected("the end of the file", found)),
    }
}

struct JsonTextParser<'a> {
    text: &'a str,
    at: usize,
}

impl JsonTextParser<'_> {
    fn rest(&self) -> &str {
        part(self.text, self.at..self.text.len())
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Over blanks and comments.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            let blanks = rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if let Some(inner) = trimmed.strip_prefix("/*") {
                let Some(length) = inner.find("*/") else {
                    self.at += blanks;
                    return Err(self.wrong("this comment has no end"));
                };
                length + 4
            } else {
                0
            };
            self.at += blanks + comment;
            if comment == 0 {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<DocumentNode, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        let start = self.at;
        let content = match self.peek() {
            Some('{') => NodeContent::Map(self.children('}', depth)?),
            Some('[') => NodeContent::List(self.children(']', depth)?),
            Some('"') => NodeContent::Scalar(Value::String(self.string()?)),
            Some(_) => NodeContent::Scalar(self.word()?),
            None => return Err(self.wrong("the file ends where a value is expected")),
        };
        Ok(DocumentNode { span: start..self.at, content, style: NodeStyle::Enclosed })
    }

    fn children(&mut self, close: char, depth: usize) -> Result<Vec<NodeEntry>, SyntaxError> {
        let open = self.at;
        self.at += 1;
        let mut entries: Vec<NodeEntry> = Vec::new();
        loop {
            self.skip()?;
            match self.peek() {
                None => {
                    self.at = open;
                    return Err(self.wrong(format!("this bracket is never closed with `{close}`")));
                }
                Some(found) if found == close => {
                    self.at += 1;
                    return Ok(entries);
                }
                Some(found) if entries.last().is_some_and(|last| last.comma.is_none()) => {
                    return Err(self.expected(&format!("`,` or `{close}`"), found));
                }
                Some(_) => {}
            }
            let start = self.at;
            let key = if close == '}' { self.key()? } else { String::new() };
            let head = self.at;
            let value = self.value(depth + 1)?;
            self.skip()?;
            let comma = (self.peek() == Some(',')).then_some(self.at);
            self.at += usize::from(comma.is_some());
            entries.push(NodeEntry { key, start, head, value, comma });
        }
    }

    fn key(&mut self) -> Result<String, SyntaxError> {
        match self.peek() {
            Some('"') => {}
            Some(found) => return Err(self.expected("a key in double quotes", found)),
            None => return Err(self.wrong("the file ends where a key is expected")),
        }
        let key = self.string()?;
        self.skip()?;
        match self.peek() {
            Some(':') => self.at += 1,
            Some(found) => return Err(self.expected("`:`", found)),
            None => return Err(self.wrong("the file ends where `:` is expected")),
        }
        self.skip()?;
        Ok(key)
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let mut is_escaped = false;
        let end = self.rest().char_indices().skip(1).find(|(_, character)| {
            let ends = *character == '"' && !is_escaped;
            is_escaped = *character == '\\' && !is_escaped;
            ends || *character == '\n'
        });
        let Some((length, '"')) = end else {
            return Err(self.wrong("this text has no closing quote on its line"));
        };
        let written = part(self.text, self.at..self.at + length + 1);
        let Ok(string) = serde_json::from_str(written) else {
            return Err(
                self.wrong("this text holds a character or an escape that JSON does not have")
            );
        };
        self.at += written.len();
        Ok(string)
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, SyntaxError> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_' | '$');
        let rest = self.rest();
        let word = part(rest, 0..rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        match serde_json::from_str(word) {
            Ok(value) => {
                self.at += word.len();
                Ok(value)
            }
            Err(_) => Err(self.expected("a value", rest.chars().next().unwrap_or(' '))),
        }
    }

    fn expected(&self, what: &str, found: char) -> SyntaxError {
        let found =
            if found.is_control() { "a control character".into() } else { format!("`{found}`") };
        self.wrong(format!("expected {what}, found {found}"))
    }

    fn wrong(&self, message: impl Into<String>) -> SyntaxError {
        let (line, column) = place_of(self.text, self.at);
        SyntaxError { line, column, message: message.into() }
    }
}

#[derive(Debug, Clone, Copy)]
struct LineIndent<'a> {
    newline: &'a str,
    /// What the line that holds the value begins with.
    current: &'a str,
    unit: &'a str,
}

/// Lists of plain values stay on one line up to this many characters.
const MAX_INLINE_LENGTH: usize = 72;

/// Maps over lines, short lists on one.
fn lines(value: &Value, indent: LineIndent<'_>) -> String {
    let deeper = format!("{}{}", indent.current, indent.unit);
    let inner = LineIndent { current: &deeper, ..indent };
    let (open, close, children): (char, char, Vec<String>) = match value {
        Value::Array(items) if !items.is_empty() => {
            let short = inline(value, true);
            if short.len() <= MAX_INLINE_LENGTH && items.iter().all(|item| !item.is_object()) {
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
fn inline(value: &Value, spaced: bool) -> String {
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
fn string(text: &str) -> String {
    Value::from(text).to_string()
}
