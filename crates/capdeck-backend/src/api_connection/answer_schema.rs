//! The output schema of a call to an HTTP API: the body of good answers, and room for everything else.

use serde_json::{Map, Value, json};

/// The schema of a call's structured result whose good answers have this body.
///
/// Clients hold every result against it, failures too: an answer with an error status may have any body, a large one is
/// an artifact, and a call that never reached the API has nothing but its `error`.
pub(crate) fn answer_schema(body: Value) -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "status": {"type": "integer"},
            "statusText": {"type": "string"},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "kind": {"enum": ["inline", "local-artifact", "remote-reference"]},
            "elapsedMs": {"type": "integer"},
            "uri": {"type": "string"},
            "filename": {"type": "string"},
            "mimeType": {"type": "string"},
            "byteLength": {"type": "integer"},
            "sha256": {"type": "string"},
            "error": {"type": "object"},
        },
        "anyOf": [
            {"properties": {"status": {"maximum": 399}, "body": body}, "required": ["status"]},
            {"required": ["uri"]},
            {"properties": {"status": {"minimum": 400}}, "required": ["status"]},
            {"required": ["error"]},
        ],
    });
    match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_fit_whatever_their_body_and_good_answers_only_with_theirs() {
        let schema = Value::Object(answer_schema(json!({"type": "array"})));
        let check = jsonschema::validator_for(&schema).unwrap();
        for (result, fits) in [
            (json!({"status": 200, "kind": "inline", "body": []}), true),
            (json!({"status": 204, "kind": "inline"}), true),
            (json!({"status": 200, "kind": "inline", "body": "no array"}), false),
            (json!({"status": 404, "kind": "inline", "body": {"message": "gone"}}), true),
            (
                json!({"status": 200, "kind": "remote-reference", "uri": "capdeck://x", "body": "[1, 2"}),
                true,
            ),
            (json!({"error": {"code": "SERVER_UNAVAILABLE"}}), true),
            (json!({}), false),
        ] {
            assert_eq!(check.is_valid(&result), fits, "{result}");
        }
    }
}
