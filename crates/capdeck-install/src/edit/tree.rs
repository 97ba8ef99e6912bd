//! A text as values with their positions. The same for all formats.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{DocumentStep, splice::part};

#[derive(Debug, Clone)]
pub(super) struct DocumentNode {
    pub(super) span: Range<usize>,
    pub(super) content: NodeContent,
    pub(super) style: NodeStyle,
}

#[derive(Debug, Clone)]
pub(super) enum NodeContent {
    Scalar(Value),
    Map(Vec<NodeEntry>),
    List(Vec<NodeEntry>),
}

/// How the children of a value are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeStyle {
    /// By brackets and commas.
    Enclosed,
    /// By lines and indentation, as only YAML does.
    Block,
}

#[derive(Debug, Clone)]
pub(super) struct NodeEntry {
    /// Empty in a list.
    pub(super) key: String,
    /// Where the key begins, or in a list the value.
    pub(super) start: usize,
    pub(super) value: DocumentNode,
    /// Behind the colon or equals sign; in a list where the value begins.
    pub(super) head: usize,
    pub(super) comma: Option<usize>,
}

impl NodeEntry {
    pub(super) fn item(value: DocumentNode) -> Self {
        let start = value.span.start;
        Self { key: String::new(), start, head: start, value, comma: None }
    }
}

impl DocumentNode {
    pub(super) fn scalar(span: Range<usize>, value: Value) -> Self {
        Self { span, content: NodeContent::Scalar(value), style: NodeStyle::Enclosed }
    }

    /// A map or a list between brackets, with comments that begin with `#`.
    pub(super) fn enclosed(text: &str, span: Range<usize>, mut content: NodeContent) -> Self {
        if let NodeContent::Map(entries) | NodeContent::List(entries) = &mut content {
            let starts: Vec<usize> = entries.iter().skip(1).map(|entry| entry.start).collect();
            let ends = starts.into_iter().chain([span.end.saturating_sub(1)]);
            for (entry, end) in entries.iter_mut().zip(ends) {
                entry.comma = comma_between(text, entry.value.span.end, end);
            }
        }
        Self { span, content, style: NodeStyle::Enclosed }
    }

    pub(super) fn entries(&self) -> &[NodeEntry] {
        match &self.content {
            NodeContent::Map(entries) | NodeContent::List(entries) => entries,
            NodeContent::Scalar(_) => &[],
        }
    }

    /// Where in `entries` a step leads. Of a key that is written twice the last counts, as in every parser of JSON.
    pub(super) fn position(&self, step: &DocumentStep) -> Option<usize> {
        match (step, &self.content) {
            (DocumentStep::Key(key), NodeContent::Map(entries)) => {
                entries.iter().rposition(|entry| entry.key == *key)
            }
            (DocumentStep::Index(index), NodeContent::List(entries)) => {
                (*index < entries.len()).then_some(*index)
            }
            _ => None,
        }
    }

    pub(super) fn find(&self, path: &[DocumentStep]) -> Option<&Self> {
        path.iter().try_fold(self, |node, step| {
            node.entries().get(node.position(step)?).map(|entry| &entry.value)
        })
    }

    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            NodeContent::Scalar(value) => value.clone(),
            NodeContent::List(items) => items.iter().map(|item| item.value.to_value()).collect(),
            NodeContent::Map(entries) => Value::Object(Map::from_iter(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value())),
            )),
        }
    }
}

/// The comma in a stretch of blanks and comments that begin with `#`.
fn comma_between(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    for line in part(text, from..to).split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        if let Some(found) = code.find(',') {
            return Some(at + found);
        }
        at += line.len();
    }
    None
}
