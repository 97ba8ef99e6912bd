//! Sending media with a call: in one request, or in pieces that survive interruptions.

mod resumable;

use std::time::Instant;

use reqwest::header::CONTENT_TYPE;
use serde_json::{Map, Value, value::RawValue};
use url::Url;
use uuid::Uuid;

use self::resumable::UploadSession;
use super::{
    media::UploadMedia,
    request,
    translate::{GoogleBaseUrls, MediaUpload},
};
use crate::{
    CallError, ErrorCode,
    http::{
        ApiEndpoint, DEFAULT_MAX_INLINE_BYTES, EndpointRequest, HttpRequestBody, ProgressDeadline,
        ResponseDelivery, header_value,
    },
    openapi::{OpenApiOperation, PathTemplate},
};

/// Larger content goes in pieces where the method allows it.
const MAX_SINGLE_UPLOAD_BYTES: u64 = 8 * 1024 * 1024;

/// How content travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UploadProtocol {
    /// The content is the body.
    Simple,
    /// The JSON body and the content are the two parts of one body.
    Related,
    /// The JSON body first, then the content in pieces.
    Resumable,
}

/// Everything an upload needs to know.
#[derive(Debug)]
pub(super) struct UploadCall<'a> {
    pub(super) endpoint: &'a ApiEndpoint,
    pub(super) bases: &'a GoogleBaseUrls,
    pub(super) operation: &'a OpenApiOperation,
    pub(super) upload: &'a MediaUpload,
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) media: &'a UploadMedia,
    pub(super) pace: &'a ProgressDeadline,
}

impl UploadCall<'_> {
    /// Sends the content and tells the answer.
    pub(super) async fn run(&self) -> Result<Box<RawValue>, CallError> {
        let started = Instant::now();
        let body = self.arguments.get("body").filter(|body| !body.is_null());
        let (protocol, path) = choose(self.upload, body.is_some(), self.media.length)?;
        let kind = match protocol {
            UploadProtocol::Simple => "media",
            UploadProtocol::Related => "multipart",
            UploadProtocol::Resumable => "resumable",
        };
        let path = PathTemplate::parse(&format!("/{}", path.trim_start_matches('/')))
            .map_err(|reason| CallError::new(ErrorCode::ConfigInvalid, reason))?;
        let mut operation = self.operation.clone();
        (operation.server, operation.path) = (self.bases.root.clone().into(), path);
        let upload_type = Some(("uploadType", kind));
        let mut request = request(self.endpoint, &operation, self.arguments, upload_type)?;
        let mime_type = header_value("content-type", &self.media.mime_type)?;
        match protocol {
            UploadProtocol::Simple => {
                request.headers.insert(CONTENT_TYPE, mime_type);
                request.body = Some(self.media.append_to(HttpRequestBody::default()));
            }
            UploadProtocol::Related => {
                fill_related(&mut request, body, self.media)?;
            }
            UploadProtocol::Resumable => {
                request.headers.insert("x-upload-content-type", mime_type);
                request.headers.insert("x-upload-content-length", self.media.length.into());
                let (response, url) = UploadSession::new(self, request).run().await?;
                return self.answer(response, &url, started).await;
            }
        }
        let url = request.url.clone();
        let response = self.endpoint.send(request).await?;
        self.answer(response, &url, started).await
    }

    async fn answer(
        &self,
        response: reqwest::Response,
        url: &Url,
        started: Instant,
    ) -> Result<Box<RawValue>, CallError> {
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
    let parts = media.append_to(HttpRequestBody::default().with_bytes(head));
    request.body = Some(parts.with_bytes(format!("\r\n--{boundary}--\r\n")));
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

/// The protocol for content of this length, and its path.
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
        CallError::new(ErrorCode::RequestInvalid, "this method takes media or a body, not both")
            .hint("call it with one of them")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
