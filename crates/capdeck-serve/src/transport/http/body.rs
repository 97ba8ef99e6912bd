//! Bodies of requests: bounded in size and in how long they may take.

use std::time::Duration;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::problem::problem;

/// The largest body of what is about signing in.
pub(crate) const MAX_SIGN_IN_BYTES: usize = 64 * 1024;

/// How long a body may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a whole body, or says why not.
pub(crate) async fn read_body(
    body: Body,
    most: usize,
    within: Duration,
) -> Result<Bytes, Response> {
    let reading = Limited::new(body, most).collect();
    let Ok(read) = tokio::time::timeout(within, reading).await else {
        return Err((StatusCode::REQUEST_TIMEOUT, "the body took too long\n").into_response());
    };
    match read {
        Ok(body) => Ok(body.to_bytes()),
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

/// Reads a small form, `application/x-www-form-urlencoded`.
pub(crate) async fn read_form(headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    expect_type(headers, "application/x-www-form-urlencoded")?;
    read_body(body, MAX_SIGN_IN_BYTES, TIMEOUT).await
}

/// Reads small JSON.
pub(crate) async fn read_json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Response> {
    expect_type(headers, "application/json")?;
    let bytes = read_body(body, MAX_SIGN_IN_BYTES, TIMEOUT).await?;
    // The parser's own words quote the body, which may hold a key.
    serde_json::from_slice(&bytes).map_err(|error| {
        let detail = format!(
            "the body is not the JSON that is expected here (line {}, column {})",
            error.line(),
            error.column()
        );
        problem(StatusCode::BAD_REQUEST, "invalid_input", &detail)
    })
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
