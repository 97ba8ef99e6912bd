//! The cookie that binds a sign-in to the browser that started it. It holds the `state` parameter.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};

/// The `__Host-` prefix makes browsers accept it only over HTTPS and only for this host.
const HTTPS_COOKIE: &str = "__Host-capdeck-sign-in";
/// Without HTTPS, on loopback only.
const HTTP_COOKIE: &str = "capdeck-sign-in";

fn name(is_https: bool) -> &'static str {
    if is_https { HTTPS_COOKIE } else { HTTP_COOKIE }
}

/// The state of this browser's sign-in. Over HTTPS only the protected cookie counts: another host of the same domain can set
/// the plain one to force its own sign-in.
pub(super) fn state_of(headers: &HeaderMap, is_https: bool) -> Option<&str> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
    let mut pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name(is_https)).map(|(_, state)| state)
}

/// `Lax`, because the provider redirects back.
pub(super) fn remember(state: &str, lasts: Duration, is_https: bool) -> Option<HeaderValue> {
    set(state, lasts.as_secs(), is_https)
}

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
