//! What real files write loosely and every reader accepts: `null` for nothing, numbers where a text is meant.

use crate::document::{Content, Node};

/// Below these keys every value is the author's own data.
const DATA: [&str; 2] = ["default", "defaults"];
/// Maps and lists of texts, in which YAML makes numbers and booleans of some.
const TEXTS: [&str; 3] = ["env", "headers", "args"];

/// Takes out `null` values and turns bare numbers and booleans among texts into texts.
pub(super) fn prune(node: &mut Node) {
    match &mut node.content {
        Content::Map(entries) => {
            entries.retain(|entry| {
                DATA.contains(&entry.key.as_str()) || !matches!(entry.value.content, Content::Null)
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
        Content::List(items) => items.iter_mut().for_each(prune),
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {}
    }
}

fn texts(node: &mut Node) {
    match &mut node.content {
        Content::Map(entries) => entries.iter_mut().for_each(|entry| text(&mut entry.value)),
        Content::List(items) => items.iter_mut().for_each(text),
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {}
    }
}

fn text(node: &mut Node) {
    let written = match &node.content {
        Content::Bool(value) => value.to_string(),
        Content::Number(number) => number.to_string(),
        Content::Null | Content::Text(_) | Content::List(_) | Content::Map(_) => return,
    };
    node.content = Content::Text(written);
}
