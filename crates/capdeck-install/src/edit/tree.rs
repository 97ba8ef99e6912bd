//! A text as values that know where they stand. The same for all formats.

use std::ops::Range;

use serde_json::{Map, Value};

use super::Step;

/// One value.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) content: Content,
    pub(super) style: Style,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Scalar(Value),
    Map(Vec<Entry>),
    List(Vec<Entry>),
}

/// How the children of a value are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// By brackets and commas.
    Enclosed,
    /// By lines and indentation, as only YAML does.
    Block,
}

/// A child of a map or a list.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Empty in a list.
    pub(super) key: String,
    /// Where the key begins, or in a list the value.
    pub(super) start: usize,
    pub(super) value: Node,
    /// Behind the colon or equals sign; in a list where the value begins.
    pub(super) head: usize,
    /// The comma after it.
    pub(super) comma: Option<usize>,
}

impl Node {
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Map(entries) | Content::List(entries) => entries,
            Content::Scalar(_) => &[],
        }
    }

    /// Where in `entries` a step leads. Of a key that is written twice the last counts, as in every parser of JSON.
    pub(super) fn position(&self, step: &Step) -> Option<usize> {
        match (step, &self.content) {
            (Step::Key(key), Content::Map(entries)) => {
                entries.iter().rposition(|entry| entry.key == *key)
            }
            (Step::Index(index), Content::List(entries)) => {
                (*index < entries.len()).then_some(*index)
            }
            _ => None,
        }
    }

    pub(super) fn find(&self, path: &[Step]) -> Option<&Self> {
        path.iter().try_fold(self, |node, step| {
            node.entries().get(node.position(step)?).map(|entry| &entry.value)
        })
    }

    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(|item| item.value.to_value()).collect(),
            Content::Map(entries) => Value::Object(Map::from_iter(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value())),
            )),
        }
    }
}
