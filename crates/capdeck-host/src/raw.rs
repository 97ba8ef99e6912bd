//! Small conversions between JSON values and their exact text.

use capdeck_catalog::RawMembers;
use serde_json::{Value, value::RawValue};

pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> RawMembers {
    members
        .into_iter()
        .filter_map(|(key, value)| {
            Some((key.to_owned(), serde_json::value::to_raw_value(&value).ok()?))
        })
        .collect()
}

/// `None` when the text is not JSON, which raw text from the wire never is.
pub(crate) fn value(text: &RawValue) -> Option<Value> {
    serde_json::from_str(text.get()).ok()
}

pub(crate) fn string(text: &RawValue) -> Option<String> {
    serde_json::from_str(text.get()).ok()
}
