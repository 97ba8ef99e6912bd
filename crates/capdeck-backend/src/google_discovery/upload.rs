//! Sending media with a call: in one request, or in pieces that survive interruptions.

mod related;
mod resumable;

use std::time::Instant;

use reqwest::header::CONTENT_TYPE;
use serde_json::value::RawValue;
use url::Url;

use self::resumable::Session;
use super::{
    arguments::Arguments,
    document::Bases,
    media::Media,
    method::{Method, Upload},
    request::{build, with_json},
};
use crate::{
    CallError, ErrorCode,
    http::{Body, DEFAULT_INLINE, Delivery, Endpoint, Pace, header_value},
};

/// Larger content goes in pieces where the method allows it.
const LARGEST_AT_ONCE: u64 = 8 * 1024 * 1024;

/// How content travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
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
    pub(super) endpoint: &'a Endpoint,
    pub(super) bases: &'a Bases,
    pub(super) method: &'a Method,
    pub(super) upload: &'a Upload,
    pub(super) arguments: &'a Arguments,
    pub(super) media: &'a Media,
    pub(super) pace: &'a Pace,
}

impl UploadCall<'_> {
    /// Sends the content and tells the answer.
    pub(super) async fn run(&self) -> Result<Box<RawValue>, CallError> {
        let started = Instant::now();
        let has_body = self.arguments.body.is_some();
        let (protocol, path) = choose(self.upload, has_body, self.media.length)?;
        let kind = match protocol {
            Protocol::Simple => "media",
            Protocol::Related => "multipart",
            Protocol::Resumable => "resumable",
        };
        let auth = self.endpoint.auth_headers()?;
        let upload_type = Some(("uploadType", kind));
        let mut request =
            build(self.method, &self.bases.root, path, self.arguments, &auth, upload_type)?;
        let mime_type = header_value("content-type", &self.media.mime_type)?;
        match protocol {
            Protocol::Simple => {
                request.headers.insert(CONTENT_TYPE, mime_type);
                request.body = Some(self.media.append_to(Body::default()));
            }
            Protocol::Related => {
                related::fill(&mut request, self.arguments.body.as_ref(), self.media)?;
            }
            Protocol::Resumable => {
                let mut request = with_json(request, self.arguments.body.as_ref());
                request.headers.insert("x-upload-content-type", mime_type);
                request.headers.insert("x-upload-content-length", self.media.length.into());
                let (response, url) = Session::new(self, request).run().await?;
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
        let delivery = Delivery::Inline { limit: DEFAULT_INLINE };
        self.endpoint.answer(response, url, delivery, started).await
    }
}

/// The protocol for content of this length, and its path.
fn choose(upload: &Upload, has_body: bool, length: u64) -> Result<(Protocol, &str), CallError> {
    let simple = upload.simple.as_deref().map(|path| (Protocol::Simple, path));
    let related = upload.simple.as_deref().filter(|_| upload.is_multipart);
    let related = related.map(|path| (Protocol::Related, path));
    let resumable = upload.resumable.as_deref().map(|path| (Protocol::Resumable, path));
    let at_once = if has_body { related } else { simple };
    let chosen =
        if length > LARGEST_AT_ONCE { resumable.or(at_once) } else { at_once.or(resumable) };
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
        let both = Upload {
            simple: Some("s".to_owned()),
            is_multipart: true,
            resumable: Some("r".to_owned()),
            ..Upload::default()
        };
        let simple = Upload { resumable: None, ..both.clone() };
        let bare = Upload { is_multipart: false, ..both.clone() };
        let resumable = Upload { simple: None, ..both.clone() };
        let (small, large) = (LARGEST_AT_ONCE, LARGEST_AT_ONCE + 1);
        for (upload, has_body, length, expected) in [
            (&both, false, small, (Protocol::Simple, "s")),
            (&both, true, small, (Protocol::Related, "s")),
            (&both, false, large, (Protocol::Resumable, "r")),
            (&both, true, large, (Protocol::Resumable, "r")),
            (&simple, false, large, (Protocol::Simple, "s")),
            (&simple, true, large, (Protocol::Related, "s")),
            (&bare, true, small, (Protocol::Resumable, "r")),
            (&bare, false, small, (Protocol::Simple, "s")),
            (&resumable, false, small, (Protocol::Resumable, "r")),
        ] {
            assert_eq!(
                choose(upload, has_body, length).unwrap(),
                expected,
                "{upload:?} {has_body}"
            );
        }
        let neither = Upload { resumable: None, is_multipart: false, ..both };
        assert_eq!(choose(&neither, true, small).unwrap_err().code, ErrorCode::RequestInvalid);
    }
}
