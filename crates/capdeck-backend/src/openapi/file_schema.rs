//! How a file is given as an argument.

use serde_json::{Value, json};

use super::document::OpenApiNode;

/// The schema of an argument that is a file.
pub(super) fn file_schema(description: Option<&str>) -> Value {
    let ways = "A file: give one of `artifact`, `path`, `base64`, `dataUrl` or `text`";
    let description =
        description.map_or_else(|| ways.to_owned(), |told| format!("{told}\n\n{ways}"));
    json!({
        "type": "object",
        "description": description,
        "properties": {
            "artifact": {"type": "string", "description": "URI of a stored result, `capdeck://artifacts/…`"},
            "path": {"type": "string", "description": "A file inside the project"},
            "base64": {"type": "string"},
            "dataUrl": {"type": "string"},
            "text": {"type": "string"},
            "filename": {"type": "string"},
            "mimeType": {"type": "string"},
        },
        "anyOf": [
            {"required": ["artifact"]},
            {"required": ["path"]},
            {"required": ["base64"]},
            {"required": ["dataUrl"]},
            {"required": ["text"]},
        ],
        "additionalProperties": false,
    })
}

/// True for a schema that means the bytes of a file.
pub(super) fn is_file(schema: OpenApiNode<'_>) -> bool {
    let is_text_type = match schema.value.get("type") {
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        None => true,
        Some(_) => false,
    };
    schema.text("type") == Some("file")
        || (is_text_type && schema.text("format") == Some("binary"))
        // Since 3.1: bytes of this type, unless they are encoded as text.
        || (is_text_type
            && schema.text("contentMediaType").is_some()
            && schema.text("contentEncoding").is_none())
}
