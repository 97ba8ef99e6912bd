//! The four tools that reach everything. Short, because this is the whole cost of a deck of any size.

use capdeck_catalog::{RawMembers, estimate_tokens};
use serde_json::{json, value::RawValue};

use super::View;
use crate::raw;

/// Without the names of capabilities, which come in where there is room.
pub(super) const SEARCH_TOOLS: &str = r#"[{"name":"search","description":"Find tools by what they do. Returns names, signatures and descriptions.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"capability":{"type":"string","description":"Only this one"},"limit":{"type":"integer"},"cursor":{"type":"string"}},"required":["query"]},"annotations":{"readOnlyHint":true}},{"name":"describe","description":"Full definition of one tool.","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"annotations":{"readOnlyHint":true}},{"name":"call_tool","description":"Run a tool by its name from search. Wrong arguments answer with its schema.","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"data":{"type":"object","properties":{},"description":"Its arguments"}},"required":["name"]},"annotations":{"destructiveHint":true}},{"name":"call_read_only","description":"The same for tools that only read.","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"data":{"type":"object","properties":{}}},"required":["name"]},"annotations":{"readOnlyHint":true}}]"#;

/// Tokens for names in the first sentence of `search`.
pub(super) const MAX_NAMES_TOKENS: usize = 24;

/// The tools, the first of which names what it finds, as far as `room` goes.
pub(super) fn search_tools(view: &View, room: usize) -> Vec<Box<RawValue>> {
    let mut tools: Vec<RawMembers> = serde_json::from_str(SEARCH_TOOLS).unwrap_or_default();
    let ids: Vec<&str> = view.searchable().map(|one| one.definition.id.as_str()).collect();
    if let (Some(search), Some(names)) = (tools.first_mut(), names(&ids, room)) {
        let text = format!(
            "Find tools of {names} by what they do. Returns names, signatures and descriptions."
        );
        search.extend(raw::object([("description", json!(text))]));
    }
    tools.iter().filter_map(|tool| raw::text(tool).ok()).collect()
}

/// `a, b and 3 more`; `None` where not even one fits.
fn names(ids: &[&str], room: usize) -> Option<String> {
    let mut shown = ids.len();
    while shown > 0 {
        let listed = ids.get(..shown)?.join(", ");
        let text = match ids.len() - shown {
            0 => listed,
            left => format!("{listed} and {left} more"),
        };
        if estimate_tokens(&text) + 4 <= room {
            return Some(text);
        }
        // Most of a long list is left out at once.
        shown = if shown > 16 { 16 } else { shown - 1 };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_names_as_there_is_room_for() {
        assert_eq!(names(&["github", "notes"], 24).unwrap(), "github, notes");
        assert_eq!(names(&[], 24), None);
        assert_eq!(names(&["github"], 5), None);
        let many: Vec<String> = (0..500).map(|number| format!("server-{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let text = names(&many, 24).unwrap();
        assert!(text.starts_with("server-0, ") && text.ends_with(" more"), "{text}");
        assert!(estimate_tokens(&text) <= 24, "{text}");
    }
}
