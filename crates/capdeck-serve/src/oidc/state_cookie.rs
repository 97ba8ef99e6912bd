//! The cookie that ties a sign-in to the browser in which it was begun: it holds the state that the provider brings back.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};

/// Taken by browsers over HTTPS only, for this host only.
const PROTECTED: &str = "__Host-capdeck-sign-in";
/// The same where there is no HTTPS: on this machine itself.
const PLAIN: &str = "capdeck-sign-in";

fn name(is_https: bool) -> &'static str {
    if is_https { PROTECTED } else { PLAIN }
}

/// The state that this browser was sent away with. Over HTTPS only the protected cookie counts: others can be put there by
/// a neighbour of the same domain, together with a sign-in of theirs.
pub(super) fn state_of(headers: &HeaderMap, is_https: bool) -> Option<&str> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
    let mut pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name(is_https)).map(|(_, state)| state)
}

/// A header that remembers a sign-in. `Lax`, since the provider sends the browser back.
pub(super) fn remember(state: &str, lasts: Duration, is_https: bool) -> Option<HeaderValue> {
    set(state, lasts.as_secs(), is_https)
}

/// A header that forgets it.
pub(super) fn forget(is_https: bool) -> Option<HeaderValue> {
    set("", 0, is_https)
}

fn set(state: &str, seconds: u64, is_https: bool) -> Option<HeaderValue> {
    let secure = if is_https { "; Secure" } else { "" };
    let name = name(is_https);
    let text = format!("{name}={state}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_03_the_state_is_for_this_host_and_no_script() {
        let text = |value: Option<HeaderValue>| value.unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            text(remember("abc", Duration::from_secs(600), true)),
            "__Host-capdeck-sign-in=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure"
        );
        assert_eq!(
            text(forget(false)),
            "capdeck-sign-in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
        );
    }

    #[test]
    fn over_https_only_the_protected_cookie_counts() {
        let mut headers = HeaderMap::new();
        headers
            .append(header::COOKIE, HeaderValue::from_static("capdeck=x; capdeck-sign-in=tossed"));
        assert_eq!(state_of(&headers, true), None);
        assert_eq!(state_of(&headers, false), Some("tossed"));
        headers.append(header::COOKIE, HeaderValue::from_static("__Host-capdeck-sign-in=own"));
        assert_eq!(state_of(&headers, true), Some("own"));
    }
}
