//! The text in a tool's definition that a model reads and a person does not see.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use capdeck_definition::{HiddenKind, first_letters, hidden_characters, reveal};
use serde::Serialize;
use serde_json::Value;

use crate::Tool;

/// Places listed per tool; a tool full of hidden text is as bad with one hundred as with one.
const MAX_PLACES: usize = 20;
/// Letters of a revealed text that are shown.
const MAX_SHOWN_LETTERS: usize = 240;

/// Hidden characters in one text of a tool's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HiddenText {
    /// The place of the text, such as `description` or `inputSchema.properties.path.description`.
    pub at: String,
    pub kinds: BTreeSet<HiddenKind>,
    /// How many characters are hidden.
    pub count: usize,
    /// The text with what is hidden made visible, cut where it gets long.
    pub revealed: String,
}

/// The hidden text in everything of a tool that agents and people are shown.
pub fn hidden_text(tool: &Tool) -> Vec<HiddenText> {
    let mut found = Vec::new();
    for key in ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] {
        // Almost no text is suspicious, and looking at the bytes is far cheaper than reading the value.
        let Some(raw) = tool.raw().get(key).filter(|raw| may_hide(raw.get())) else { continue };
        if let Ok(value) = serde_json::from_str(raw.get()) {
            look_into(&value, key, &mut found);
        }
    }
    found.truncate(MAX_PLACES);
    found
}

/// False when the JSON text is plain: printable ASCII with no escapes of other characters.
fn may_hide(json: &str) -> bool {
    !json.is_ascii() || ["\\u", "\\b", "\\f"].iter().any(|escape| json.contains(escape))
}

fn look_into(value: &Value, at: &str, found: &mut Vec<HiddenText>) {
    match value {
        Value::String(text) => found.extend(examine(text, at)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look_into(item, &format!("{at}[{index}]"), found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let below = format!("{at}.{}", first_letters(&reveal(key), MAX_SHOWN_LETTERS));
                found.extend(examine(key, &below));
                look_into(member, &below, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn examine(text: &str, at: &str) -> Option<HiddenText> {
    let hidden = hidden_characters(text);
    if hidden.is_empty() {
        return None;
    }
    Some(HiddenText {
        at: at.to_owned(),
        kinds: hidden.iter().map(|one| one.kind).collect(),
        count: hidden.len(),
        revealed: first_letters(&reveal(text), MAX_SHOWN_LETTERS),
    })
}
