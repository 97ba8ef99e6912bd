//! The selected paths as one tree, which selects parts while reading, so that a large document is never in memory whole. Selected parts
//! remain byte for byte.

use std::{collections::BTreeMap, fmt};

use capdeck_backend::CallError;

use serde::{
    Serialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::partial_json::PartialJson;

#[derive(Debug, Default, Clone)]
pub(super) struct FieldSelection {
    is_whole: bool,
    pub(super) members: BTreeMap<String, FieldSelection>,
}

impl FieldSelection {
    /// Parses dotted paths. A dot in a name is written `\.`.
    pub(super) fn parse(fields: &[String]) -> Result<Self, CallError> {
        let mut root = Self::default();
        for path in fields {
            let mut place = &mut root;
            for name in segments(path) {
                let forbidden = name.is_empty()
                    || name == "*"
                    || name.bytes().all(|byte| byte.is_ascii_digit())
                    || ["__proto__", "prototype", "constructor"].contains(&name.as_str());
                if forbidden {
                    return Err(CallError::invalid_request(format!("`{path}` is not a field path"),
                    )
                    .hint("paths are dotted property names, such as `items.id`; arrays are passed through"));
                }
                place = place.members.entry(name).or_default();
            }
            place.is_whole = true;
        }
        Ok(root)
    }
}

pub(super) fn segments(path: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = path.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('.' | '\\')) => {
                let escaped = letters.next();
                names.last_mut().into_iter().for_each(|name| name.extend(escaped));
            }
            ('.', _) => names.push(String::new()),
            _ => names.last_mut().into_iter().for_each(|name| name.push(letter)),
        }
    }
    names
}

pub(super) fn pick<'de>(
    choice: &FieldSelection,
    text: impl serde_json::de::Read<'de>,
) -> serde_json::Result<PartialJson> {
    let mut deserializer = serde_json::Deserializer::new(text);
    let picked = FieldPicker(choice).deserialize(&mut deserializer)?;
    deserializer.end().map(|()| picked)
}

#[derive(Clone, Copy)]
struct FieldPicker<'a>(&'a FieldSelection);

impl<'de> DeserializeSeed<'de> for FieldPicker<'_> {
    type Value = PartialJson;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<PartialJson, D::Error> {
        if self.0.is_whole {
            return <Box<RawValue> as serde::Deserialize>::deserialize(deserializer)
                .map(PartialJson::Whole);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldPicker<'_> {
    type Value = PartialJson;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PartialJson, A::Error> {
        let mut kept = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match self.0.members.get(&key) {
                Some(below) => kept.push((key, map.next_value_seed(FieldPicker(below))?)),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(PartialJson::Object(kept))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PartialJson, A::Error> {
        let mut kept = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            kept.push(item);
        }
        Ok(PartialJson::Array(kept))
    }

    // A path that leads further than the value keeps the value: `null` in place of an object is
    // information.
    fn visit_bool<E: Error>(self, value: bool) -> Result<PartialJson, E> {
        whole(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<PartialJson, E> {
        whole(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<PartialJson, E> {
        whole(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<PartialJson, E> {
        whole(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<PartialJson, E> {
        whole(&value)
    }

    fn visit_unit<E: Error>(self) -> Result<PartialJson, E> {
        whole(&())
    }
}

fn whole<E: Error>(value: &impl Serialize) -> Result<PartialJson, E> {
    serde_json::value::to_raw_value(value).map(PartialJson::Whole).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::de::{IoRead, StrRead};

    use serde_json::{Value, json};

    use super::*;

    fn picked(fields: &[&str], value: &Value) -> String {
        let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        let picked =
            pick(&FieldSelection::parse(&fields).unwrap(), StrRead::new(&value.to_string()))
                .unwrap();
        serde_json::to_string(&picked).unwrap()
    }

    #[test]
    fn only_what_is_chosen_stays_in_its_place() {
        let value = json!({"items": [{"id": "a", "x": 1}, {"x": 2}, [{"id": "b"}]], "total": 2});
        assert_eq!(picked(&["items.id"], &value), r#"{"items":[{"id":"a"},{},[{"id":"b"}]]}"#);
        assert_eq!(
            picked(&["total", "items.x"], &value),
            r#"{"items":[{"x":1},{"x":2},[{}]],"total":2}"#
        );
        assert_eq!(picked(&["items", "items.id"], &json!({"items": [1]})), r#"{"items":[1]}"#);
        assert_eq!(picked(&["a.b"], &json!({"a": null})), r#"{"a":null}"#);
        assert_eq!(picked(&["id"], &json!([{"id": 1}, {"id": 2}])), r#"[{"id":1},{"id":2}]"#);
    }

    #[test]
    fn what_is_kept_stays_byte_for_byte() {
        let text =
            r#"{"n": 123456789012345678901234567890.10, "s": {"b": 1, "a": "\u00e9"}, "b": 1}"#;
        let choice = FieldSelection::parse(&["n".to_owned(), "s".to_owned()]).unwrap();
        for picked in [
            pick(&choice, StrRead::new(text)).unwrap(),
            pick(&choice, IoRead::new(text.as_bytes())).unwrap(),
        ] {
            let kept = serde_json::to_string(&picked).unwrap();
            assert_eq!(
                kept,
                r#"{"n":123456789012345678901234567890.10,"s":{"b": 1, "a": "\u00e9"}}"#
            );
        }
        assert!(pick(&choice, StrRead::new(r#"{"n": 1} {"#)).is_err());
        assert!(pick(&choice, StrRead::new(r#"{"n": "#)).is_err());
    }

    #[test]
    fn a_dot_may_belong_to_a_name() {
        assert_eq!(segments("a.b"), ["a", "b"]);
        assert_eq!(segments(r"a\.b.c"), ["a.b", "c"]);
        assert_eq!(segments(r"a\\.c"), [r"a\", "c"]);
        assert_eq!(segments(r"a\b"), [r"a\b"]);
        assert_eq!(segments(""), [""]);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for wrong in ["", ".", "a..b", "items.0.id", "items.*", "__proto__", "a.constructor"] {
            assert!(FieldSelection::parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
