//! The resources the conformance suite reads.

use capdeck_mcp::RpcError;
use serde_json::{Value, json, value::to_raw_value};

use super::{
    call::{FixtureCall, FixtureResult},
    media::RED_PIXEL,
    skills,
};

/// Uri, name, description and media type of what is listed.
const LISTED: [[&str; 4]; 3] = [
    ["test://static-text", "Static text", "Text that never changes", "text/plain"],
    ["test://static-binary", "Static binary", "A picture of one pixel", "image/png"],
    ["test://watched-resource", "Watched resource", "Can be subscribed to", "text/plain"],
];

/// Every resource, the skills' files last.
pub(super) fn list() -> Vec<Value> {
    let listed = LISTED.iter().map(|[uri, name, description, media_type]| {
        json!({ "uri": uri, "name": name, "description": description, "mimeType": media_type })
    });
    listed.chain(skills::resources()).collect()
}

/// Every resource template.
pub(super) fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "Data by id",
        "description": "Says which id was asked for",
        "mimeType": "application/json",
    }])
}

/// `resources/read`.
pub(super) fn read(call: &FixtureCall<'_>) -> FixtureResult {
    let uri = call.params["uri"].as_str().unwrap_or_default();
    let contents = match uri {
        "test://static-text" => {
            text(uri, "text/plain", "This is the content of the static text resource.")
        }
        "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": RED_PIXEL }),
        "test://watched-resource" => text(uri, "text/plain", "Nothing has happened yet."),
        _ => match template_id(uri) {
            Some(id) => {
                let data =
                    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                text(uri, "application/json", &data.to_string())
            }
            None => skills::read_file(uri).ok_or_else(|| not_found(uri, call.is_modern))?,
        },
    };
    Ok(json!({ "contents": [contents] }))
}

/// `resources/subscribe` and `resources/unsubscribe`.
pub(super) fn subscription(call: &FixtureCall<'_>) -> FixtureResult {
    let uri = call.params["uri"].as_str().unwrap_or_default();
    if uri == "test://watched-resource" {
        Ok(json!({}))
    } else {
        Err(not_found(uri, call.is_modern))
    }
}

fn text(uri: &str, media_type: &str, text: &str) -> Value {
    json!({ "uri": uri, "mimeType": media_type, "text": text })
}

fn template_id(uri: &str) -> Option<&str> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

/// The eras have different codes for it.
fn not_found(uri: &str, is_modern: bool) -> RpcError {
    let code = if is_modern { RpcError::INVALID_PARAMS } else { -32002 };
    let data = to_raw_value(&json!({ "uri": uri })).unwrap();
    RpcError::new(code, format!("there is no resource `{uri}`")).with_data(data)
}
