//! JSON objects that keep the order and the exact text of their members.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::RpcError;

/// A JSON object whose members keep their order and their exact text.
pub type RawObject = IndexMap<String, Box<RawValue>>;

/// Serializes a value that cannot fail: strings, numbers, raw objects.
pub(crate) fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

pub(crate) fn empty_object() -> Box<RawValue> {
    raw(&RawObject::new())
}

pub(crate) fn parse_params(params: Option<&RawValue>) -> Result<Option<RawObject>, RpcError> {
    match params {
        None => Ok(None),
        // Some peers send `"params": null` for none.
        Some(text) if text.get() == "null" => Ok(None),
        Some(text) => serde_json::from_str(text.get())
            .map(Some)
            .map_err(|_| RpcError::invalid_params("`params` has to be an object")),
    }
}

pub(crate) fn text_member(object: &RawObject, key: &str) -> Option<String> {
    serde_json::from_str(object.get(key)?.get()).ok()
}

pub(crate) fn object_member(object: &RawObject, key: &str) -> Option<RawObject> {
    serde_json::from_str(object.get(key)?.get()).ok()
}

/// Distinguishes `null` from absent: `"result": null` is a response.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}
