//! The cookies of this host: the session of an operator, the state of a sign-in at a provider, and the mark of a browser.

use std::time::Duration;

use capdeck_storage::{sha256_hex, to_hex};
use http::{HeaderMap, HeaderValue, header};

/// A cookie of a person. The `__Host-` prefix makes browsers accept it over HTTPS only, for this host only, whatever another
/// name of the domain says. Without HTTPS, on this machine itself, browsers take no prefixed cookie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProtectedCookie {
    protected: &'static str,
    plain: &'static str,
}

/// The session of an operator.
pub(crate) const SESSION: ProtectedCookie =
    ProtectedCookie { protected: "__Host-capdeck", plain: "capdeck" };
/// Binds a sign-in at a provider to the browser that started it; holds the `state` parameter.
pub(crate) const SIGN_IN_STATE: ProtectedCookie =
    ProtectedCookie { protected: "__Host-capdeck-sign-in", plain: "capdeck-sign-in" };

impl ProtectedCookie {
    fn name(self, is_https: bool) -> &'static str {
        if is_https { self.protected } else { self.plain }
    }

    /// What the cookies of a request hold. Over HTTPS only the protected one counts: a neighbour of the same domain can set
    /// the other one, and have a person work in a session or a sign-in that is not theirs.
    pub(crate) fn values(
        self,
        headers: &HeaderMap,
        is_https: bool,
    ) -> impl Iterator<Item = &str> + use<'_> {
        values(headers, self.name(is_https))
    }

    /// `Lax`, since people come from the page of a client, or back from a provider.
    pub(crate) fn set(self, value: &str, lasts: Duration, is_https: bool) -> Option<HeaderValue> {
        set_cookie(self.name(is_https), value, lasts.as_secs(), is_https)
    }

    /// A header that removes the cookie from the browser.
    pub(crate) fn clear(self, is_https: bool) -> Option<HeaderValue> {
        self.set("", Duration::ZERO, is_https)
    }
}

/// Identifies a browser, independent of sign-ins. It grants nothing: it only shows that a request for access comes from the
/// browser in which it is decided.
const BROWSER: &str = "capdeck-browser";
/// The maximum that browsers allow.
const BROWSER_SECONDS: u64 = 400 * 24 * 3600;
/// Hex digits of 16 random bytes.
const BROWSER_VALUE_LENGTH: usize = 32;

/// The hash of a browser's mark.
pub(crate) fn browser_hash(headers: &HeaderMap) -> Option<String> {
    browser_value(headers).map(sha256_hex)
}

/// A header that marks a browser without a mark.
pub(crate) fn mark_browser(headers: &HeaderMap, is_https: bool) -> Option<HeaderValue> {
    if browser_value(headers).is_some() {
        return None;
    }
    let mut bytes = [0; BROWSER_VALUE_LENGTH / 2];
    getrandom::fill(&mut bytes).ok()?;
    set_cookie(BROWSER, &to_hex(bytes), BROWSER_SECONDS, is_https)
}

fn browser_value(headers: &HeaderMap) -> Option<&str> {
    let value = values(headers, BROWSER).next()?;
    let is_ours =
        value.len() == BROWSER_VALUE_LENGTH && value.bytes().all(|one| one.is_ascii_hexdigit());
    is_ours.then_some(value)
}

fn values<'h>(headers: &'h HeaderMap, name: &'static str) -> impl Iterator<Item = &'h str> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
    let pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(found, _)| *found == name).map(|(_, value)| value)
}

fn set_cookie(name: &str, value: &str, seconds: u64, is_https: bool) -> Option<HeaderValue> {
    let secure = if is_https { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(cookie).unwrap())])
    }

    fn text(value: Option<HeaderValue>) -> String {
        value.unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn a_browser_is_marked_once_and_known_by_a_hash() {
        let set = text(mark_browser(&HeaderMap::new(), true));
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=34560000; Secure"));
        let pair = set.split(';').next().unwrap();
        let headers = with(&format!("capdeck=x; {pair}"));
        assert_eq!(mark_browser(&headers, true), None);
        let hash = browser_hash(&headers).unwrap();
        assert!(!pair.contains(&hash), "the value is not stored");
        assert_eq!(browser_hash(&with("capdeck-browser=short")), None);
        assert!(mark_browser(&with("capdeck-browser="), false).is_some());
    }

    #[test]
    fn security_03_cookies_are_for_this_host_and_no_script() {
        let set = |is_https| text(SESSION.set("t", Duration::from_secs(9), is_https));
        assert_eq!(
            set(true),
            "__Host-capdeck=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=9; Secure"
        );
        assert_eq!(set(false), "capdeck=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=9");
        assert_eq!(
            text(SESSION.clear(true)),
            "__Host-capdeck=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure"
        );
    }

    #[test]
    fn security_03_a_cookie_is_found_among_others_by_its_own_name() {
        let mut headers = with("a=1; __Host-capdeck=x; b=2");
        headers.append(header::COOKIE, HeaderValue::from_static("capdeck=y;capdeckx=z"));
        assert_eq!(SESSION.values(&headers, true).collect::<Vec<_>>(), ["x"]);
        assert_eq!(SESSION.values(&headers, false).collect::<Vec<_>>(), ["y"]);
    }

    #[test]
    fn security_03_the_state_is_for_this_host_and_no_script() {
        assert_eq!(
            text(SIGN_IN_STATE.set("abc", Duration::from_secs(600), true)),
            "__Host-capdeck-sign-in=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure"
        );
        assert_eq!(
            text(SIGN_IN_STATE.clear(false)),
            "capdeck-sign-in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
        );
    }

    #[test]
    fn over_https_only_the_protected_cookie_counts() {
        let mut headers = with("capdeck=x; capdeck-sign-in=tossed");
        let state = |headers: &HeaderMap, is_https| {
            SIGN_IN_STATE.values(headers, is_https).next().map(str::to_owned)
        };
        assert_eq!(state(&headers, true), None);
        assert_eq!(state(&headers, false).as_deref(), Some("tossed"));
        headers.append(header::COOKIE, HeaderValue::from_static("__Host-capdeck-sign-in=own"));
        assert_eq!(state(&headers, true).as_deref(), Some("own"));
    }
}
