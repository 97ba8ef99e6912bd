//! Header values: plain if valid in a header, else wrapped as `=?base64?…?=`.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Number;

const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";

pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    let printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let padded = text.starts_with(' ') || text.ends_with(' ');
    let wrapped = text.starts_with(OPENING) && text.ends_with(CLOSING);
    if printable && !padded && !wrapped {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{OPENING}{}{CLOSING}", STANDARD.encode(text)))
}

/// Decodes a header value. `None` when it is wrapped and not Base64 of UTF-8 text.
pub(crate) fn decode(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim_matches([' ', '\t']);
    let inner = value.strip_prefix(OPENING).and_then(|value| value.strip_suffix(CLOSING));
    match inner {
        None => Some(Cow::Borrowed(value)),
        Some(inner) => {
            let bytes = STANDARD.decode(inner).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

/// Returns whether two header values are equal. Numbers may have different notations.
pub(crate) fn same(given: &str, expected: &str) -> bool {
    let (Some(given), Some(expected)) = (decode(given), decode(expected)) else { return false };
    if given == expected {
        return true;
    }
    match (serde_json::from_str::<Number>(&given), expected.parse::<i128>()) {
        (Ok(given), Ok(_)) => integer_text(&given).is_some_and(|given| given == expected),
        _ => false,
    }
}

pub(super) fn integer_text(number: &Number) -> Option<String> {
    if number.is_i64() || number.is_u64() {
        return Some(number.to_string());
    }
    // A larger float does not identify one integer.
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15)?;
    Some(format!("{float:.0}"))
}
