//! Checks the headers of a request.

use http::{HeaderMap, StatusCode, header::ACCEPT};

use super::reply::HttpErrorReply;
use crate::{
    Era, ProtocolRevision,
    request_head::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION, content_type},
};

pub(super) fn session_id(headers: &HeaderMap) -> Result<&str, HttpErrorReply> {
    let Some(value) = headers.get(SESSION) else {
        return Err(HttpErrorReply::bad_request(
            "the `Mcp-Session-Id` header is missing; send `initialize` first and repeat the id it answers with",
        ));
    };
    value.to_str().map_err(|_| HttpErrorReply::session_not_found())
}

/// A version header must name a revision with sessions. Without one the oldest revision with this transport is
/// assumed.
pub(super) fn check_revision(headers: &HeaderMap) -> Result<ProtocolRevision, HttpErrorReply> {
    let Some(value) = headers.get(PROTOCOL_VERSION) else {
        return Ok(ProtocolRevision::ASSUMED_OVER_HTTP);
    };
    let legacy = |revision: &ProtocolRevision| revision.era() == Era::Legacy;
    value.to_str().ok().and_then(ProtocolRevision::parse).filter(legacy).ok_or_else(|| {
        let supported = ProtocolRevision::SUPPORTED.iter().filter(|revision| legacy(revision));
        let supported: Vec<&str> = supported.map(|revision| revision.as_str()).collect();
        HttpErrorReply::bad_request(format!(
            "a session cannot speak the version in `MCP-Protocol-Version`; it can speak {}",
            supported.join(", ")
        ))
    })
}

pub(super) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID)?.to_str().ok().filter(|id| !id.is_empty())
}

pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), HttpErrorReply> {
    if content_type(headers).eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(HttpErrorReply::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "`Content-Type` has to be `application/json`",
    ))
}

pub(super) fn check_accept(headers: &HeaderMap, forms: &[&str]) -> Result<(), HttpErrorReply> {
    if forms.iter().all(|form| accepts(headers, form)) {
        return Ok(());
    }
    let listed: Vec<String> = forms.iter().map(|form| format!("`{form}`")).collect();
    Err(HttpErrorReply::new(
        StatusCode::NOT_ACCEPTABLE,
        format!("`Accept` has to name {}", listed.join(" and ")),
    ))
}

pub(super) fn prefers_events(headers: &HeaderMap) -> bool {
    let ranges = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let first = ranges.flat_map(|value| value.split(',')).next().unwrap_or_default();
    first.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

/// Returns whether `Accept` covers the form. No header means anything.
fn accepts(headers: &HeaderMap, form: &str) -> bool {
    let (kind, _) = form.split_once('/').unwrap_or((form, ""));
    let mut any = false;
    for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
        for range in range.split(',') {
            any = true;
            let range = range.split(';').next().unwrap_or_default().trim();
            let covers_kind =
                range.strip_suffix("/*").is_some_and(|of| of.eq_ignore_ascii_case(kind));
            if range == "*/*" || covers_kind || range.eq_ignore_ascii_case(form) {
                return true;
            }
        }
    }
    !any
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &str) -> HeaderMap {
        [(ACCEPT, value.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn accept_takes_patterns_parameters_and_absence() {
        let both = ["application/json", "text/event-stream"];
        for good in ["*/*", "application/json;q=0.9, text/event-stream", "Application/*, TEXT/*"] {
            assert!(check_accept(&accept(good), &both).is_ok(), "{good}");
        }
        for bad in ["application/json", "text/event-stream", "text/html", ""] {
            assert!(check_accept(&accept(bad), &both).is_err(), "{bad}");
        }
        assert!(check_accept(&HeaderMap::new(), &both).is_ok());
    }

    #[test]
    fn the_form_named_first_is_preferred() {
        assert!(prefers_events(&accept("text/event-stream, application/json")));
        assert!(prefers_events(&accept("Text/Event-Stream;q=1, */*")));
        for json in ["application/json, text/event-stream", "*/*", ""] {
            assert!(!prefers_events(&accept(json)), "{json}");
        }
        assert!(!prefers_events(&HeaderMap::new()));
    }
}
