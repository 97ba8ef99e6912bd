//! A file that a caller sends: from an artifact, from the project, or inside the arguments.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use serde_json::Value;

use crate::{
    ArtifactStore, CallError, ErrorCode,
    data_url::{DataUrl, decode_base64},
    http::HttpRequestBody,
    project_file::{HINT, project_file},
};

/// Where files may come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileInputSources<'a> {
    pub(crate) artifacts: &'a ArtifactStore,
    /// Paths are only read inside of it.
    pub(crate) project: Option<&'a Path>,
}

/// A file, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct FileInput {
    content: FileInputContent,
    pub(crate) filename: Option<String>,
    pub(crate) mime_type: Option<String>,
}

#[derive(Debug, Clone)]
enum FileInputContent {
    Bytes(Bytes),
    File { path: PathBuf, length: u64 },
}

impl FileInput {
    /// Finds the file that an argument means. `argument` is its name, for messages.
    pub(crate) fn read(
        argument: &str,
        value: &Value,
        places: FileInputSources<'_>,
    ) -> Result<Self, CallError> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let refuse = |reason: String| {
            CallError::new(ErrorCode::RequestInvalid, format!("`{argument}` {reason}"))
        };
        let (content, filename, mime_type) = if let Some(uri) = text("artifact") {
            let artifact = places
                .artifacts
                .path(uri)
                .map_err(|error| refuse(format!("names no artifact: {error}")))?;
            let name = file_name(&artifact);
            (plain_file(artifact).map_err(refuse)?, name, None)
        } else if let Some(path) = text("path") {
            let path =
                project_file(path, places.project).map_err(|error| refuse(error).hint(HINT))?;
            let name = file_name(&path);
            (plain_file(path).map_err(refuse)?, name, None)
        } else if let Some(encoded) = text("base64") {
            let bytes = decode_base64(encoded)
                .map_err(|error| refuse(format!("is not base64: {error}")))?;
            (FileInputContent::Bytes(bytes.into()), None, None)
        } else if let Some(url) = text("dataUrl") {
            let read =
                DataUrl::read(url).map_err(|_reason| refuse("holds no data URL".to_owned()))?;
            (FileInputContent::Bytes(read.bytes), None, read.mime_type)
        } else if let Some(text) = text("text").or(value.as_str()) {
            (FileInputContent::Bytes(text.to_owned().into()), None, None)
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

    /// Adds the content to a body.
    pub(crate) fn append_to(self, body: HttpRequestBody) -> HttpRequestBody {
        match self.content {
            FileInputContent::Bytes(bytes) => body.with_bytes(bytes),
            FileInputContent::File { path, length } => body.with_file(path, length),
        }
    }
}

fn plain_file(path: PathBuf) -> Result<FileInputContent, String> {
    let facts = fs::metadata(&path).map_err(|error| format!("cannot be read: {error}"))?;
    if !facts.is_file() {
        return Err("is no file".to_owned());
    }
    Ok(FileInputContent::File { path, length: facts.len() })
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}
