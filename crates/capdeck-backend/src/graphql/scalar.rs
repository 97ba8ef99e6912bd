//! JSON schemas of scalars.

use serde_json::{Map, Value, json};

/// Returns the schema of a scalar in requests. Custom scalars are open unless they have a common name.
pub(super) fn input_scalar(name: &str) -> Map<String, Value> {
    let plain = match name {
        "Int" => Some(json!({"type": "integer"})),
        "Float" => Some(json!({"type": "number"})),
        "String" => Some(json!({"type": "string"})),
        "Boolean" => Some(json!({"type": "boolean"})),
        // Both forms are the same id.
        "ID" => Some(json!({"type": ["string", "integer"]})),
        _ => None,
    };
    let schema = plain.unwrap_or_else(|| {
        let mut schema = well_known(name);
        if let Some(members) = schema.as_object_mut() {
            members.insert("description".into(), format!("a `{name}`").into());
        }
        schema
    });
    if let Value::Object(members) = schema { members } else { Map::new() }
}

/// Returns the schema of a scalar in responses. Only the five built-in ones are promised.
pub(super) fn output_scalar(name: &str) -> Map<String, Value> {
    let ty = match name {
        "Int" => "integer",
        "Float" => "number",
        "String" | "ID" => "string",
        "Boolean" => "boolean",
        _ => return Map::new(),
    };
    Map::from_iter([("type".to_owned(), ty.into())])
}

fn well_known(name: &str) -> Value {
    let folded: String =
        name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect();
    match folded.as_str() {
        "datetime" | "datetimeiso" | "iso8601datetime" | "datetimeoffset" | "timestamptz"
        | "precisedatetime" => {
            json!({"type": "string", "format": "date-time"})
        }
        "date" | "localdate" | "iso8601date" => json!({"type": "string", "format": "date"}),
        "time" | "timetz" | "localtime" | "duration" | "html" | "markdown" | "base64"
        | "base64string" | "gitobjectid" | "gitsshremote" | "x509certificate" | "hexcolor"
        | "cursor" | "citext" => json!({"type": "string"}),
        "uri" | "url" | "httpurl" => json!({"type": "string", "format": "uri"}),
        "uuid" | "guid" => json!({"type": "string", "format": "uuid"}),
        "email" | "emailaddress" => json!({"type": "string", "format": "email"}),
        "bigint" | "long" | "int64" | "uint64" => json!({"type": ["integer", "string"]}),
        "decimal" | "bigdecimal" | "numeric" | "money" => json!({"type": ["number", "string"]}),
        "positiveint" => json!({"type": "integer", "minimum": 1}),
        "nonnegativeint" | "unsignedint" => json!({"type": "integer", "minimum": 0}),
        "jsonobject" => json!({"type": "object"}),
        _ => json!({}),
    }
}
