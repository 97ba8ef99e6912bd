//! What real files write loosely and every reader accepts: `null` for nothing, numbers where a text is meant.

use crate::document::{NodeValue, ValueNode};

/// Below these keys every value is the author's own data.
const DATA: [&str; 2] = ["default", "defaults"];
/// Maps and lists of texts, in which YAML makes numbers and booleans of some.
const TEXTS: [&str; 3] = ["env", "headers", "args"];

/// Takes out `null` values and turns bare numbers and booleans among texts into texts.
pub(super) fn prune(node: &mut ValueNode) {
    match &mut node.content {
        NodeValue::Map(entries) => {
            entries.retain(|entry| {
                DATA.contains(&entry.key.as_str())
                    || !matches!(entry.value.content, NodeValue::Null)
            });
            for entry in entries.iter_mut() {
                if DATA.contains(&entry.key.as_str()) {
                    continue;
                }
                if TEXTS.contains(&entry.key.as_str()) {
                    texts(&mut entry.value);
                }
                prune(&mut entry.value);
            }
        }
        NodeValue::List(items) => items.iter_mut().for_each(prune),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::Text(_) => {}
    }
}

fn texts(node: &mut ValueNode) {
    match &mut node.content {
        NodeValue::Map(entries) => entries.iter_mut().for_each(|entry| text(&mut entry.value)),
        NodeValue::List(items) => items.iter_mut().for_each(text),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::Text(_) => {}
    }
}

fn text(node: &mut ValueNode) {
    let written = match &node.content {
        NodeValue::Bool(value) => value.to_string(),
        NodeValue::Number(number) => number.to_string(),
        NodeValue::Null | NodeValue::Text(_) | NodeValue::List(_) | NodeValue::Map(_) => return,
    };
    node.content = NodeValue::Text(written);
}
