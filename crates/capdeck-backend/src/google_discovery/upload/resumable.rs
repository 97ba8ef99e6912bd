//! Uploads in pieces: the API gives a session URL, takes pieces in order and says how far it got.
//!
//! After an interruption it is asked how much it has, and the upload goes on from there. A session that the API has
//! forgotten is started again, once.

use std::time::Duration;

use reqwest::{
    Method as Verb, Response, StatusCode,
    header::{CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE, RETRY_AFTER},
};
use url::Url;

use super::{super::is_google, UploadCall};
use crate::{
    CallError, ErrorCode,
    http::{EndpointRequest, HttpRequestBody, header_value},
};

/// A piece; the API wants multiples of 256 KiB.
const CHUNK_BYTES: u64 = 8 * 1024 * 1024;

/// How often in a row nothing may be won before the upload is given up.
const MAX_FAILURES: u32 = 5;

/// The longest pause an API can ask for.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct UploadSession<'a> {
    call: &'a UploadCall<'a>,
    /// Begins a session.
    opening: EndpointRequest,
    failures: u32,
}

enum UploadAttempt {
    /// The API has this many bytes.
    Has(u64),
    /// The next request asks how much there is.
    Interrupted,
    Ended(Box<Response>),
}

impl<'a> UploadSession<'a> {
    pub(super) fn new(call: &'a UploadCall<'a>, opening: EndpointRequest) -> Self {
        Self { call, opening, failures: 0 }
    }

    /// The API's last answer, and where it came from.
    pub(super) async fn run(mut self) -> Result<(Response, Url), CallError> {
        let mut is_second = false;
        loop {
            let opened = self.open().await?;
            let location = opened.headers().get(LOCATION).cloned();
            if !opened.status().is_success() {
                return Ok((opened, self.opening.url));
            }
            let location = location.as_ref().and_then(|value| value.to_str().ok());
            let url = self.session_url(location)?;
            // An answer counts as a request under way, and the pieces need a turn, too.
            drop(opened);
            let ended = self.transfer(&url).await?;
            let is_forgotten = matches!(ended.status(), StatusCode::NOT_FOUND | StatusCode::GONE);
            if is_second || !is_forgotten {
                return Ok((*ended, url));
            }
            is_second = true;
        }
    }

    /// Begins a session. It has no effect yet, so it may be tried again.
    async fn open(&mut self) -> Result<Response, CallError> {
        loop {
            let outcome = self.call.endpoint.send(self.opening.clone()).await;
            match self.retry_delay(&outcome) {
                Some(pause) if self.may_try_again() => tokio::time::sleep(pause).await,
                _ => return outcome,
            }
        }
    }

    fn session_url(&self, location: Option<&str>) -> Result<Url, CallError> {
        let opening = &self.opening.url;
        let url = location.and_then(|location| opening.join(location).ok()).ok_or_else(|| {
            CallError::protocol_error("the API began an upload without saying where to send it")
        })?;
        if url.scheme() == "https" || url.origin() == opening.origin() {
            return Ok(url);
        }
        Err(CallError::protocol_error(format!(
            "the API wants the upload sent to `{}`",
            url.origin().ascii_serialization()
        ))
        .hint("only https, or the API itself, is allowed"))
    }

    async fn transfer(&mut self, url: &Url) -> Result<Box<Response>, CallError> {
        let total = self.call.media.content.length();
        let mut has = Some(0);
        let mut most = 0;
        loop {
            let request = self.chunk_request(url, has);
            match self.attempt(request).await? {
                UploadAttempt::Ended(ended) => return Ok(ended),
                UploadAttempt::Interrupted => has = None,
                UploadAttempt::Has(count) if count > total => {
                    return Err(CallError::protocol_error(format!(
                        "the API says it has {count} bytes of an upload of {total}"
                    )));
                }
                UploadAttempt::Has(count) => {
                    if count > most {
                        most = count;
                        self.failures = 0;
                        self.call.endpoint.report_progress(count, total);
                    } else if !self.may_try_again() {
                        return Err(CallError::protocol_error(format!(
                            "the upload does not get beyond {count} of {total} bytes"
                        )));
                    }
                    has = Some(count);
                }
            }
        }
    }

