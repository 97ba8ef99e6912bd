//! The definition of a tool, as a server lists it: any JSON object.

use std::collections::BTreeSet;

use capdeck_catalog::{
    ObservedShape, RawMembers, Tool, brief_signature, compact, definition_digest, hidden_text,
    signature,
};
use capdeck_mcp::HeaderParams;
use capdeck_sandbox::{ToolSignature, tool_types};
use serde_json::Value;

use crate::{FuzzTarget, seeds};

/// No text about one tool may be longer than this, for every schema.
const MAX_TEXT: usize = 1 << 20;

struct ToolDefinitionTarget;

pub(crate) fn tool_definition() -> Box<dyn FuzzTarget> {
    Box::new(ToolDefinitionTarget)
}

impl FuzzTarget for ToolDefinitionTarget {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/tool-definition", &[".json"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        16 * 1024
    }

    fn execute(&mut self, input: &[u8]) -> String {
        let Ok(raw) = serde_json::from_slice::<RawMembers>(input) else {
            return "no object".to_owned();
        };
        let Some(tool) = Tool::new(raw) else { return "no tool".to_owned() };
        let broken = check_tool(&tool);
        // What the signature is made of, without names.
        let form: String = signature(tool.name(), &tool)
            .chars()
            .filter(|letter| !letter.is_ascii_alphanumeric() && letter.is_ascii())
            .take(12)
            .collect();
        let headers = tool.input_schema().map(|schema| match HeaderParams::from_schema(schema) {
            Ok(params) => check_headers(&params, tool.raw().get("arguments").map(AsRef::as_ref)),
            Err(_) => "invalid headers",
        });
        let hidden: BTreeSet<String> =
            hidden_text(&tool).iter().map(|found| format!("{found:?}").len().to_string()).collect();
        format!("{broken} {headers:?} {} {form}", hidden.len().min(3))
    }
}

/// Everything that looks at a tool's schema takes any schema, and none grows without bounds.
pub(crate) fn check_tool(tool: &Tool) -> bool {
    let check = tool.argument_check();
    let arguments = tool.text("arguments").and_then(|text| serde_json::from_str(&text).ok());
    for arguments in [serde_json::json!({}), arguments.unwrap_or_default()] {
        if let Err(bad) = check.check(&arguments) {
            let text = serde_json::to_string(&bad).unwrap();
            assert!(text.len() < MAX_TEXT, "bad arguments make a text of {} bytes", text.len());
        }
    }
    for text in [signature(tool.name(), tool), brief_signature("api.tool", tool)] {
        assert!(!text.is_empty() && text.len() < MAX_TEXT, "a signature of {} bytes", text.len());
    }
    let short = compact(tool).to_string();
    assert!(short.len() < MAX_TEXT, "a compact form of {} bytes", short.len());
    assert_eq!(definition_digest(tool), definition_digest(tool));
    let value = |schema: Option<&serde_json::value::RawValue>| {
        schema.and_then(|schema| serde_json::from_str::<Value>(schema.get()).ok())
    };
    let (input, output) = (value(tool.input_schema()), value(tool.output_schema()));
    for schema in [&input, &output].into_iter().flatten() {
        let (text, _) = ObservedShape::from_value(schema).type_script();
        assert!(text.len() < MAX_TEXT, "an observed type of {} bytes", text.len());
    }
    let description = tool.description();
    let shape = ToolSignature {
        name: tool.name(),
        description: description.as_deref(),
        input_schema: &input.clone().unwrap_or_default(),
        output_schema: output.as_ref(),
    };
    let types = tool_types("api", &[shape]);
    assert!(types.len() < MAX_TEXT, "declarations of {} bytes", types.len());
    check.problem().is_some()
}

/// Every header is one that HTTP takes as it is.
fn check_headers(
    params: &HeaderParams,
    arguments: Option<&serde_json::value::RawValue>,
) -> &'static str {
    for header in params.headers(arguments) {
        let name = http::HeaderName::from_bytes(header.name.as_bytes());
        assert!(name.is_ok(), "{:?} is no name of a header", header.name);
        let Some(value) = header.value else { continue };
        let is_plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        assert!(value.bytes().all(is_plain), "{value:?} is no value of a header");
        assert!(!value.starts_with(' ') && !value.ends_with(' '), "{value:?} loses its spaces");
    }
    if params.is_empty() { "no headers" } else { "headers" }
}

const WORDS: &[&str] = &[
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "readOnlyHint",
    "type",
    "object",
    "array",
    "string",
    "integer",
    "number",
    "boolean",
    "null",
    "properties",
    "required",
    "items",
    "prefixItems",
    "additionalProperties",
    "patternProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "enum",
    "const",
    "$ref",
    "$defs",
    "definitions",
    "#",
    "#/$defs/A",
    "#/$defs/B",
    "#/properties/a",
    "#/anyOf/0",
    "#A",
    "https://x.example/a",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$schema",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
    "default",
    "format",
    "date-time",
    "uri",
    "pattern",
    "minimum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "uniqueItems",
    "dependentRequired",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "x-mcp-header",
    "Region",
    "readOnly",
    "arguments",
];
