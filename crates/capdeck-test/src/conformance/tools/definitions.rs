//! Names, descriptions and schemas, as `tools/list` shows them.

use serde_json::{Value, json};

use super::{FixtureJob, nothing};

/// Tools without arguments.
const PLAIN: [(&str, &str); 25] = [
    ("test_simple_text", "Answers with plain text"),
    ("test_image_content", "Answers with a picture"),
    ("test_audio_content", "Answers with a sound"),
    ("test_embedded_resource", "Answers with a resource"),
    ("test_multiple_content_types", "Answers with text, a picture and a resource"),
    ("test_error_handling", "Fails on purpose"),
    ("test_tool_with_logging", "Sends three log messages, then answers"),
    ("test_logging_tool", "Logs to those who asked for it"),
    ("test_tool_with_progress", "Reports progress three times, then answers"),
    ("test_reconnection", "Closes its event stream in the middle of the call"),
    ("test_elicitation_sep1034_defaults", "Asks with a default for every kind of value"),
    ("test_elicitation_sep1330_enums", "Asks with every form of enumeration"),
    ("test_streaming_elicitation", "Asks in the middle of a stream"),
    ("test_missing_capability", "Needs a model to ask"),
    ("test_trigger_tool_change", "Adds or removes a tool"),
    ("test_trigger_prompt_change", "Adds or removes a prompt"),
    ("test_input_required_result_elicitation", "Needs the person's name"),
    ("test_input_required_result_sampling", "Needs a model's answer"),
    ("test_input_required_result_list_roots", "Needs the client's roots"),
    ("test_input_required_result_request_state", "Needs a confirmation and its own state"),
    ("test_input_required_result_tampered_state", "Refuses a state that is not its own"),
    ("test_input_required_result_multiple_inputs", "Needs three things at once"),
    ("test_input_required_result_multi_round", "Needs two things, one after the other"),
    ("test_input_required_result_capabilities", "Needs whatever the client can be asked for"),
    ("test_extra_tool", "Comes and goes"),
];

/// Every tool, in the order they are listed.
pub(in crate::conformance) fn list(has_extra: bool) -> Vec<Value> {
    let plain = PLAIN.iter().map(|(name, description)| tool(name, description, &nothing()));
    plain
        .chain([
            tool(
                "test_sampling",
                "Asks the client's model",
                &text("prompt", "What to ask the model"),
            ),
            tool("test_elicitation", "Asks the person", &text("message", "What to ask the person")),
            tool("greet", "Greets someone at once", &text("name", "Whom to greet")),
            custom_header(),
            tool(
                "json_schema_2020_12_tool",
                "Has a schema with parts that careless middlemen drop",
                &full_schema(),
            ),
        ])
        .chain(FixtureJob::definitions())
        .filter(|tool| has_extra || tool["name"] != "test_extra_tool")
        .collect()
}

/// A tool's definition.
pub(super) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "description": description, "inputSchema": schema })
}

/// A schema of one text that has to be there.
pub(super) fn text(name: &str, description: &str) -> Value {
    let property = json!({ "type": "string", "description": description });
    json!({ "type": "object", "properties": { name: property }, "required": [name] })
}

fn custom_header() -> Value {
    let mut schema = text("value", "Sent in the body and in a header");
    schema["properties"]["value"]["x-mcp-header"] = "Value".into();
    tool("test_custom_header", "Repeats a value that a header repeats too", &schema)
}

fn full_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