    /// The next piece, or the question how much has arrived.
    fn chunk_request(&self, url: &Url, has: Option<u64>) -> EndpointRequest {
        let media = self.call.media;
        let total = media.content.length();
        let mut request = EndpointRequest::new(Verb::PUT, url.clone());
        // After an interruption the API is asked how much it has before anything is sent again.
        request.is_idempotent = false;
        let (range, body) = match has {
            Some(offset) if offset < total => {
                let length = CHUNK_BYTES.min(total - offset);
                let range = format!("bytes {offset}-{}/{total}", offset + length - 1);
                (range, media.content.slice(offset, length).into())
            }
            // An empty upload is ended by the same request that asks for its state.
            _ => (format!("bytes */{total}"), HttpRequestBody::bytes("")),
        };
        if let Ok(range) = header_value("content-range", &range) {
            request.headers.insert(CONTENT_RANGE, range);
        }
        if let Ok(kind) = header_value("content-type", &media.mime_type) {
            request.headers.insert(CONTENT_TYPE, kind);
        }
        request.body = Some(body);
        request
    }

    async fn attempt(&mut self, request: EndpointRequest) -> Result<UploadAttempt, CallError> {
        let outcome = self.send(request).await;
        if let Some(pause) = self.retry_delay(&outcome) {
            if !self.may_try_again() {
                return outcome.map(|response| UploadAttempt::Ended(Box::new(response)));
            }
            tokio::time::sleep(pause).await;
            return Ok(UploadAttempt::Interrupted);
        }
        let response = outcome?;
        Ok(match response.status() {
            StatusCode::PERMANENT_REDIRECT => UploadAttempt::Has(received(&response)),
            _ => UploadAttempt::Ended(Box::new(response)),
        })
    }

    /// The session may be at another server than the API; only Google's own, and the API's, get our credentials.
    async fn send(&self, request: EndpointRequest) -> Result<Response, CallError> {
        let origin = request.url.origin();
        let is_ours = origin == self.opening.url.origin()
            || origin == self.call.bases.service.origin()
            || is_google(&request.url);
        if is_ours {
            self.call.endpoint.send(request).await
        } else {
            self.call.endpoint.send_anonymously(request).await
        }
    }

    /// How long to wait before trying again, for failures that may pass.
    fn retry_delay(&self, outcome: &Result<Response, CallError>) -> Option<Duration> {
        let default = Duration::from_millis(200 << self.failures.min(6));
        match outcome {
            Ok(response) => {
                let status = response.status();
                let passes = status.is_server_error()
                    || status == StatusCode::TOO_MANY_REQUESTS
                    || status == StatusCode::REQUEST_TIMEOUT;
                let asked = response.headers().get(RETRY_AFTER);
                let asked = asked.and_then(|value| value.to_str().ok()?.trim().parse().ok());
                passes.then(|| asked.map_or(default, Duration::from_secs).min(MAX_RETRY_DELAY))
            }
            Err(error) => {
                let broke_off = matches!(
                    error.code,
                    ErrorCode::ServerUnavailable | ErrorCode::DownstreamProtocolError
                );
                broke_off.then_some(default)
            }
        }
    }

    fn may_try_again(&mut self) -> bool {
        self.failures += 1;
        self.failures <= MAX_FAILURES
    }
}

/// How many bytes an unfinished upload has, by `Range: bytes=0-1048575`.
fn received(response: &Response) -> u64 {
    let range = response.headers().get(RANGE).and_then(|value| value.to_str().ok());
    let last = range.and_then(|range| range.rsplit_once('-')?.1.trim().parse::<u64>().ok());
    last.map_or(0, |last| last.saturating_add(1))
}
