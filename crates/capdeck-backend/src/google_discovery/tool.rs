//! The tool a method becomes: its description and what it takes and gives.

use serde_json::{Map, Value, json};

use super::{
    method::{Location, Method, Parameters},
    schema::{Direction, Flaws, SchemaWriter, is_required},
};
use crate::described::answer_schema;

/// Writes the MCP definition of a method. What of it cannot be read is added to `flaws`.
pub(super) fn definition(
    method: &Method,
    described: &Value,
    parameters: &Parameters<'_>,
    schemas: &Map<String, Value>,
    flaws: &mut Flaws,
) -> Map<String, Value> {
    let mut tool = Map::new();
    tool.insert("name".into(), method.name.as_str().into());
    tool.insert("description".into(), description(method, described).into());
    let input = input_schema(method, described, parameters, schemas, flaws);
    tool.insert("inputSchema".into(), input.into());
    if let Some(response) = described.get("response") {
        let mut writer = SchemaWriter::new(schemas, Direction::Output, &method.name);
        writer.count(response);
        let body = writer.write(response, flaws);
        let definitions = writer.definitions();
        tool.insert("outputSchema".into(), output_schema(body, definitions).into());
    }
    let is_read_only = method.verb.is_safe();
    tool.insert(
        "annotations".into(),
        json!({
            "readOnlyHint": is_read_only,
            "destructiveHint": method.is_destructive(),
            "idempotentHint": method.verb.is_idempotent(),
        }),
    );
    tool
}

fn description(method: &Method, described: &Value) -> String {
    let text = described.get("description").and_then(Value::as_str).unwrap_or_default().trim();
    let is_deprecated = described.get("deprecated") == Some(&Value::Bool(true));
    match (is_deprecated, text) {
        (false, "") => format!("{} {}", method.verb, method.path),
        (false, text) => text.to_owned(),
        (true, text) if text.to_ascii_lowercase().starts_with("deprecated") => text.to_owned(),
        (true, text) => format!("Deprecated. {text}").trim_end().to_owned(),
    }
}

fn input_schema(
    method: &Method,
    described: &Value,
    parameters: &Parameters<'_>,
    schemas: &Map<String, Value>,
    flaws: &mut Flaws,
) -> Map<String, Value> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    // Parameters refer to no types, and the one schema that does is the body.
    let mut writer = SchemaWriter::new(schemas, Direction::Input, &method.name);
    if method.upload.is_some() {
        // What a body must have may come as media instead.
        writer = writer.without_required();
    }
    let groups =
        [("path", Location::Path), ("query", Location::Query), ("header", Location::Header)];
    for (group, location) in groups {
        let here = parameters.iter().filter(|(_, place, _)| *place == location);
        let (mut members, mut needed) = (Map::new(), Vec::new());
        for (name, _, parameter) in here {
            members.insert((*name).to_owned(), writer.write(parameter, flaws));
            if location == Location::Path || parameter.get("required") == Some(&Value::Bool(true)) {
                needed.push(Value::from(*name));
            }
        }
        if members.is_empty() {
            continue;
        }
        if !needed.is_empty() {
            required.push(Value::from(group));
        }
        properties.insert(group.to_owned(), group_schema(members, needed));
    }
    if let Some(request) = described.get("request") {
        writer.count(request);
        properties.insert("body".to_owned(), writer.write(request, flaws));
        if method.upload.is_none() && needs_body(request, schemas, &method.name) {
            required.push("body".into());
        }
    }
    if method.upload.is_some() {
        properties.insert("media".to_owned(), media_schema(method));
    }
    if method.is_downloadable {
        properties.insert(
            "filename".to_owned(),
            json!({"type": "string", "description": "Download the content, not its description, as an artifact of this name."}),
        );
        properties.insert(
            "outputPath".to_owned(),
            json!({"type": "string", "description": "The same as `filename`: a name without folders, because artifacts have their own place."}),
        );
    }
    let mut schema = group_schema(properties, required);
    let definitions = writer.definitions();
    match &mut schema {
        Value::Object(schema) => {
            if !definitions.is_empty() {
                schema.insert("$defs".into(), definitions.into());
            }
            std::mem::take(schema)
        }
        _ => Map::new(),
    }
}

fn group_schema(properties: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema["additionalProperties"] = false.into();
    schema
}

/// A body is needed when one of its own members is.
fn needs_body(request: &Value, schemas: &Map<String, Value>, method: &str) -> bool {
    let name = request.get("$ref").and_then(Value::as_str);
    let schema = name.and_then(|name| schemas.get(name)).unwrap_or(request);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|all| all.values().any(|property| is_required(property, method)))
}

fn media_schema(method: &Method) -> Value {
    let accept = method.upload.as_ref().map(|upload| upload.accept.join(", ")).unwrap_or_default();
    let accepted = match accept.as_str() {
        "" | "*/*" => String::new(),
        accept => format!(" Accepted: {accept}."),
    };
    json!({
        "type": "object",
        "description": format!("The content to upload, from exactly one of `path`, `artifact` and `dataUrl`.{accepted}"),
        "properties": {
            "path": {"type": "string", "description": "A file on this machine."},
            "artifact": {"type": "string", "description": "The URI of an artifact that another call gave."},
            "dataUrl": {"type": "string", "description": "The content itself: `data:text/plain;base64,…`."},
            "mimeType": {"type": "string", "description": "The media type, where it does not follow from the source."},
            "filename": {"type": "string", "description": "The name to send along."},
        },
        "additionalProperties": false,
    })
}

/// The result of a call around the body.
fn output_schema(body: Value, definitions: Map<String, Value>) -> Map<String, Value> {
    let mut schema = answer_schema(body);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema
}
