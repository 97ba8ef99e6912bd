//! Sends a request with safe retries and permitted redirects.
//!
//! A call stays within its origin: credentials and arguments are for the declared API only. There GET and HEAD follow
//! up to five redirects; other methods follow none, because a write must not be repeated elsewhere. A request for a
//! document follows to any https address that the network setting allows, without credentials.
//!
//! A request is repeated when nothing of it was sent, or when it is idempotent. `Retry-After` takes precedence; a
//! delay beyond the deadline is not started.

use std::{error::Error, io, time::Duration};

use capdeck_auth::ReachError;
use reqwest::{
    Method, Response, StatusCode,
    header::{CONTENT_LENGTH, HeaderMap, LOCATION, RETRY_AFTER},
};
use tokio::time::{Instant, sleep};
use url::Url;

use super::{
    EndpointRequest,
    limits::{EndpointLimiter, EndpointNetwork},
    request::RedirectScope,
};
use crate::CallError;

const MAX_REDIRECTS: usize = 5;

/// The number of attempts until the response. Stored with the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestAttempts(pub(super) u32);

#[derive(Debug)]
pub(super) struct EndpointSender {
    pub(super) network: EndpointNetwork,
    pub(super) turns: EndpointLimiter,
    pub(super) retries: u8,
}

enum EndpointSendError {
    Unanswered {
        url: Url,
        error: reqwest::Error,
    },
    /// Not retryable.
    Settled(CallError),
}

impl From<CallError> for EndpointSendError {
    fn from(error: CallError) -> Self {
        Self::Settled(error)
    }
}

impl EndpointSender {
    /// Returns the final response with an unread body. It holds one of the endpoint's permits until it is dropped.
    pub(super) async fn send(
        &self,
        request: &EndpointRequest,
        credentials: &HeaderMap,
        deadline: Instant,
    ) -> Result<Response, CallError> {
        let is_idempotent = request.is_idempotent;
        let mut attempt = 1;
        loop {
            let place = self.turns.acquire(deadline).await?;
            let outcome = self.send_following_redirects(request, credentials, deadline).await;
            let pause = match &outcome {
                _ if attempt > u32::from(self.retries) => None,
                Ok(response) => delay_after_response(is_idempotent, response, attempt),
                Err(EndpointSendError::Unanswered { error, .. }) => {
                    delay_after_failure(is_idempotent, error, attempt)
                }
                Err(EndpointSendError::Settled(_)) => None,
            };
            match pause {
                // A server may request any delay, even one that overflows a clock.
                Some(pause) if pause < deadline.saturating_duration_since(Instant::now()) => {
                    // Release the permit during the delay.
                    drop((outcome, place));
                    sleep(pause).await;
                    attempt += 1;
                }
                _ => {
                    return match outcome {
                        Ok(mut response) => {
                            response.extensions_mut().insert(RequestAttempts(attempt));
                            response.extensions_mut().insert(place);
                            Ok(response)
                        }
                        Err(failure) => Err(self.call_error_for(failure, attempt)),
                    };
                }
            }
        }
    }

    async fn send_following_redirects(
        &self,
        request: &EndpointRequest,
        credentials: &HeaderMap,
        deadline: Instant,
    ) -> Result<Response, EndpointSendError> {
        let mut url = request.url.clone();
        let mut client = self.network.client(&url)?;
        let mut is_at_home = true;
        for _hop in 0..=MAX_REDIRECTS {
            self.turns.wait_for_rate(deadline).await?;
            let mut builder = client
                .request(request.method.clone(), url.clone())
                .headers(request.headers.clone());
            if is_at_home {
                builder = builder.headers(credentials.clone());
            }
            if let Some(body) = &request.body {
                builder = builder.header(CONTENT_LENGTH, body.length()).body(body.to_stream());
            }
            let response = match builder.send().await {
                Ok(response) => response,
                Err(error) => return Err(EndpointSendError::Unanswered { url, error }),
            };
            let Some(target) = redirect_target(request, &url, &response)? else {
                return Ok(response);
            };
            if target.origin() != url.origin() {
                client = self.network.client_for_remote_url(&target)?;
                is_at_home = false;
            }
            url = target;
        }
        let error = CallError::protocol_error(format!(
            "the server redirected more than {MAX_REDIRECTS} times"
        ))
        .hint("open the address in a browser; it may ask for a sign-in");
        Err(error.into())
    }

    fn call_error_for(&self, failure: EndpointSendError, attempts: u32) -> CallError {
        match failure {
            EndpointSendError::Settled(error) => error,
            EndpointSendError::Unanswered { url, error } => {
                if let Some(reason) = find_cause::<ReachError>(&error) {
                    return self.network.blocked_error(reason);
                }
                let mut call_error = no_response_error(&url, error);
                if attempts > 1 {
                    call_error.message.push_str(&format!(" (after {attempts} attempts)"));
                }
                call_error
            }
        }
    }
}

