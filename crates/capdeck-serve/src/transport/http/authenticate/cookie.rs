//! The cookie of an operator's session.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};

/// Taken by browsers over HTTPS only, for this host only, whatever another name of the domain says.
const PROTECTED: &str = "__Host-capdeck";

/// The same where there is no HTTPS: on this machine itself. Browsers take no prefixed cookie there.
const PLAIN: &str = "capdeck";

fn name(is_https: bool) -> &'static str {
    if is_https { PROTECTED } else { PLAIN }
}

/// What the cookies of a request hold. Over HTTPS only the protected one counts: a neighbour of the same domain can put the
/// other one there, and have a person work in a session that is not theirs.
pub(crate) fn session_cookie(headers: &HeaderMap, is_https: bool) -> impl Iterator<Item = &str> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
    let pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(found, _)| *found == name(is_https)).map(|(_, value)| value)
}

/// A header that begins a session. `Lax`, since a person comes to the consent page from the page of the client.
pub(crate) fn set_session_cookie(
    token: &str,
    lasts: Duration,
    is_https: bool,
) -> Option<HeaderValue> {
    let (name, seconds) = (name(is_https), lasts.as_secs());
    let secure = if is_https { "; Secure" } else { "" };
    let text = format!("{name}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).ok()
}

/// Headers that end a session in the browser.
pub(crate) fn clear_session_cookie() -> [HeaderValue; 2] {
    [
        HeaderValue::from_static(
            "__Host-capdeck=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure",
        ),
        HeaderValue::from_static("capdeck=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_03_cookies_are_for_this_host_and_no_script() {
        let set = |is_https| {
            let header = set_session_cookie("t", Duration::from_secs(9), is_https).unwrap();
            header.to_str().unwrap().to_owned()
        };
        assert_eq!(
            set(true),
            "__Host-capdeck=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=9; Secure"
        );
        assert_eq!(set(false), "capdeck=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=9");
    }

    #[test]
    fn security_03_a_cookie_is_found_among_others_by_its_own_name() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=1; __Host-capdeck=x; b=2"));
        headers.append(header::COOKIE, HeaderValue::from_static("capdeck=y;capdeckx=z"));
        assert_eq!(session_cookie(&headers, true).collect::<Vec<_>>(), ["x"]);
        assert_eq!(session_cookie(&headers, false).collect::<Vec<_>>(), ["y"]);
    }
}
