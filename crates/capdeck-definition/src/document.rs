//! A YAML or JSON text as a tree with the place of every value.

pub(crate) mod json;
pub(crate) mod yaml;

use std::{collections::HashSet, path::Path, sync::LazyLock};

use indexmap::IndexMap;
use serde_json::{Number, Value};

use crate::diagnostic::{Diagnostic, TextPosition};

/// Nesting beyond this is refused: no honest definition needs it and recursion must end.
pub(crate) const MAX_DEPTH: usize = 64;
/// Values and keys beyond this are refused: memory and the time to check them must end too.
pub(crate) const MAX_NODES: usize = 200_000;

/// Parses the text of a file, JSON or YAML by the file's name. A byte order mark is ignored.
pub(crate) fn parse(text: &str, path: &Path) -> Result<ValueNode, Diagnostic> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if is_json(path) { json::parse(text) } else { yaml::parse(text) }
}

pub(crate) fn is_json(path: &Path) -> bool {
    path.to_string_lossy().to_ascii_lowercase().ends_with(".json")
}

#[derive(Debug, Clone)]
pub(crate) struct ValueNode {
    pub(crate) content: NodeValue,
    pub(crate) place: TextPosition,
}

/// What a node holds. The same for YAML and JSON.
#[derive(Debug, Clone)]
pub(crate) enum NodeValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<ValueNode>),
    Map(MapEntries),
}

/// The entries of a mapping by key, in the order they are written.
pub(crate) type MapEntries = IndexMap<String, MapEntry>;

/// The place of a key, and its value.
#[derive(Debug, Clone)]
pub(crate) struct MapEntry {
    pub(crate) place: TextPosition,
    pub(crate) value: ValueNode,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    Key(String),
    Index(usize),
}

impl ValueNode {
    /// The entries of a mapping; none for anything else.
    pub(crate) fn entries(&self) -> &MapEntries {
        static NO_ENTRIES: LazyLock<MapEntries> = LazyLock::new(MapEntries::default);
        if let NodeValue::Map(entries) = &self.content { entries } else { &NO_ENTRIES }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&ValueNode> {
        self.entries().get(key).map(|entry| &entry.value)
    }

    /// The value under `key`, or this node when there is none: a place to point at either way.
    pub(crate) fn child(&self, key: &str) -> &ValueNode {
        self.get(key).unwrap_or(self)
    }

    /// The items of a list; none for anything else.
    pub(crate) fn items(&self) -> &[ValueNode] {
        match &self.content {
            NodeValue::List(items) => items,
            _ => &[],
        }
    }

    /// The item at `index`, or this node when there is none.
    pub(crate) fn item(&self, index: usize) -> &ValueNode {
        let NodeValue::List(items) = &self.content else { return self };
        items.get(index).unwrap_or(self)
    }

    /// Where `key` is written, or where this node starts.
    pub(crate) fn key_place(&self, key: &str) -> TextPosition {
        self.entries().get(key).map_or(self.place, |entry| entry.place)
    }

    /// What a path of keys leads to.
    pub(crate) fn find_mut(&mut self, path: &[&str]) -> Option<&mut ValueNode> {
        path.iter().try_fold(self, |node, key| match &mut node.content {
            NodeValue::Map(entries) => entries.get_mut(*key).map(|entry| &mut entry.value),
            _ => None,
        })
    }

    /// Takes entries out of the mapping that a path leads to, if it is there.
    pub(crate) fn remove_entries(&mut self, path: &[&str], ids: &HashSet<&str>) {
        if let Some(NodeValue::Map(entries)) = self.find_mut(path).map(|node| &mut node.content) {
            entries.retain(|key, _| !ids.contains(key.as_str()));
        }
    }

    /// Takes out what a path of keys leads to, if it is there.
    pub(crate) fn remove(&mut self, path: &[&str]) {
        if let Some((key, above)) = path.split_last() {
            self.remove_entries(above, &HashSet::from([*key]));
        }
    }

    /// Takes one item out of the list that a path of keys leads to, if it is there.
    pub(crate) fn remove_item(&mut self, path: &[&str], index: usize) {
        if let Some(NodeValue::List(items)) = self.find_mut(path).map(|node| &mut node.content)
            && index < items.len()
        {
            items.remove(index);
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let NodeValue::Text(text) = &self.content { Some(text) } else { None }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.content, NodeValue::Map(_))
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.content {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => Value::Bool(*value),
            NodeValue::Number(number) => Value::Number(number.clone()),
            NodeValue::Text(text) => Value::String(text.clone()),
            NodeValue::List(items) => items.iter().map(Self::to_json).collect(),
            NodeValue::Map(entries) => {
                let members =
                    entries.iter().map(|(key, entry)| (key.clone(), entry.value.to_json()));
                Value::Object(members.collect())
            }
        }
    }
}

/// The refusal of a document with more values than are read.
fn too_many_nodes() -> Diagnostic {
    Diagnostic::error(
        "document-too-complex",
        format!("the file holds more than {MAX_NODES} keys and values, and none of it is used"),
        "split it into several files",
    )
}

impl NodeValue {
    /// A float that is a whole number becomes an integer, so that `5.0` counts as one everywhere.
    pub(crate) fn from_f64(value: f64) -> Self {
        const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_991.0;
        if value.fract() == 0.0 && value.abs() <= MAX_EXACT_INTEGER {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within 53 bits")]
            let whole = value as i64;
            return Self::Number(whole.into());
        }
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::parse;

    #[test]
    fn keys_are_found_after_every_change() {
        for count in [15, 16, 100] {
            let text: String = (0..count).map(|number| format!("k{number}: {number}\n")).collect();
            let mut root = parse(&text, Path::new("a.yaml")).unwrap();
            let found =
                |root: &super::ValueNode, key: &str| root.get(key).map(super::ValueNode::to_json);
            assert_eq!(found(&root, "k3"), Some(3.into()));
            root.remove(&["k3"]);
            assert_eq!(found(&root, "k3"), None);
            assert_eq!(found(&root, "k4"), Some(4.into()));
            root.find_mut(&["k4"]).unwrap().content = super::NodeValue::Bool(true);
            assert_eq!(found(&root, "k4"), Some(true.into()));
            assert_eq!(root.entries().keys().nth(3).map(String::as_str), Some("k4"));
        }
    }
}
