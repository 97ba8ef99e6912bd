//! JSON objects that keep the order and the exact text of their members.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

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

/// Edits `_meta`, which is removed when it is empty afterwards. `None` when there is no such object or the edit finds
/// nothing; then it stays as it is.
pub(crate) fn edit_meta<T>(
    object: &mut RawObject,
    edit: impl FnOnce(&mut RawObject) -> Option<T>,
) -> Option<T> {
    let mut meta = object_member(object, "_meta")?;
    let found = edit(&mut meta)?;
    if meta.is_empty() {
        object.shift_remove("_meta");
    } else {
        object.insert("_meta".to_owned(), raw(&meta));
    }
    Some(found)
}

/// Adds members to `_meta`.
pub(crate) fn extend_meta<'a>(
    object: &mut RawObject,
    members: impl IntoIterator<Item = (&'a str, Box<RawValue>)>,
) {
    let mut meta = object_member(object, "_meta").unwrap_or_default();
    meta.extend(members.into_iter().map(|(key, value)| (key.to_owned(), value)));
    object.insert("_meta".to_owned(), raw(&meta));
}

/// Distinguishes `null` from absent: `"result": null` is a response.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Returns the canonical text. A value nested too deep to parse stays as written.
pub(crate) fn canonical(value: &RawValue) -> String {
    serde_json::from_str::<Value>(value.get())
        .map_or_else(|_| value.get().to_owned(), |value| sorted(value).to_string())
}

pub(crate) fn canonical_object(object: &RawObject) -> String {
    canonical(&raw(object))
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            let members = members.into_iter().map(|(key, value)| (key, sorted(value)));
            Value::Object(members.collect::<Map<String, Value>>())
        }
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_spaces_do_not_matter_and_values_do() {
        let of = |text: &str| canonical(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(
            of(r#"{"b": [ {"y":1,"x":2} ], "a":null}"#),
            r#"{"a":null,"b":[{"x":2,"y":1}]}"#
        );
        assert_ne!(of(r#"{"a":[1,2]}"#), of(r#"{"a":[2,1]}"#));
        assert_ne!(of(r#"{"a":1}"#), of(r#"{"a":"1"}"#));
    }
}
