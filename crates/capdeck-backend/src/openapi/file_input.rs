//! A file that a caller sends: from an artifact, from the project, or inside the arguments.

use std::{
    fs,
    path::{Path, PathBuf},
};

use base64::{
    Engine as _,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::{
    ArtifactStore, CallError, ErrorCode,
    http::Body,
    project_file::{HINT, project_file},
};

/// Callers leave out the padding as often as not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Where files may come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilePlaces<'a> {
    pub(super) artifacts: &'a ArtifactStore,
    /// Paths are only read inside of it.
    pub(super) project: Option<&'a Path>,
}

/// A file, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct FileInput {
    content: Content,
    pub(super) filename: Option<String>,
    pub(super) mime_type: Option<String>,
}

#[derive(Debug, Clone)]
enum Content {
    Bytes(Bytes),
    File { path: PathBuf, length: u64 },
}

impl FileInput {
    /// Finds the file that an argument means. `argument` is its name, for messages.
    pub(super) fn read(
        argument: &str,
        value: &Value,
        places: FilePlaces<'_>,
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
            let letters: String = encoded.split_whitespace().collect();
            let bytes = BASE64
                .decode(letters)
                .map_err(|error| refuse(format!("is not base64: {error}")))?;
            (Content::Bytes(bytes.into()), None, None)
        } else if let Some(url) = text("dataUrl") {
            let (bytes, mime_type) =
                data_url(url).ok_or_else(|| refuse("holds no data URL".to_owned()))?;
            (Content::Bytes(bytes.into()), None, mime_type)
        } else if let Some(text) = text("text").or(value.as_str()) {
            (Content::Bytes(text.to_owned().into()), None, None)
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
    pub(super) fn append_to(self, body: Body) -> Body {
        match self.content {
            Content::Bytes(bytes) => body.with_bytes(bytes),
            Content::File { path, length } => body.with_file(path, length),
        }
    }
}

fn plain_file(path: PathBuf) -> Result<Content, String> {
    let facts = fs::metadata(&path).map_err(|error| format!("cannot be read: {error}"))?;
    if !facts.is_file() {
        return Err("is no file".to_owned());
    }
    Ok(Content::File { path, length: facts.len() })
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// `data:image/png;base64,…`
fn data_url(url: &str) -> Option<(Vec<u8>, Option<String>)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let (mime_type, is_base64) = match head.strip_suffix(";base64") {
        Some(mime_type) => (mime_type, true),
        None => (head, false),
    };
    let bytes = if is_base64 {
        BASE64.decode(percent_decode_str(data).decode_utf8().ok()?.as_bytes()).ok()?
    } else {
        percent_decode_str(data).collect()
    };
    Some((bytes, (!mime_type.is_empty()).then(|| mime_type.to_owned())))
}
