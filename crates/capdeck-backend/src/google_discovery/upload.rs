//! Sending media with a call: in one request, or in pieces that survive interruptions.

#[cfg(test)]
mod media_tests;
mod resumable;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;
use uuid::Uuid;

use self::resumable::UploadSession;
use super::{
    request,
    translate::{GoogleBaseUrls, MediaUpload},
};
use crate::{
    ArtifactStore, CallError, CallResult,
    arguments::{DataUrl, PROJECT_FILE_HINT, project_file},
    http::{
        ApiEndpoint, DEFAULT_MAX_INLINE_BYTES, EndpointRequest, HttpBodyPart, HttpRequestBody,
        ResponseDelivery, header_value,
    },
    openapi::{OpenApiOperation, PathTemplate},
};

/// Larger content goes in pieces where the method allows it.
const MAX_SINGLE_UPLOAD_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UploadProtocol {
    Simple,
    /// The JSON body and the content are the two parts of one body.
    Related,
    /// The JSON body first, then the content in pieces.
    Resumable,
}

#[derive(Debug)]
pub(super) struct UploadCall<'a> {
    pub(super) endpoint: &'a ApiEndpoint,
    pub(super) bases: &'a GoogleBaseUrls,
    pub(super) operation: &'a OpenApiOperation,
    pub(super) upload: &'a MediaUpload,
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) media: &'a UploadMedia,
}

impl UploadCall<'_> {
    pub(super) async fn run(&self) -> CallResult {
        let started = Instant::now();
        let body = self.arguments.get("body").filter(|body| !body.is_null());
        let (protocol, path) = choose(self.upload, body.is_some(), self.media.content.length())?;
        let kind = match protocol {
            UploadProtocol::Simple => "media",
            UploadProtocol::Related => "multipart",
            UploadProtocol::Resumable => "resumable",
        };
        let path = PathTemplate::parse(&format!("/{}", path.trim_start_matches('/')))
            .map_err(CallError::invalid_config)?;
        let mut operation = self.operation.clone();
        (operation.server, operation.path) = (self.bases.root.clone().into(), path);
        let upload_type = Some(("uploadType", kind));
        let mut request = request(self.endpoint, &operation, self.arguments, upload_type)?;
        let mime_type = header_value("content-type", &self.media.mime_type)?;
        match protocol {
            UploadProtocol::Simple => {
                request.headers.insert(CONTENT_TYPE, mime_type);
                request.body = Some(self.media.content.clone().into());
            }
            UploadProtocol::Related => {
                fill_related(&mut request, body, self.media)?;
            }
            UploadProtocol::Resumable => {
                request.headers.insert("x-upload-content-type", mime_type);
                request
                    .headers
                    .insert("x-upload-content-length", self.media.content.length().into());
                let (response, url) = UploadSession::new(self, request).run().await?;
                return self.answer(response, &url, started).await;
            }
        }
        let url = request.url.clone();
        let response = self.endpoint.send(request).await?;
        self.answer(response, &url, started).await
    }

    async fn answer(&self, response: reqwest::Response, url: &Url, started: Instant) -> CallResult {
        let delivery = ResponseDelivery::Inline { limit: DEFAULT_MAX_INLINE_BYTES };
        self.endpoint.answer(response, url, delivery, started).await
    }
}

/// `multipart/related`: makes the JSON body and the content the body of a request.
fn fill_related(
    request: &mut EndpointRequest,
    body: Option<&Value>,
    media: &UploadMedia,
) -> Result<(), CallError> {
    // Long and random: it cannot be part of what is sent.
    let boundary = format!("capdeck-{}", Uuid::new_v4().simple());
    let head = format!(
        "--{boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{}\r\n\
         --{boundary}\r\ncontent-type: {}\r\n{}\r\n",
        body.unwrap_or(&Value::Object(Map::new())),
        media.mime_type,
        media.filename.as_deref().map(disposition).unwrap_or_default(),
    );
    let mut parts = HttpRequestBody::bytes(head);
    parts.push(media.content.clone());
    parts.push_bytes(format!("\r\n--{boundary}--\r\n"));
    request.body = Some(parts);
    let kind = header_value("content-type", &format!("multipart/related; boundary={boundary}"))?;
    request.headers.insert(CONTENT_TYPE, kind);
    Ok(())
}

/// The name of the content, without what could end the line or the quotes.
fn disposition(name: &str) -> String {
    let safe: String =
        name.chars().filter(|letter| !letter.is_control() && !"\"\\".contains(*letter)).collect();
    format!("content-disposition: attachment; filename=\"{safe}\"\r\n")
}

