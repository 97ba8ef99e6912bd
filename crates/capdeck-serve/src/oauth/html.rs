//! HTML pages without scripts. Headers block framing, foreign content and referrers.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use url::Url;

use super::consent_page::redirect_text;

const TITLE: &str = "Sign-in failed";

const STYLE: &str = include_str!("style.css");

pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Bidirectional controls could make one address look like another.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {}
            letter if letter.is_control() && letter != '\n' => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}

pub(crate) fn hidden(name: &str, value: &str) -> String {
    format!(r#"<input type="hidden" name="{}" value="{}">"#, escape(name), escape(value))
}

/// The problem with a form that was sent; nothing without one.
pub(crate) fn alert(problem: Option<&str>) -> String {
    let text = |problem| format!("<p class=\"careful\" role=\"alert\">{}</p>\n", escape(problem));
    problem.map(text).unwrap_or_default()
}

/// Renders a page. `body` is markup; `leads_to` is another origin that its form can redirect to.
pub(crate) fn page(
    status: StatusCode,
    title: &str,
    body: &str,
    leads_to: Option<&str>,
) -> Response {
    let title = escape(title);
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} · Capdeck</title>\n\
         <link rel=\"stylesheet\" href=\"/oauth/style.css\">\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    );
    let mut response = (status, text).into_response();
    set_security_headers(response.headers_mut(), leads_to);
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    response
}

fn set_security_headers(headers: &mut HeaderMap, leads_to: Option<&str>) {
    let form_action = match leads_to {
        Some(place) => format!("'self' {place}"),
        None => "'self'".to_owned(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'self'; form-action {form_action}; frame-ancestors 'none'; base-uri 'none'"
    );
    let policy = HeaderValue::from_str(&policy);
    let strict = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.unwrap_or(strict));
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: browsers then send forms with the origin `null`, which is rejected.
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

pub(crate) async fn style() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "max-age=300"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, STYLE).into_response()
}

/// A redirect after which the browser gets the page with `GET`; `None` where the address is no valid header value.
pub(crate) fn see_other(location: &str) -> Option<Response> {
    let location = HeaderValue::from_str(location).ok()?;
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Some((StatusCode::SEE_OTHER, headers).into_response())
}

pub(crate) fn refusal(status: StatusCode, title: &str, why: &str) -> Response {
    let body = format!("<h1>{}</h1>\n<p>{}</p>", escape(title), escape(why));
    page(status, title, &body, None)
}

/// The redirect URI with these fields; `None` when it is not a URL.
pub(super) fn client_url(
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

pub(super) fn redirect_to_client(url: Option<&Url>) -> Response {
    // The browser must not post the decision to the client.
    let Some(mut response) = url.and_then(|url| see_other(url.as_str())) else {
        return refusal(StatusCode::BAD_REQUEST, TITLE, "the redirect URI is invalid");
    };
    let no_referrer = HeaderValue::from_static("no-referrer");
    response.headers_mut().insert(header::REFERRER_POLICY, no_referrer);
    response
}

/// The response to an invalid authorization request.
///
/// OAuth reports the error by a redirect to the client. Anyone can register a client, so an invalid link would redirect from
/// this host to any site, without a page in between (RFC 9700, 4.11.2). Only a client that the same person has approved
/// before gets the redirect; for other clients the person sees the error and a link.
pub(super) fn invalid_request(client_name: &str, reason: &str, url: Option<&Url>) -> Response {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(escape("<b a='x\"&y'>"), "&lt;b a=&#39;x&quot;&amp;y&#39;&gt;");
        assert_eq!(escape("moc.live\u{202e}\u{7}"), "moc.live");
        assert_eq!(hidden("a\"", "<"), r#"<input type="hidden" name="a&quot;" value="&lt;">"#);
    }

    #[test]
    fn security_02_pages_cannot_be_framed_kept_or_scripted() {
        let page = page(StatusCode::OK, "T", "", Some("http://127.0.0.1:1"));
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(policy.contains("form-action 'self' http://127.0.0.1:1;"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers()[header::X_FRAME_OPTIONS], "DENY");
        assert_eq!(page.headers()[header::CACHE_CONTROL], "no-store");
    }
}
