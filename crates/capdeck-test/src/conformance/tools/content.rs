//! Tools whose answer never changes: one for each kind of content.

use serde_json::{Value, json};

use crate::conformance::{
    call::says,
    media::{RED_PIXEL, SILENCE},
};

/// The answer of a tool of this name.
pub(super) fn of(name: &str) -> Option<Value> {
    let result = match name {
        "test_simple_text" => says("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [picture()] }),
        "test_audio_content" => {
            json!({ "content": [{ "type": "audio", "data": SILENCE, "mimeType": "audio/wav" }] })
        }
        "test_embedded_resource" => json!({ "content": [resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )] }),
        "test_multiple_content_types" => json!({ "content": [
            { "type": "text", "text": "Multiple content types test:" },
            picture(),
            resource(
                "test://mixed-content-resource",
                "application/json",
                &json!({ "test": "data", "value": 123 }).to_string(),
            ),
        ] }),
        "test_error_handling" => {
            let mut result = says("This tool intentionally returns an error for testing");
            result["isError"] = true.into();
            result
        }
        _ => return None,
    };
    Some(result)
}

fn picture() -> Value {
    json!({ "type": "image", "data": RED_PIXEL, "mimeType": "image/png" })
}

fn resource(uri: &str, media_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": media_type, "text": text } })
}
