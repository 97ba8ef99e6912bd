use serde_json::json;

use super::*;

fn types(input: Value) -> String {
    let tool = ToolSignature {
        name: "tool",
        description: None,
        input_schema: &input,
        output_schema: None,
    };
    tool_types("deck", &[tool])
}

#[test]
fn tools_read_like_methods() {
    let input = json!({
        "type": "object",
        "required": ["owner"],
        "properties": {
            "owner": {"type": "string", "description": "Who owns\n  it."},
            "state": {"enum": ["open", "closed"]},
            "labels": {"type": "array", "items": {"type": ["string", "null"]}},
            "per-page": {"type": "integer"},
            "filter": {"type": "object", "properties": {"since": {"type": "string"}}},
            "extra": {"type": "object", "additionalProperties": {"type": "number"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}]}
        }
    });
    let output = json!({"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}});
    let tool = ToolSignature {
        name: "list-issues",
        description: Some("Lists issues. */ and more"),
        input_schema: &input,
        output_schema: Some(&output),
    };
    assert_eq!(
        tool_types("my-api", &[tool]),
        r#"// caplets["my-api"]
interface MyApi {
  /** Lists issues. * / and more */
  "list-issues"(args: {
    /** Who owns it. */ owner: string;
    state?: "open" | "closed";
    labels?: (string | null)[];
    "per-page"?: number;
    filter?: {
      since?: string;
    };
    extra?: Record<string, number>;
    pair?: [string, boolean];
  }): Promise<{
    id: number;
  }[]>;
}
"#
    );
}

#[test]
fn references_are_named_and_recursion_ends() {
    let text = types(json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}, "again": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}
    }));
    assert!(text.contains("tree?: Node;\n    again?: Node;"), "{text}");
    assert!(text.ends_with("type Node = {\n  children?: Node[];\n};\n"), "{text}");
}

#[test]
fn odd_schemas_are_anything() {
    for (schema, expected) in [
        (json!({}), "args?: any"),
        (json!(true), "args?: any"),
        (json!({"$ref": "#/nowhere"}), "args?: any"),
        (json!({"$ref": "#"}), "args?: T"),
        (json!({"type": "object"}), "args?: Record<string, any>"),
        (json!({"type": "object", "additionalProperties": false}), "args?: {}"),
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {}}}, {"properties": {"b": {}}}]}),
            "} & {",
        ),
        (json!({"anyOf": [{"type": "string"}, {"type": "string"}]}), "args?: string)"),
    ] {
        let text = types(schema);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn many_tools_stay_within_a_size_and_are_named() {
    let input = json!({"type": "object", "properties": {"a": {"type": "string", "description": "x".repeat(100)}}});
    let names: Vec<String> = (0..1000).map(|number| format!("tool_{number}")).collect();
    let tools: Vec<ToolSignature<'_>> = names
        .iter()
        .map(|name| ToolSignature {
            name,
            description: None,
            input_schema: &input,
            output_schema: None,
        })
        .collect();
    let text = tool_types("deck", &tools);
    assert!(text.len() < MAX_TYPES_LENGTH * 5 / 4, "{}", text.len());
    assert!(text.contains("by `caplets.types(\"deck\", name)`: tool_"), "{}", text.len());
}

#[test]
fn the_tools_text_costs_the_same_with_any_number_of_capabilities() {
    let count = |text: &str| tiktoken::get_encoding("o200k_base").unwrap().count(text);
    let ids: Vec<String> = (0..1000).map(|number| format!("capability-{number}")).collect();
    let lines: Vec<CapabilityLine<'_>> = ids
        .iter()
        .map(|id| CapabilityLine {
            id,
            doc: "Reads and writes things of one kind. And more that nobody needs to know.",
            hints: [None; 2],
        })
        .collect();
    for number in [0, 1, 10, 100, 1000] {
        let text = tool_text(lines.get(..number).unwrap(), 600);
        let tokens = count(&text);
        assert!(tokens <= 600, "{number}: {tokens}");
        assert_eq!(text, tool_text(lines.get(..number).unwrap(), 600));
        if number == 1000 {
            assert!(text.contains("more: `caplets.search`"), "{text}");
        }
        if number > 0 {
            assert!(text.contains("- capability-0: Reads"), "{text}");
        }
    }
    let tight = tool_text(&lines, 10);
    assert!(
        tight
            .ends_with("1000 capabilities: `Object.keys(caplets)` or `caplets.search` finds them."),
        "{tight}"
    );
}

#[test]
fn hints_are_shown_where_the_budget_has_room_for_them() {
    let hints = [Some("Things are asked about.\nOr bought."), Some("People are asked about.")];
    let lines = [
        CapabilityLine { id: "things", doc: "Things.", hints },
        CapabilityLine { id: "more", doc: "More.", hints: [None; 2] },
    ];
    let text = tool_text(&lines, 600);
    let hinted = "\n- things: Things.; use when Things are asked about. Or bought.; avoid when People are asked about.\n- more: More.";
    assert!(text.ends_with(hinted), "{text}");
    let least = estimate_tokens(&tool_text(&lines, 600)) - 5;
    let tight = tool_text(&lines, least);
    assert!(tight.ends_with("\n- things: Things.\n- more: More."), "{tight}");
}

/// Each definition is a list of the next. The last ones exceed the nesting limit.
#[test]
fn a_long_chain_of_references_ends() {
    let definitions: serde_json::Map<String, Value> = (0..5_000)
        .map(|number| {
            let next = format!("#/$defs/A{}", number + 1);
            (format!("A{number}"), json!({"type": "array", "items": {"$ref": next}}))
        })
        .collect();
    let text =
        types(json!({"properties": {"first": {"$ref": "#/$defs/A0"}}, "$defs": definitions}));
    assert!(text.contains("first?: A0;") && text.contains("type A20 = A21[];"), "{text}");
    assert!(text.contains(" = any;") && !text.contains("A4000"), "{text}");
}
