//! The answer to a request for a code that cannot be put before a person.
//!
//! OAuth reports the error by a redirect to the client. Anyone can register a client, so an invalid link would lead from
//! this host to any site, with no page in between (RFC 9700, 4.11.2). Only a client that the same person let in before gets
//! the redirect; for every other client the person sees what is wrong and where the link leads.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use url::Url;

use super::{
    consent_page::shown_place,
    html::{escape, page, refusal},
};

const TITLE: &str = "This sign-in cannot go on";

/// The client's address with these fields; `None` when it cannot be read. It was checked against what the client
/// registered.
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

/// Sends the person to an address of the client.
pub(super) fn send_to(url: Option<&Url>) -> Response {
    let location = url.and_then(|url| HeaderValue::from_str(url.as_str()).ok());
    let Some(location) = location else {
        let why = "the address to go back to cannot be read";
        return refusal(StatusCode::BAD_REQUEST, TITLE, why);
    };
    // 303: a browser that posted the decision must not post it to the client.
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, location);
    for (name, value) in
        [(header::CACHE_CONTROL, "no-store"), (header::REFERRER_POLICY, "no-referrer")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A page that says what is wrong, with a link that tells the client.
pub(super) fn show(client_name: &str, reason: &str, url: Option<&Url>) -> Response {
    let mut body = format!(
        "<h1>{TITLE}</h1>\n<p>The request of {} is not valid: {}.</p>\n",
        escape(client_name),
        escape(reason)
    );
    if let Some(url) = url {
        let (place, link) = (escape(&shown_place(url)), escape(url.as_str()));
        body.push_str(&format!(
            "<p class=\"quiet\">If you came from there, go back to</p>\n\
             <p class=\"host\"><a href=\"{link}\" rel=\"noreferrer\">{place}</a></p>\n\
             <p class=\"quiet\">You have not let this client in before. If you did not begin this sign-in, close this page.</p>\n"
        ));
    }
    page(StatusCode::BAD_REQUEST, TITLE, &body, None)
}
