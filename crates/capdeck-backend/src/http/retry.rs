//! Decides whether and when a request is sent again.
//!
//! A request is repeated when nothing of it was sent, or when it is idempotent. `Retry-After` takes precedence; a
//! delay beyond the deadline is not started.

use std::{error::Error, io, time::Duration};

use capdeck_auth::ReachError;
use reqwest::{
    Response, StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};

/// The delay before the first retry; it doubles each time.
const INITIAL_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The maximum delay without `Retry-After`.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestStage {
    Connecting,
    /// Later: the server may have acted on it.
    Exchanging,
    /// Not retryable.
    Settled,
}

/// Returns the delay before a retry of an answered request; `None` for a final response.
pub(super) fn delay_after_response(
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

pub(super) fn delay_after_failure(
    is_idempotent: bool,
    error: &reqwest::Error,
    attempt: u32,
) -> Option<Duration> {
    let is_worth_it = match stage(error) {
        RequestStage::Connecting => true,
        RequestStage::Exchanging => is_idempotent,
        RequestStage::Settled => false,
    };
    is_worth_it.then(|| retry_delay(attempt))
}

pub(super) fn find_cause<Kind: Error + 'static>(error: &reqwest::Error) -> Option<&Kind> {
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

fn stage(error: &reqwest::Error) -> RequestStage {
    let is_refused = find_cause::<ReachError>(error).is_some();
    let is_untrusted = find_cause::<rustls::Error>(error).is_some();
    let is_cut = find_cause::<hyper::Error>(error).is_some_and(|error| {
        error.is_incomplete_message() || error.is_canceled() || error.is_closed()
    });
    if is_refused || is_untrusted {
        RequestStage::Settled
    } else if error.is_connect() {
        RequestStage::Connecting
    } else if is_cut || find_cause::<io::Error>(error).is_some() {
        RequestStage::Exchanging
    } else {
        RequestStage::Settled
    }
}

/// Doubles each time, with jitter so that callers that failed together do not retry together.
fn retry_delay(attempt: u32) -> Duration {
    let whole = INITIAL_RETRY_DELAY
        .saturating_mul(1 << attempt.saturating_sub(1).min(16))
        .min(MAX_RETRY_DELAY);
    let share = getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX));
    whole.mul_f64(0.5 + share / 2.0)
}

/// Parses `Retry-After`: seconds, or a date.
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
mod tests {
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
