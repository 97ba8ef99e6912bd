//! Builds MCP call results for backends that are not MCP servers.

use serde_json::{Map, Value, json, value::RawValue};

use crate::{Artifact, CallError, ErrorCode};

/// A call result being put together.
#[derive(Debug, Default)]
pub(crate) struct ToolResult {
    pub(crate) text: String,
    pub(crate) artifacts: Vec<Artifact>,
    /// Nothing at all when it could not be what the tool's output schema promises.
    pub(crate) structured: Option<Map<String, Value>>,
    pub(crate) is_error: bool,
    pub(crate) meta: Map<String, Value>,
}

impl ToolResult {
    /// The `CallToolResult`. An artifact is a link, so that clients can read it as a resource.
    pub(crate) fn build(self) -> Result<Box<RawValue>, CallError> {
        let mut content = vec![json!({"type": "text", "text": self.text})];
        for artifact in self.artifacts {
            let mut link = json!({
                "type": "resource_link",
                "uri": artifact.uri,
                "name": artifact.filename,
                "size": artifact.byte_length,
                "_meta": { "capdeck/sha256": artifact.sha256 },
            });
            if let (Some(mime_type), Some(members)) = (artifact.mime_type, link.as_object_mut()) {
                members.insert("mimeType".into(), mime_type.into());
            }
            content.push(link);
        }
        let mut result = Map::new();
        result.insert("content".into(), content.into());
        if let Some(structured) = self.structured {
            result.insert("structuredContent".into(), Value::Object(structured));
        }
        result.insert("isError".into(), self.is_error.into());
        if !self.meta.is_empty() {
            result.insert("_meta".into(), Value::Object(self.meta));
        }
        serde_json::value::to_raw_value(&result).map_err(|error| {
            CallError::new(ErrorCode::InternalError, "the result cannot be written as JSON")
                .detail(error)
        })
    }
}
