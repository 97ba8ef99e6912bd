//! Sends a request and follows what may be followed.
//!
//! A redirect to another origin is refused for every method: credentials and arguments were meant for
//! the declared API only. Inside the origin GET follows up to five; other methods follow none, because
//! repeating a write elsewhere is not for us to decide.

use std::error::Error as _;

use reqwest::{
    Client, Method, Response,
    header::{CONTENT_LENGTH, LOCATION},
};
use url::Url;

use super::Request;
use crate::{CallError, ErrorCode};

const MAX_REDIRECTS: usize = 5;

/// The final response; its body has not been read.
pub(super) async fn send(client: &Client, mut request: Request) -> Result<Response, CallError> {
    for _hop in 0..=MAX_REDIRECTS {
        let mut builder = client
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_LENGTH, body.length()).body(body.to_stream());
        }
        let response = builder.send().await.map_err(|error| failure(&request.url, error))?;
        match redirect_target(&request, &response)? {
            Some(target) => request.url = target,
            None => return Ok(response),
        }
    }
    Err(CallError::new(
        ErrorCode::DownstreamProtocolError,
        format!("the server redirected more than {MAX_REDIRECTS} times"),
    ))
}

/// Where to go next. `None` when this is the answer.
fn redirect_target(request: &Request, response: &Response) -> Result<Option<Url>, CallError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let target = location.to_str().ok().and_then(|location| request.url.join(location).ok());
    let target = target.ok_or_else(|| {
        CallError::new(
            ErrorCode::DownstreamProtocolError,
            "the server redirected to something that is not a URL",
        )
    })?;
    let refuse = |message: String, hint: &str| {
        Err(CallError::new(ErrorCode::DownstreamProtocolError, message).hint(hint))
    };
    if target.origin() != request.url.origin() {
        return refuse(
            format!(
                "the server redirected to another origin: `{}`",
                target.origin().ascii_serialization()
            ),
            "if the API has moved there, change `baseUrl`",
        );
    }
    if request.method != Method::GET {
        return refuse(
            format!("the server redirected a {} to `{}`", request.method, target.path()),
            "only GET requests follow redirects; change the action's `path`",
        );
    }
    Ok(Some(target))
}

/// A failure to get an answer, without the URL's query, which may hold a key.
pub(crate) fn failure(url: &Url, error: reqwest::Error) -> CallError {
    let origin = url.origin().ascii_serialization();
    let error = error.without_url();
    let mut cause = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        cause = inner.to_string();
        source = inner.source();
    }
    if error.is_connect() {
        return CallError::new(
            ErrorCode::ServerUnavailable,
            format!("`{origin}` cannot be reached: {cause}"),
        )
        .hint("check that the service is running and that `baseUrl` is right");
    }
    CallError::new(
        ErrorCode::DownstreamProtocolError,
        format!("the exchange with `{origin}` broke off: {cause}"),
    )
}
