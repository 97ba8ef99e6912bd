//! HTML pages without scripts. Headers block framing, foreign content and referrers.

use std::fmt::Write as _;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

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
    let mut field = String::new();
    write!(field, r#"<input type="hidden" name="{}" value="{}">"#, escape(name), escape(value))
        .ok();
    field
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

pub(crate) fn refusal(status: StatusCode, title: &str, why: &str) -> Response {
    let body = format!("<h1>{}</h1>\n<p>{}</p>", escape(title), escape(why));
    page(status, title, &body, None)
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