fn choose(
    upload: &MediaUpload,
    has_body: bool,
    length: u64,
) -> Result<(UploadProtocol, &str), CallError> {
    let simple = upload.simple.as_deref().map(|path| (UploadProtocol::Simple, path));
    let related = upload.simple.as_deref().filter(|_| upload.is_multipart);
    let related = related.map(|path| (UploadProtocol::Related, path));
    let resumable = upload.resumable.as_deref().map(|path| (UploadProtocol::Resumable, path));
    let at_once = if has_body { related } else { simple };
    let chosen = if length > MAX_SINGLE_UPLOAD_BYTES {
        resumable.or(at_once)
    } else {
        at_once.or(resumable)
    };
    chosen.ok_or_else(|| {
        CallError::invalid_request("this method takes media or a body, not both")
            .hint("call it with one of them")
    })
}

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
    pub(super) content: HttpBodyPart,
    pub(super) mime_type: String,
    pub(super) filename: Option<String>,
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
        let (content, known_type, known_name) = match (path, artifact, data_url) {
            (Some(path), None, None) => {
                let file = project_file(&path, project).map_err(|reason| {
                    CallError::invalid_request(format!("`media.path` {reason}"))
                        .hint(PROJECT_FILE_HINT)
                })?;
                let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
                (file_content(file).await?, None, name)
            }
            (None, Some(uri), None) => {
                let unusable = |error: crate::ArtifactError| {
                    CallError::invalid_request(error.to_string())
                        .hint("use the `uri` of an artifact that a call of this host gave")
                };
                let facts = artifacts.describe(&uri).await.map_err(unusable)?;
                let file = artifacts.path(&uri).map_err(unusable)?;
                (file_content(file).await?, facts.mime_type, Some(facts.filename))
            }
            (None, None, Some(url)) => {
                let read = DataUrl::read(&url).map_err(|reason| {
                    CallError::invalid_request(format!("`media.dataUrl` {reason}"))
                        .hint("write it as `data:text/plain;base64,aGVsbG8=`")
                })?;
                (HttpBodyPart::Bytes(read.bytes), read.mime_type, None)
            }
            _ => {
                return Err(CallError::invalid_request(
                    "`media` needs exactly one of `path`, `artifact` and `dataUrl`",
                ));
            }
        };
        let filename = filename.or(known_name);
        let mime_type = mime_type
            .or(known_type)
            .or_else(|| by_extension(filename.as_deref()?).map(str::to_owned))
            .or_else(|| upload.accept.iter().find(|kind| !kind.contains('*')).cloned())
            .unwrap_or_else(|| "application/octet-stream".to_owned());
        check(upload, content.length(), &mime_type)?;
        Ok(Self { content, mime_type, filename })
    }
}

async fn file_content(path: PathBuf) -> Result<HttpBodyPart, CallError> {
    let facts = tokio::fs::metadata(&path).await.map_err(|error| {
        CallError::invalid_request(format!("the file to upload cannot be read: {error}"))
    })?;
    Ok(HttpBodyPart::File { path, offset: 0, length: facts.len() })
}

/// Says what the API would say, before anything is sent.
fn check(upload: &MediaUpload, length: u64, mime_type: &str) -> Result<(), CallError> {
    if let Some(largest) = upload.max_size.filter(|largest| length > *largest) {
        return Err(CallError::invalid_request(format!(
            "the content has {length} bytes; this method takes at most {largest}"
        )));
    }
    if accepts(&upload.accept, mime_type) {
        return Ok(());
    }
    let accepted = upload.accept.join("`, `");
    Err(CallError::invalid_request(format!(
        "this method does not take content of type `{mime_type}`"
    ))
    .hint(format!("set `media.mimeType` to what the content is; accepted: `{accepted}`")))
}

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
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn the_protocol_follows_from_size_and_body() {
        let both = MediaUpload {
            simple: Some("s".to_owned()),
            is_multipart: true,
            resumable: Some("r".to_owned()),
            ..MediaUpload::default()
        };
        let simple = MediaUpload { resumable: None, ..both.clone() };
        let bare = MediaUpload { is_multipart: false, ..both.clone() };
        let resumable = MediaUpload { simple: None, ..both.clone() };
        let (small, large) = (MAX_SINGLE_UPLOAD_BYTES, MAX_SINGLE_UPLOAD_BYTES + 1);
        for (upload, has_body, length, expected) in [
            (&both, false, small, (UploadProtocol::Simple, "s")),
            (&both, true, small, (UploadProtocol::Related, "s")),
            (&both, false, large, (UploadProtocol::Resumable, "r")),
            (&both, true, large, (UploadProtocol::Resumable, "r")),
            (&simple, false, large, (UploadProtocol::Simple, "s")),
            (&simple, true, large, (UploadProtocol::Related, "s")),
            (&bare, true, small, (UploadProtocol::Resumable, "r")),
            (&bare, false, small, (UploadProtocol::Simple, "s")),
            (&resumable, false, small, (UploadProtocol::Resumable, "r")),
        ] {
            assert_eq!(
                choose(upload, has_body, length).unwrap(),
                expected,
                "{upload:?} {has_body}"
            );
        }
        let neither = MediaUpload { resumable: None, is_multipart: false, ..both };
        assert_eq!(choose(&neither, true, small).unwrap_err().code, ErrorCode::RequestInvalid);
    }
}
