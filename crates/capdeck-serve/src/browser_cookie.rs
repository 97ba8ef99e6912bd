//! A cookie that identifies a browser, independent of sign-ins. It grants nothing: it only shows that a request for access comes
//! from the browser in which it is decided.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest as _, Sha256};

const NAME: &str = "capdeck-browser";
/// The maximum that browsers allow.
const MAX_AGE_SECONDS: u64 = 400 * 24 * 3600;
/// Hex digits of 16 random bytes.
const VALUE_LENGTH: usize = 32;

pub(crate) fn hash_of(headers: &HeaderMap) -> Option<String> {
    value_of(headers).map(|value| hex(&Sha256::digest(value.as_bytes())))
}

pub(crate) fn mark(headers: &HeaderMap, is_https: bool) -> Option<HeaderValue> {
    if value_of(headers).is_some() {
        return None;
    }
    let mut bytes = [0; VALUE_LENGTH / 2];
    getrandom::fill(&mut bytes).ok()?;
    let (value, secure) = (hex(&bytes), if is_https { "; Secure" } else { "" });
    let text = format!(
        "{NAME}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={MAX_AGE_SECONDS}{secure}"
    );
    HeaderValue::from_str(&text).ok()
}

fn value_of(headers: &HeaderMap) -> Option<&str> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
    let mut pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == NAME)?;
    let is_ours = value.len() == VALUE_LENGTH && value.bytes().all(|one| one.is_ascii_hexdigit());
    is_ours.then_some(value)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(cookie).unwrap())])
    }

    #[test]
    fn a_browser_is_marked_once_and_known_by_a_hash() {
        let set = mark(&HeaderMap::new(), true).unwrap().to_str().unwrap().to_owned();
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=34560000; Secure"));
        let pair = set.split(';').next().unwrap();
        let headers = with(&format!("capdeck=x; {pair}"));
        assert_eq!(mark(&headers, true), None);
        let hash = hash_of(&headers).unwrap();
        assert!(!pair.contains(&hash), "the value is not stored");
        assert_eq!(hash_of(&with("capdeck-browser=short")), None);
        assert!(mark(&with("capdeck-browser="), false).is_some());
    }
}
