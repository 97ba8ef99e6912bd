//! What is uploaded: a file, an artifact or the bytes of a data URL.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use serde::Deserialize;

use super::translate::MediaUpload;
use crate::{
    ArtifactStore, CallError, ErrorCode,
    data_url::DataUrl,
    http::HttpRequestBody,
    project_file::{HINT, project_file},
};

/// What to upload, and as what.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MediaArgument {
    path: Option<String>,
    artifact: Option<String>,
    data_url: Option<String>,
    mime_type: Option<String>,
    filename: Option<String>,
}

/// Content of known length and type. A file is read while it is sent.
#[derive(Debug)]
pub(super) struct UploadMedia {
    source: MediaSource,
    pub(super) length: u64,
    pub(super) mime_type: String,
    pub(super) filename: Option<String>,
}

#[derive(Debug)]
enum MediaSource {
    File(PathBuf),
    Bytes(Bytes),
}

impl UploadMedia {
    /// Finds what the argument names and holds it against what the method takes.
    pub(super) async fn open(
        argument: MediaArgument,
        upload: &MediaUpload,
        project: Option<&Path>,
        artifacts: &ArtifactStore,
    ) -> Result<Self, CallError> {
        let MediaArgument { path, artifact, data_url, mime_type, filename } = argument;
        let (source, known_type, known_name) = match (path, artifact, data_url) {
            (Some(path), None, None) => {
                let file = project_file(&path, project).map_err(|reason| {
                    CallError::new(ErrorCode::RequestInvalid, format!("`media.path` {reason}"))
                        .hint(HINT)
                })?;
                let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
                (MediaSource::File(file), None, name)
            }
            (None, Some(uri), None) => {
                let unusable = |error: crate::ArtifactError| {
                    CallError::new(ErrorCode::RequestInvalid, error.to_string())
                        .hint("use the `uri` of an artifact that a call of this host gave")
                };
                let facts = artifacts.describe(&uri).await.map_err(unusable)?;
                let file = artifacts.path(&uri).map_err(unusable)?;
                (MediaSource::File(file), facts.mime_type, Some(facts.filename))
            }
            (None, None, Some(url)) => {
                let read = DataUrl::read(&url).map_err(|reason| {
                    CallError::new(ErrorCode::RequestInvalid, format!("`media.dataUrl` {reason}"))
                        .hint("write it as `data:text/plain;base64,aGVsbG8=`")
                })?;
                (MediaSource::Bytes(read.bytes), read.mime_type, None)
            }
            _ => {
                return Err(CallError::new(
                    ErrorCode::RequestInvalid,
                    "`media` needs exactly one of `path`, `artifact` and `dataUrl`",
                ));
            }
        };
        let length = match &source {
            MediaSource::Bytes(bytes) => bytes.len() as u64,
            MediaSource::File(path) => {
                let facts = tokio::fs::metadata(path).await;
                facts
                    .map_err(|error| {
                        CallError::new(
                            ErrorCode::RequestInvalid,
                            format!("the file to upload cannot be read: {error}"),
                        )
                    })?
                    .len()
            }
        };
        let filename = filename.or(known_name);
        let mime_type = mime_type
            .or(known_type)
            .or_else(|| by_extension(filename.as_deref()?).map(str::to_owned))
            .or_else(|| upload.accept.iter().find(|kind| !kind.contains('*')).cloned())
            .unwrap_or_else(|| "application/octet-stream".to_owned());
        check(upload, length, &mime_type)?;
        Ok(Self { source, length, mime_type, filename })
    }

    /// All of it, after what a body already has.
    pub(super) fn append_to(&self, body: HttpRequestBody) -> HttpRequestBody {
        match &self.source {
            MediaSource::Bytes(bytes) => body.with_bytes(bytes.clone()),
            MediaSource::File(path) => body.with_file(path.clone(), self.length),
        }
    }

    /// Some of it.
    pub(super) fn part(&self, offset: u64, length: u64) -> HttpRequestBody {
        match &self.source {
            MediaSource::Bytes(bytes) => {
                let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                HttpRequestBody::default()
                    .with_bytes(bytes.slice(index(offset)..index(offset + length)))
            }
            MediaSource::File(path) => {
                HttpRequestBody::default().with_file_part(path.clone(), offset, length)
            }
        }
    }
}

/// Says what the API would say, before anything is sent.
fn check(upload: &MediaUpload, length: u64, mime_type: &str) -> Result<(), CallError> {
    if let Some(largest) = upload.max_size.filter(|largest| length > *largest) {
        return Err(CallError::new(
            ErrorCode::RequestInvalid,
            format!("the content has {length} bytes; this method takes at most {largest}"),
        ));
    }
    if accepts(&upload.accept, mime_type) {
        return Ok(());
    }
    let accepted = upload.accept.join("`, `");
    Err(CallError::new(
        ErrorCode::RequestInvalid,
        format!("this method does not take content of type `{mime_type}`"),
    )
    .hint(format!("set `media.mimeType` to what the content is; accepted: `{accepted}`")))
}

/// The media type a file name stands for.
fn by_extension(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "aac" => "audio/aac",
        "avi" => "video/x-msvideo",
        "bmp" => "image/bmp",
        "csv" => "text/csv",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "eml" => "message/rfc822",
        "gif" => "image/gif",
        "gz" => "application/gzip",
        "htm" | "html" => "text/html",
        "ics" => "text/calendar",
        "jpeg" | "jpg" => "image/jpeg",
        "json" => "application/json",
        "md" => "text/markdown",
        "mov" => "video/quicktime",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "odt" => "application/vnd.oasis.opendocument.text",
        "ods" => "application/vnd.oasis.opendocument.spreadsheet",
        "ogg" => "audio/ogg",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "svg" => "image/svg+xml",
        "tar" => "application/x-tar",
        "tif" | "tiff" => "image/tiff",
        "tsv" => "text/tab-separated-values",
        "txt" | "log" => "text/plain",
        "wav" => "audio/wav",
        "webm" => "video/webm",
        "webp" => "image/webp",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "zip" => "application/zip",
        _ => return None,
    })
}

/// True when one of the accepted types, such as `image/*`, is this one. An empty list accepts all.
fn accepts(accepted: &[String], mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let fits = |pattern: &String| match pattern.strip_suffix('*') {
        Some("*/" | "") => true,
        Some(family) => {
            essence.get(..family.len()).is_some_and(|start| start.eq_ignore_ascii_case(family))
        }
        None => pattern.eq_ignore_ascii_case(essence),
    };
    accepted.is_empty() || accepted.iter().any(fits)
}

#[cfg(test)]
mod tests;
