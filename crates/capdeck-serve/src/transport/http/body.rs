//! Bodies: requests are read with limits of size and time; problems as responses.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, HttpBody},
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Frame, SizeHint};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::oauth::OauthForm;

pub(crate) const MAX_SIGN_IN_BYTES: usize = 64 * 1024;

pub(super) const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(10);

/// Average rate required of a body; slower bodies are rejected.
const MIN_BYTES_PER_SECOND: u64 = 16 * 1024;

/// Reads a whole body. The time limit is `within` plus the time for the received bytes at the minimum rate.
pub(crate) async fn read_body(
    body: Body,
    most: usize,
    within: Duration,
) -> Result<Bytes, Response> {
    let Some(read) = collect(Limited::new(body, most), within).await else {
        return Err((StatusCode::REQUEST_TIMEOUT, "the body took too long\n").into_response());
    };
    match read {
        Ok(body) => Ok(body),
        Err(error) if error.is::<LengthLimitError>() => {
            let detail = if most.is_multiple_of(1024 * 1024) {
                format!("the message is larger than {} MiB\n", most / (1024 * 1024))
            } else {
                format!("the message is larger than {} KiB\n", most / 1024)
            };
            Err((StatusCode::PAYLOAD_TOO_LARGE, detail).into_response())
        }
        Err(_) => Err(StatusCode::BAD_REQUEST.into_response()),
    }
}

/// Reads a whole body; `None` when it is too slow.
pub(crate) async fn collect<B>(body: B, within: Duration) -> Option<Result<Bytes, B::Error>>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let start = Instant::now();
    let (mut body, mut first, mut more) = (body, Bytes::new(), BytesMut::new());
    loop {
        let length = first.len().max(more.len()) as u64;
        let earned = Duration::from_millis(length * 1000 / MIN_BYTES_PER_SECOND);
        let frame = match timeout_at(start + within + earned, body.frame()).await.ok()? {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Some(Err(error)),
            None => break,
        };
        let Ok(data) = frame.into_data() else { continue };
        // Most bodies are one part, which is not copied. Many small parts are copied, so that they do not retain their read buffers.
        if first.is_empty() && more.is_empty() {
            first = data;
            continue;
        }
        if more.is_empty() {
            more.extend_from_slice(&first);
            first = Bytes::new();
        }
        more.extend_from_slice(&data);
    }
    Some(Ok(if more.is_empty() { first } else { more.freeze() }))
}

pub(crate) async fn read_form(request: Request) -> Result<(Parts, OauthForm), Response> {
    let (parts, body) = request.into_parts();
    expect_type(&parts.headers, "application/x-www-form-urlencoded")?;
    let bytes = read_body(body, MAX_SIGN_IN_BYTES, SIGN_IN_TIMEOUT).await?;
    Ok((parts, OauthForm::parse(&bytes)))
}

pub(crate) async fn read_json<T: DeserializeOwned>(
    request: Request,
) -> Result<(Parts, T), Response> {
    let (parts, body) = request.into_parts();
    expect_type(&parts.headers, "application/json")?;
    let bytes = read_body(body, MAX_SIGN_IN_BYTES, SIGN_IN_TIMEOUT).await?;
    // The parser's message quotes the body, which may contain a key.
    let read = serde_json::from_slice(&bytes).map_err(|error| {
        let detail =
            format!("invalid JSON body (line {}, column {})", error.line(), error.column());
        problem(StatusCode::BAD_REQUEST, "invalid_input", &detail)
    })?;
    Ok((parts, read))
}

fn expect_type(headers: &HeaderMap, expected: &str) -> Result<(), Response> {
    let sent = headers.get(header::CONTENT_TYPE).and_then(|sent| sent.to_str().ok());
    let essence = sent.and_then(|sent| sent.split(';').next()).map(str::trim);
    if essence.is_some_and(|essence| essence.eq_ignore_ascii_case(expected)) {
        return Ok(());
    }
    let detail = format!("send the body as {expected}");
    Err(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_type", &detail))
}

/// A response body that keeps something until it is read or dropped.
pub(super) struct GuardedBody<G> {
    body: Body,
    _guard: G,
}

impl<G> GuardedBody<G> {
    pub(super) fn new(body: Body, guard: G) -> Self {
        Self { body, _guard: guard }
    }
}

impl<G: Unpin> HttpBody for GuardedBody<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A problem with a stable code. The text is safe for the client.
pub(crate) fn problem(status: StatusCode, code: &str, detail: &str) -> Response {
    let body = json!({
        "type": format!("urn:capdeck:problem:{code}"),
        "title": status.canonical_reason().unwrap_or("Failed"),
        "status": status.as_u16(),
        "detail": detail,
        "code": code,
    });
    let headers =
        [(header::CONTENT_TYPE, "application/problem+json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, body.to_string()).into_response()
}
