//! Tests of input and output schemas.

use super::*;

#[test]
fn variables_become_properties_with_their_types_and_defaults() {
    let schema = r#"
        "How warm"
        enum Unit { "Degrees of 100" CELSIUS KELVIN @deprecated }
        scalar DateTime
        scalar Anything
        input Range { "Lower bound" from: Int = 1  to: Int!  units: [Unit!]  inner: Range }
        input Pick @oneOf { name: String  id: ID }
        type Query {
            weather(
                "Where" place: String!  unit: Unit! = CELSIUS  at: DateTime  any: Anything  range: Range
                pick: Pick!  many: [[Float!]]!  old: Int @deprecated
            ): Float
        }
    "#;
    let expected = json!({
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "Where"},
            "unit": {"$ref": "#/$defs/Unit", "default": "CELSIUS"},
            "at": {"type": "string", "format": "date-time", "description": "a `DateTime`"},
            "any": {"description": "a `Anything`"},
            "range": {"$ref": "#/$defs/Range"},
            "pick": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "id": {"type": ["string", "integer"]},
                },
                "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
            },
            "many": {
                "type": "array",
                "items": {"type": ["array", "null"], "items": {"type": "number"}},
            },
        },
        "required": ["place", "pick", "many"],
        "additionalProperties": false,
        "$defs": {
            "Unit": {
                "type": "string", "enum": ["CELSIUS", "KELVIN"],
                "description": "How warm\n- `CELSIUS`: Degrees of 100",
            },
            "Range": {
                "type": "object",
                "properties": {
                    "from": {"type": ["integer", "null"], "description": "Lower bound", "default": 1},
                    "to": {"type": "integer"},
                    "units": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Unit"}},
                    "inner": {"anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}]},
                },
                "required": ["to"],
                "additionalProperties": false,
            },
        },
    });
    assert_eq!(input_schema(schema, "query_weather"), expected);
}

#[test]
fn the_schema_of_configured_variables_knows_the_arguments_they_are_for() {
    let schema =
        r#"type Query { find("What to look for" text: String!, limit: Int = 10): [String] }"#;
    let text = "query ($words: String!, $n: Int = 3) { find(text: $words, limit: $n) }";
    let api = api(schema, json!({"operations": {"find": {"document": text}}}));
    let input = &tool(&api.discovery(), "find")["inputSchema"];
    assert_eq!(
        input["properties"]["words"],
        json!({"type": "string", "description": "What to look for"})
    );
    assert_eq!(input["properties"]["n"], json!({"type": "integer", "default": 3}));
    assert_eq!(input["required"], json!(["words"]));
}

#[test]
fn input_types_in_circles_accept_what_the_language_accepts() {
    let schema = r"
        input A { and: [A!]  not: A  b: B }
        input B { eq: String  a: A }
        type Query { find(where: A, order: [B]): Int }
    ";
    let input = input_schema(schema, "query_find");
    let check = jsonschema::validator_for(&input).unwrap();
    for (arguments, fits) in [
        (json!({}), true),
        (json!({"where": {"and": [{"not": {"b": {"eq": "x", "a": null}}}], "b": null}}), true),
        (json!({"order": [{"eq": null}, null]}), true),
        (json!({"where": {"and": [null]}}), false),
        (json!({"where": {"b": {"eq": 1}}}), false),
        (json!({"where": {"typo": 1}}), false),
    ] {
        assert_eq!(check.is_valid(&arguments), fits, "{arguments}");
    }
}

#[test]
fn the_output_schema_follows_the_selection() {
    let schema = r"
        scalar Date
        enum State { ON OFF }
        interface Node { id: ID! }
        type User implements Node { id: ID!  name: String  since: Date!  state: State!  tags: [String!]! }
        type Bot implements Node { id: ID!  owner: User! }
        type Query { node: Node  user: User! }
    ";
    let text = "query ($more: Boolean!) {
        me: user { ...Basics since name @include(if: $more) }
        node { id ... on Node { id } ... on User { tags } ... on Bot { owner { name } owner { state } } }
    }
    fragment Basics on User { id state }";
    let api = api(schema, json!({"operations": {"all": {"document": text}}}));
    let output = &tool(&api.discovery(), "all")["outputSchema"];
    let data = &output["properties"]["body"]["properties"]["data"];
    let expected = json!({
        "type": ["object", "null"],
        "properties": {
            "me": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "state": {"type": "string"},
                    "since": {},
                    "name": {"type": ["string", "null"]},
                },
                "required": ["id", "state", "since"],
            },
            "node": {
                "type": ["object", "null"],
                "properties": {
                    "id": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "owner": {
                        "type": "object",
                        "properties": {
                            "name": {"type": ["string", "null"]},
                            "state": {"type": "string"},
                        },
                    },
                },
                "required": ["id"],
            },
        },
        "required": ["me", "node"],
    });
    assert_eq!(*data, expected);
}

#[test]
fn what_only_some_fragments_ask_for_is_promised_by_none() {
    let schema = r"
        type Query { any: Any }
        union Any = A | B
        type A { more: More! }
        type B { more: More! }
        type More { x: Int!  y: Int!  z: Int! }
    ";
    let text = "{ any { ... on A { more { x y } } ... on B { more { x z } } } }";
    let api = api(schema, json!({"operations": {"any": {"document": text}}}));
    let output = &tool(&api.discovery(), "any")["outputSchema"];
    let more =
        output.pointer("/properties/body/properties/data/properties/any/properties/more").unwrap();
    assert_eq!(more["properties"].as_object().unwrap().len(), 3);
    assert_eq!(more["required"], json!(["x"]));
    let check = jsonschema::validator_for(output).unwrap();
    assert!(check.is_valid(&json!({"body": {"data": {"any": {"more": {"x": 1, "z": 2}}}}})));
    assert!(!check.is_valid(&json!({"body": {"data": {"any": {"more": {"z": 2}}}}})));
}
