//! YAML text to a tree, from the events of a parser.

use std::{collections::HashMap, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};
use serde_json::{Number, Value};

use crate::edit::{
    SyntaxError,
    splice::{part, place_of},
    tree::{DocumentNode, NodeContent, NodeEntry, NodeStyle},
};

/// Nesting beyond this is refused, as recursion must end.
const MAX_DEPTH: usize = 128;

/// What aliases may add up to, so that a small text cannot become a large value.
const MAX_ALIASED: usize = 100_000;

/// The one value of the text, or none when there is no document.
pub(super) fn parse(text: &str) -> Result<Option<DocumentNode>, SyntaxError> {
    let mut builder =
        YamlTreeBuilder { text, events: Vec::new(), at: 0, anchors: HashMap::new(), aliased: 0 };
    let mut documents = 0;
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|error| builder.scan_error(&error))?;
        match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    return Err(builder.wrong(start_of(&span), "a second document begins here"));
                }
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Comment(..) => {}
            other => builder.events.push((other, span)),
        }
    }
    if builder.events.is_empty() {
        return Ok(None);
    }
    builder.node(0).map(Some)
}

struct YamlTreeBuilder<'a> {
    text: &'a str,
    events: Vec<(Event<'a>, Span)>,
    at: usize,
    anchors: HashMap<usize, Value>,
    aliased: usize,
}

impl<'a> YamlTreeBuilder<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), SyntaxError> {
        let Some((event, span)) = self.events.get(self.at).cloned() else {
            return Err(self.wrong(self.text.len(), "the file ends in the middle of a value"));
        };
        self.at += 1;
        let start = start_of(&span);
        Ok((event, start..span.end.byte_offset().unwrap_or(start).max(start)))
    }

    fn node(&mut self, depth: usize) -> Result<DocumentNode, SyntaxError> {
        let (event, span) = self.next()?;
        if depth > MAX_DEPTH {
            return Err(
                self.wrong(span.start, &format!("nested more than {MAX_DEPTH} levels deep"))
            );
        }
        let (node, anchor) = match event {
            Event::Scalar(value, style, anchor, tag) => {
                (DocumentNode::scalar(span, resolve(&value, style, tag.as_deref())), anchor)
            }
            Event::Alias(id) => {
                let value = self.anchors.get(&id).cloned().unwrap_or_default();
                self.aliased += size(&value);
                if self.aliased > MAX_ALIASED {
                    return Err(self.wrong(span.start, "the aliases expand to too much"));
                }
                (DocumentNode::scalar(span, value), 0)
            }
            Event::SequenceStart(style, anchor, _) => {
                let (entries, end) = self.items(depth)?;
                (self.collection(span.start..end, NodeContent::List(entries), style), anchor)
            }
            Event::MappingStart(style, anchor, _) => {
                let (entries, end) = self.entries(depth)?;
                (self.collection(span.start..end, NodeContent::Map(entries), style), anchor)
            }
            _ => return Err(self.wrong(span.start, "this is not a value")),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.to_value());
        }
        Ok(node)
    }

    fn items(&mut self, depth: usize) -> Result<(Vec<NodeEntry>, usize), SyntaxError> {
        let mut items = Vec::new();
        loop {
            if let Some((Event::SequenceEnd, _)) = self.events.get(self.at) {
                let (_, span) = self.next()?;
                return Ok((items, span.end));
            }
            items.push(NodeEntry::item(self.node(depth + 1)?));
        }
    }

    fn entries(&mut self, depth: usize) -> Result<(Vec<NodeEntry>, usize), SyntaxError> {
        let mut entries = Vec::new();
        loop {
            if let Some((Event::MappingEnd, _)) = self.events.get(self.at) {
                let (_, span) = self.next()?;
                return Ok((entries, span.end));
            }
            let key = self.node(depth + 1)?;
            let start = key.span.start;
            let NodeContent::Scalar(name) = key.content else {
                return Err(self.wrong(start, "a key must be plain"));
            };
            let name = match name {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let mut value = self.node(depth + 1)?;
            let after_key = key.span.end;
            let colon = part(self.text, after_key..self.text.len()).find(':');
            let head = colon.map_or(after_key, |colon| after_key + colon + 1);
            if value.span.is_empty() {
                // A value that is not written is placed behind its colon.
                value.span = head..head;
            }
            entries.push(NodeEntry { key: name, start, head, value, comma: None });
        }
    }

    fn collection(
        &self,
        span: Range<usize>,
        mut content: NodeContent,
        style: StructureStyle,
    ) -> DocumentNode {
        if style == StructureStyle::Flow {
            return DocumentNode::enclosed(self.text, span, content);
        }
        if let NodeContent::List(entries) = &mut content {
            for entry in entries {
                // An item of a block begins with its dash.
                entry.start = part(self.text, 0..entry.start).rfind('-').unwrap_or(entry.start);
            }
        }
        DocumentNode { span, content, style: NodeStyle::Block }
    }

    fn scan_error(&self, error: &ScanError) -> SyntaxError {
        let text = error.to_string();
        let message = [" at char ", " at byte ", " at line "]
            .iter()
            .fold(text.as_str(), |text, place| text.split(place).next().unwrap_or_default());
        SyntaxError {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            message: message.to_owned(),
        }
    }

    fn wrong(&self, at: usize, message: &str) -> SyntaxError {
        let (line, column) = place_of(self.text, at);
        SyntaxError { line, column, message: message.to_owned() }
    }
}

fn start_of(span: &Span) -> usize {
    span.start.byte_offset().unwrap_or_default()
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(entries) => 1 + entries.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// What a scalar means by the core schema of YAML 1.2.
fn resolve(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    if style != ScalarStyle::Plain || tag.is_some() {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return Value::from(number);
    }
    let looks_numeric = text
        .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        && text.contains(|c: char| c.is_ascii_digit());
    match text.parse::<f64>() {
        Ok(number) if looks_numeric => {
            Number::from_f64(number).map_or(Value::from(text), Value::Number)
        }
        _ => Value::from(text),
    }
}
