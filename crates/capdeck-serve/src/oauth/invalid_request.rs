//! The response to an invalid authorization request.
//!
//! OAuth reports the error by a redirect to the client. Anyone can register a client, so an invalid link would redirect from
//! this host to any site, without a page in between (RFC 9700, 4.11.2). Only a client that the same person has approved before
//! gets the redirect; for other clients the person sees the error and a link.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use url::Url;

use super::{
    consent_page::redirect_text,
    html::{escape, page, refusal},
};

const TITLE: &str = "Sign-in failed";

/// The redirect URI with these fields; `None` when it is not a URL.
pub(super) fn address(
    redirect_uri: &str,
    state: Option<&str>,
    issuer: &str,
    fields: &[(&str, &str)],
) -> Option<Url> {
    let mut url = Url::parse(redirect_uri).ok()?;
    {
        let mut query = url.query_pairs_mut();
        query.extend_pairs(fields);
        if let Some(state) = state {
            query.append_pair("state", state);
        }
        query.append_pair("iss", issuer);
    }
    Some(url)
}

pub(super) fn send_to(url: Option<&Url>) -> Response {
    let location = url.and_then(|url| HeaderValue::from_str(url.as_str()).ok());
    let Some(location) = location else {
        let why = "the redirect URI is invalid";
        return refusal(StatusCode::BAD_REQUEST, TITLE, why);
    };
    // 303: the browser must not post the decision to the client.
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, location);
    for (name, value) in
        [(header::CACHE_CONTROL, "no-store"), (header::REFERRER_POLICY, "no-referrer")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

pub(super) fn show(client_name: &str, reason: &str, url: Option<&Url>) -> Response {
    let mut body = format!(
        "<h1>{TITLE}</h1>\n<p>Invalid request of {}: {}.</p>\n",
        escape(client_name),
        escape(reason)
    );
    if let Some(url) = url {
        let (place, link) = (escape(&redirect_text(url)), escape(url.as_str()));
        body.push_str(&format!(
            "<p class=\"quiet\">To return the error to the client, open</p>\n\
             <p class=\"host\"><a href=\"{link}\" rel=\"noreferrer\">{place}</a></p>\n\
             <p class=\"quiet\">You have not approved this client before. If you did not start this sign-in, close this page.</p>\n"
        ));
    }
    page(StatusCode::BAD_REQUEST, TITLE, &body, None)
}
