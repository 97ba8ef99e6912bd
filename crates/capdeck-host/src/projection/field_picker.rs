//! Selects parts while reading, so that a large document is never in memory whole. Selected parts
//! remain byte for byte.

use std::{fmt, io::Read};

use serde::{
    Serialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::field_selection::FieldSelection;
use crate::partial_json::PartialJson;

pub(super) fn from_text(choice: &FieldSelection, text: &str) -> serde_json::Result<PartialJson> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let picked = FieldPicker(choice).deserialize(&mut deserializer)?;
    deserializer.end().map(|()| picked)
}

pub(super) fn from_reader(
    choice: &FieldSelection,
    reader: &mut dyn Read,
) -> serde_json::Result<PartialJson> {
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let picked = FieldPicker(choice).deserialize(&mut deserializer)?;
    deserializer.end().map(|()| picked)
}

#[derive(Clone, Copy)]
struct FieldPicker<'a>(&'a FieldSelection);

impl<'de> DeserializeSeed<'de> for FieldPicker<'_> {
    type Value = PartialJson;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<PartialJson, D::Error> {
        if self.0.is_whole() {
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
            match self.0.member(&key) {
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
    use serde_json::{Value, json};

    use super::*;

    fn picked(fields: &[&str], value: &Value) -> String {
        let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        let picked = from_text(&FieldSelection::of(&fields).unwrap(), &value.to_string()).unwrap();
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
        let choice = FieldSelection::of(&["n".to_owned(), "s".to_owned()]).unwrap();
        for picked in
            [from_text(&choice, text).unwrap(), from_reader(&choice, &mut text.as_bytes()).unwrap()]
        {
            let kept = serde_json::to_string(&picked).unwrap();
            assert_eq!(
                kept,
                r#"{"n":123456789012345678901234567890.10,"s":{"b": 1, "a": "\u00e9"}}"#
            );
        }
        assert!(from_text(&choice, r#"{"n": 1} {"#).is_err());
        assert!(from_text(&choice, r#"{"n": "#).is_err());
    }
}
