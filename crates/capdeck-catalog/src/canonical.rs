//! One text for all spellings of a JSON value, so that digests depend on what is said and nothing else.

use capdeck_definition::object_members;
use serde_json::value::RawValue;

/// Deeper values are taken as they are written.
const MAX_DEPTH: usize = 128;

/// The value without spaces, its keys sorted and its strings escaped one way.
///
/// Numbers keep their digits, and a repeated key stays repeated: two texts that any reader could take for
/// different values never become the same one.
pub fn canonical(value: &RawValue) -> String {
    let mut text = String::with_capacity(value.get().len());
    write(value.get(), 0, &mut text);
    text
}

fn write(value: &str, depth: usize, text: &mut String) {
    let value = value.trim();
    let written = match value.as_bytes().first() {
        Some(b'{') if depth < MAX_DEPTH => write_object(value, depth, text),
        Some(b'[') if depth < MAX_DEPTH => write_array(value, depth, text),
        Some(b'"') => serde_json::from_str::<String>(value)
            .and_then(|plain| serde_json::to_string(&plain))
            .map(|plain| text.push_str(&plain)),
        _ => {
            text.push_str(value);
            Ok(())
        }
    };
    if written.is_err() {
        text.push_str(value);
    }
}

fn write_object(value: &str, depth: usize, text: &mut String) -> serde_json::Result<()> {
    let mut members = object_members(value)?;
    members.sort_by(|one, other| one.0.cmp(&other.0));
    text.push('{');
    for (index, (key, member)) in members.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&serde_json::to_string(key)?);
        text.push(':');
        write(member.get(), depth + 1, text);
    }
    text.push('}');
    Ok(())
}

fn write_array(value: &str, depth: usize, text: &mut String) -> serde_json::Result<()> {
    let items: Vec<&RawValue> = serde_json::from_str(value)?;
    text.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write(item.get(), depth + 1, text);
    }
    text.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        canonical(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn spelling_does_not_matter() {
        let one = of(r#"{ "b": [1, { "y": null, "x": "\u0041" }], "a": true }"#);
        assert_eq!(one, r#"{"a":true,"b":[1,{"x":"A","y":null}]}"#);
        assert_eq!(of(&one), one);
    }

    #[test]
    fn what_a_reader_could_tell_apart_stays_apart() {
        for (one, other) in [
            ("1", "1.0"),
            ("12345678901234567890123", "12345678901234567890124"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
            ("[1,2]", "[2,1]"),
            (r#""1""#, "1"),
        ] {
            assert_ne!(of(one), of(other));
        }
    }

    #[test]
    fn deep_values_end() {
        let deep = format!("{}1{}", "[ ".repeat(5000), "]".repeat(5000));
        assert!(of(&deep).starts_with("[[["));
    }
}
