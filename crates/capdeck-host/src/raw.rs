//! Small conversions between JSON values and their exact text.

use capdeck_backend::CallError;
use capdeck_catalog::RawMembers;
use serde::{Deserialize, Serialize};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// What a request is answered with, byte for byte.
pub(crate) type Answer = Result<Box<RawValue>, CallError>;

pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> RawMembers {
    let text = |(key, value): (&str, Value)| Some((key.to_owned(), to_raw_value(&value).ok()?));
    members.into_iter().filter_map(text).collect()
}

/// The text of an answer.
pub(crate) fn text(value: &(impl Serialize + ?Sized)) -> Answer {
    to_raw_value(value).map_err(CallError::internal)
}

/// `None` when the text is not JSON of this type.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a RawValue) -> Option<T> {
    serde_json::from_str(text.get()).ok()
}

pub(crate) fn value(text: &RawValue) -> Option<Value> {
    parse(text)
}

pub(crate) fn string(text: &RawValue) -> Option<String> {
    parse(text)
}

/// Adds a member to a JSON object, if there is something to say.
pub(crate) fn put_some<T: Serialize>(object: &mut Value, key: &str, value: Option<T>) {
    if let Some(value) = value {
        object[key] = serde_json::to_value(value).unwrap_or_default();
    }
}

/// The same for a list, unless it is empty.
pub(crate) fn put_list<T: Serialize>(object: &mut Value, key: &str, list: &[T]) {
    put_some(object, key, (!list.is_empty()).then_some(list));
}

/// A member of an object, if it is there and of this type.
pub(crate) fn get<'a, T: Deserialize<'a>>(object: &'a RawMembers, key: &str) -> Option<T> {
    parse(object.get(key)?)
}

pub(crate) fn set(object: &mut RawMembers, key: &str, value: &(impl Serialize + ?Sized)) {
    if let Ok(text) = to_raw_value(value) {
        object.insert(key.to_owned(), text);
    }
}
