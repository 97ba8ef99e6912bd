//! Signatures of many tools in few words: what an agent reads before it calls one.
//!
//! How much they say depends on how many there are. The measure of a long list is what the bare names of tools and arguments cost: a list
//! that says more than names has to save as much elsewhere. What is hidden is marked with `…`.

use crate::{
    Tool, estimate_tokens,
    input_shape::InputShape,
    signature::{BriefDetail, FieldDetail, SignatureStyle},
};

/// Tokens that signatures may always cost: few tools say everything.
const MIN_ROOM: usize = 160;

/// What is left out first comes first.
const DETAILS: [BriefDetail; 11] = [
    BriefDetail::WHOLE,
    BriefDetail { fields: FieldDetail::Required, ..BriefDetail::WHOLE },
    BriefDetail { optional: 4, alternatives: 6, fields: FieldDetail::Required },
    BriefDetail { optional: 3, alternatives: 4, fields: FieldDetail::Required },
    BriefDetail { optional: 2, alternatives: 3, fields: FieldDetail::Required },
    BriefDetail { optional: 1, alternatives: 4, fields: FieldDetail::Required },
    BriefDetail { optional: 1, alternatives: 3, fields: FieldDetail::Required },
    BriefDetail { optional: 0, alternatives: 4, fields: FieldDetail::Required },
    BriefDetail { optional: 0, alternatives: 2, fields: FieldDetail::Required },
    BriefDetail { optional: 0, alternatives: 2, fields: FieldDetail::Nothing },
    BriefDetail { optional: 0, alternatives: 1, fields: FieldDetail::Nothing },
];

/// The call of a tool in few words: `notes.add(text, tags?: string[])`.
pub fn brief_signature(name: &str, tool: &Tool) -> String {
    render(name, &InputShape::from_tool(tool), BriefDetail::WHOLE)
}

/// The calls of several tools, each under its name, in about as many tokens as the bare names of tools and arguments.
pub fn brief_signatures<'a>(tools: impl IntoIterator<Item = (String, &'a Tool)>) -> Vec<String> {
    let shapes: Vec<(String, InputShape)> =
        tools.into_iter().map(|(name, tool)| (name, InputShape::from_tool(tool))).collect();
    let names: Vec<String> = shapes.iter().map(|(name, shape)| bare_names(name, shape)).collect();
    let room = estimate_tokens(&names.join("\n")).max(MIN_ROOM);
    let mut shown = Vec::new();
    for detail in DETAILS {
        shown = shapes.iter().map(|(name, shape)| render(name, shape, detail)).collect();
        if estimate_tokens(&shown.join("\n")) <= room {
            break;
        }
    }
    shown
}

fn render(name: &str, shape: &InputShape, detail: BriefDetail) -> String {
    format!("{name}({})", SignatureStyle::Brief(detail).render(shape))
}

/// The tool and its arguments by their names alone, optional ones marked.
fn bare_names(name: &str, shape: &InputShape) -> String {
    let accepted = shape.accepted();
    let words = accepted.iter().map(|argument| match shape.is_required(argument) {
        true => (*argument).to_owned(),
        false => format!("{argument}?"),
    });
    format!("{name}({})", words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check_brief(schema: Value, expected: &str) {
        assert_eq!(render("notes.add", &InputShape { root: schema }, BriefDetail::WHOLE), expected);
    }

    #[test]
    fn strings_need_no_type_and_the_rest_is_short() {
        check_brief(json!({}), "notes.add()");
        check_brief(
            json!({"properties": {
                "mode": {"enum": ["a", "b"]}, "limit": {"type": "integer"}, "text": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}}, "any": {}}, "required": ["text"]}),
            "notes.add(text, mode?: a|b, limit?: number, tags?: string[], any?)",
        );
        check_brief(
            json!({"properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "c": {"type": ["string", "integer"]}, "d": {"type": "array"}}}),
            "notes.add(a?, b?: number, c?: string|number, d?: unknown[])",
        );
    }

    #[test]
    fn objects_are_spelled_out_once() {
        check_brief(
            json!({"properties": {"who": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "age": {"type": "integer"},
                "home": {"type": "object", "properties": {"street": {}}}}}}}),
            "notes.add(who?: {name, age?: number, home?: object})",
        );
        check_brief(
            json!({"properties": {"all": {"type": "array", "items": {"$ref": "#/$defs/One"}}},
                "$defs": {"One": {"type": "object", "properties": {"next": {"$ref": "#/$defs/One"}}}}}),
            "notes.add(all?: {next?: object}[])",
        );
        check_brief(
            json!({"properties": {"free": {"type": "object"}}}),
            "notes.add(free?: object)",
        );
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let value = json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/Value"}}]});
        check_brief(
            json!({"properties": {"x": {"$ref": "#/$defs/Value"}}, "$defs": {"Value": value}}),
            "notes.add(x?: number|(number|(number|(number|string[])[])[])[])",
        );
    }

    fn tool(name: &str, schema: &Value) -> Tool {
        serde_json::from_value(json!({ "name": name, "inputSchema": schema })).unwrap()
    }

    fn many(count: usize, schema: &Value) -> Vec<String> {
        let tools: Vec<Tool> =
            (0..count).map(|number| tool(&format!("tool{number}"), schema)).collect();
        brief_signatures(tools.iter().map(|tool| (tool.name().to_owned(), tool)))
    }

    #[test]
    fn a_short_list_is_whole_and_a_long_one_says_what_must_be_given() {
        let schema = json!({"required": ["who", "mode"], "properties": {
            "who": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "age": {"type": "integer"}, "mail": {"type": "string"}}},
            "mode": {"enum": ["red", "green", "blue", "white", "black"]},
            "limit": {"type": "integer"}, "page": {"type": "integer"}, "order": {"enum": ["up", "down"]},
            "after": {"type": "string"}, "before": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}}}});
        assert_eq!(
            many(1, &schema),
            [
                "tool0(who: {name, age?: number, mail?}, mode: red|green|blue|white|black, limit?: number, page?: number, order?: up|down, after?, before?, labels?: string[])"
            ]
        );
        let long = many(100, &schema);
        let last = long.last().unwrap();
        assert!(last.starts_with("tool99(who: object, mode: red|"), "{last}");
        assert!(last.ends_with("…, …)"), "{last}");
        let bare = "tool99(who, mode, limit?, page?, order?, after?, before?, labels?)\n";
        assert!(estimate_tokens(&long.join("\n")) <= estimate_tokens(&bare.repeat(100)));
    }

    #[test]
    fn the_only_argument_shows_what_is_in_it() {
        let schema = json!({"properties": {"params": {"type": "object", "required": ["id"], "properties": {
            "id": {"type": "string"}, "note": {"type": "string"}}}}});
        assert!(many(3, &schema).iter().all(|one| one.ends_with("(params?: {id, note?})")));
        let free =
            json!({"properties": {"params": {"type": "object", "properties": {"a": {}, "b": {}}}}});
        assert!(many(100, &free).iter().all(|one| one.ends_with("(params?)")));
    }

    #[test]
    fn values_are_quoted_where_they_would_be_misread() {
        check_brief(
            json!({"properties": {"a": {"enum": ["+1", "it's", "string", "two words", "gpt-4.1"]}, "b": {"const": 3}}}),
            "notes.add(a?: '+1'|'it\\'s'|'string'|'two words'|gpt-4.1, b?: 3)",
        );
    }
}
