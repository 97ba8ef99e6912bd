//! A file that a caller sends: from an artifact, from the project, or inside the arguments.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::document::OpenApiNode;
use crate::{
    ArtifactStore, CallError,
    arguments::{DataUrl, PROJECT_FILE_HINT, decode_base64, project_file},
    http::HttpBodyPart,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct FileInputSources<'a> {
    pub(crate) artifacts: &'a ArtifactStore,
    /// Paths are only read inside of it.
    pub(crate) project: Option<&'a Path>,
}

#[derive(Debug, Clone)]
pub(crate) struct FileInput {
    pub(super) content: HttpBodyPart,
    pub(crate) filename: Option<String>,
    pub(crate) mime_type: Option<String>,
}

impl FileInput {
    /// Finds the file that an argument means. `argument` is its name, for messages.
    pub(crate) fn read(
        argument: &str,
        value: &Value,
        places: FileInputSources<'_>,
    ) -> Result<Self, CallError> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let refuse = |reason: String| CallError::invalid_request(format!("`{argument}` {reason}"));
        let (content, filename, mime_type) = if let Some(uri) = text("artifact") {
            let artifact = places
                .artifacts
                .path(uri)
                .map_err(|error| refuse(format!("names no artifact: {error}")))?;
            let name = file_name(&artifact);
            (plain_file(artifact).map_err(refuse)?, name, None)
        } else if let Some(path) = text("path") {
            let path = project_file(path, places.project)
                .map_err(|error| refuse(error).hint(PROJECT_FILE_HINT))?;
            let name = file_name(&path);
            (plain_file(path).map_err(refuse)?, name, None)
        } else if let Some(encoded) = text("base64") {
            let bytes = decode_base64(encoded)
                .map_err(|error| refuse(format!("is not base64: {error}")))?;
            (HttpBodyPart::Bytes(bytes.into()), None, None)
        } else if let Some(url) = text("dataUrl") {
            let read =
                DataUrl::read(url).map_err(|_reason| refuse("holds no data URL".to_owned()))?;
            (HttpBodyPart::Bytes(read.bytes), None, read.mime_type)
        } else if let Some(text) = text("text").or(value.as_str()) {
            (HttpBodyPart::Bytes(text.to_owned().into()), None, None)
        } else {
            return Err(refuse("is no file".to_owned())
                .hint("give one of `artifact`, `path`, `base64`, `dataUrl` or `text`"));
        };
        Ok(Self {
            content,
            filename: text("filename").map(str::to_owned).or(filename),
            mime_type: text("mimeType").map(str::to_owned).or(mime_type),
        })
    }
}

fn plain_file(path: PathBuf) -> Result<HttpBodyPart, String> {
    let facts = fs::metadata(&path).map_err(|error| format!("cannot be read: {error}"))?;
    if !facts.is_file() {
        return Err("is no file".to_owned());
    }
    Ok(HttpBodyPart::File { path, offset: 0, length: facts.len() })
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

pub(super) fn file_schema(description: Option<&str>) -> Value {
    let ways = "A file: give one of `artifact`, `path`, `base64`, `dataUrl` or `text`";
    let description =
        description.map_or_else(|| ways.to_owned(), |text| format!("{text}\n\n{ways}"));
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

/// A media type in lower case, without parameters.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence == "application/json" || essence.ends_with("+json") || essence.ends_with("/json")
}

pub(super) fn is_text(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.starts_with("text/")
        || essence.ends_with("/xml")
        || essence.ends_with("+xml")
        || essence.ends_with("/yaml")
        || essence.ends_with("+yaml")
        || matches!(
            essence.as_str(),
            "application/x-ndjson"
                | "application/jsonl"
                | "application/javascript"
                | "application/graphql"
                | "application/sql"
                | "application/x-yaml"
        )
}

pub(super) fn is_range(media_type: &str) -> bool {
    essence(media_type).contains('*')
}
