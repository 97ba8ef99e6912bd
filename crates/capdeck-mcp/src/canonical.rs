//! Canonical JSON text, to compare values regardless of member order and spaces.

use serde_json::{Map, Value, value::RawValue};

use crate::RawObject;

/// Returns the canonical text. A value nested too deep to parse stays as written.
pub(crate) fn canonical(value: &RawValue) -> String {
    serde_json::from_str::<Value>(value.get())
        .map_or_else(|_| value.get().to_owned(), |value| sorted(value).to_string())
}

pub(crate) fn canonical_object(object: &RawObject) -> String {
    canonical(&crate::raw::raw(object))
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