/// Returns the redirect target; `None` when this is the final response.
fn redirect_target(
    request: &EndpointRequest,
    url: &Url,
    response: &Response,
) -> Result<Option<Url>, CallError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let target = location.to_str().ok().and_then(|location| url.join(location).ok());
    let target = target.ok_or_else(|| {
        CallError::protocol_error("the server redirected to something that is not a URL")
            .hint("report the problem to the operator of the server")
    })?;
    let refuse = |message: String, hint: &str| Err(CallError::protocol_error(message).hint(hint));
    let origin = || target.origin().ascii_serialization();
    if target.origin() != url.origin() {
        match request.redirects {
            RedirectScope::AnyOrigin if target.scheme() == "https" => {}
            RedirectScope::AnyOrigin => {
                return refuse(
                    format!("the server redirected to an address without TLS: `{}`", origin()),
                    "if the document has moved there, change its address in the definition",
                );
            }
            RedirectScope::SameOrigin => {
                return refuse(
                    format!("the server redirected to another origin: `{}`", origin()),
                    "if the API has moved there, change `baseUrl`",
                );
            }
        }
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return refuse(
            format!("the server redirected a {} to `{}`", request.method, target.path()),
            "only GET and HEAD requests follow redirects; change the action's `path`",
        );
    }
    Ok(Some(target))
}

/// A network failure, without the URL's query, which may contain a key.
pub(crate) fn no_response_error(url: &Url, error: reqwest::Error) -> CallError {
    let origin = url.origin().ascii_serialization();
    let error = error.without_url();
    let mut cause = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        cause = inner.to_string();
        source = inner.source();
    }
    if error.is_connect() {
        return CallError::unavailable(format!("`{origin}` cannot be reached: {cause}"))
            .hint("check that the service is running and that `baseUrl` is right");
    }
    CallError::protocol_error(format!("the exchange with `{origin}` broke off: {cause}"))
}

/// The delay before the first retry; it doubles each time.
const INITIAL_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The maximum delay without `Retry-After`.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Returns the delay before a retry of an answered request; `None` for a final response.
fn delay_after_response(
    is_idempotent: bool,
    response: &Response,
    attempt: u32,
) -> Option<Duration> {
    let passes = matches!(
        response.status(),
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    );
    (is_idempotent && passes).then(|| retry_delay(attempt).max(retry_after(response.headers())))
}

fn delay_after_failure(
    is_idempotent: bool,
    error: &reqwest::Error,
    attempt: u32,
) -> Option<Duration> {
    let is_final =
        find_cause::<ReachError>(error).is_some() || find_cause::<rustls::Error>(error).is_some();
    // Once connected, the server may have acted on it.
    let is_cut = || {
        let is_cut = find_cause::<hyper::Error>(error).is_some_and(|error| {
            error.is_incomplete_message() || error.is_canceled() || error.is_closed()
        });
        is_cut || find_cause::<io::Error>(error).is_some()
    };
    let is_worth_it = !is_final && (error.is_connect() || (is_idempotent && is_cut()));
    is_worth_it.then(|| retry_delay(attempt))
}

fn find_cause<Kind: Error + 'static>(error: &reqwest::Error) -> Option<&Kind> {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        // An I/O error hides its inner error.
        let wrapped = inner.downcast_ref().and_then(io::Error::get_ref);
        if let Some(found) = wrapped.and_then(|wrapped| wrapped.downcast_ref()) {
            return Some(found);
        }
        source = inner.source();
    }
    None
}

/// Doubles each time, with jitter so that callers that failed together do not retry together.
fn retry_delay(attempt: u32) -> Duration {
    let whole = INITIAL_RETRY_DELAY
        .saturating_mul(1 << attempt.saturating_sub(1).min(16))
        .min(MAX_RETRY_DELAY);
    let share = getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX));
    whole.mul_f64(0.5 + share / 2.0)
}

fn retry_after(headers: &HeaderMap) -> Duration {
    let text = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let date = || {
        httpdate::parse_http_date(text.trim())
            .ok()?
            .duration_since(std::time::SystemTime::now())
            .ok()
    };
    match text.trim().parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => date().unwrap_or_default(),
    }
}

#[cfg(test)]
mod retry_tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn pauses_grow_and_differ() {
        for (attempt, whole) in [(1, 200), (2, 400), (3, 800), (5, 3200), (6, 5000), (40, 5000)] {
            let whole = Duration::from_millis(whole);
            let pauses: Vec<Duration> = (0..50).map(|_| retry_delay(attempt)).collect();
            assert!(pauses.iter().all(|pause| (whole / 2..=whole).contains(pause)), "{pauses:?}");
            assert!(pauses.iter().any(|pause| *pause != pauses[0]));
        }
    }

    #[test]
    fn a_servers_wish_is_seconds_or_a_date() {
        let wish =
            |text: &str| retry_after(&HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]));
        assert_eq!(wish("7"), Duration::from_secs(7));
        assert_eq!(wish(" 0 "), Duration::ZERO);
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(90));
        assert!((85..=90).contains(&wish(&date).as_secs()), "{date}");
        for odd in ["", "soon", "-3", "1.5", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 99 Nov"] {
            assert_eq!(wish(odd), Duration::ZERO, "{odd}");
        }
    }
}
