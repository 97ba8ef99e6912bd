//! Picks the chosen parts while reading, so that a large document is never in memory whole. What is kept stays byte for byte.

use std::{fmt, io::Read};

use serde::{
    Serialize, Serializer,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap as _, SerializeSeq as _},
};
use serde_json::value::RawValue;

use super::choice::{Choice, segments};

/// What is left of a value.
#[derive(Debug)]
pub(super) enum Picked {
    Whole(Box<RawValue>),
    Object(Vec<(String, Picked)>),
    Array(Vec<Picked>),
}

/// Picks from a text.
pub(super) fn from_text(choice: &Choice, text: &str) -> serde_json::Result<Picked> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let picked = Pick(choice).deserialize(&mut deserializer)?;
    deserializer.end().map(|()| picked)
}

/// Picks from a stream.
pub(super) fn from_reader(choice: &Choice, reader: &mut dyn Read) -> serde_json::Result<Picked> {
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let picked = Pick(choice).deserialize(&mut deserializer)?;
    deserializer.end().map(|()| picked)
}

impl Picked {
    pub(super) fn is_object(&self) -> bool {
        match self {
            Self::Whole(text) => text.get().starts_with('{'),
            Self::Object(_) => true,
            Self::Array(_) => false,
        }
    }

    /// Puts a member in the place of one that was there.
    pub(super) fn set(&mut self, name: &str, value: Self) {
        let Self::Object(members) = self else { return };
        match members.iter_mut().find(|(key, _)| key == name) {
            Some((_, slot)) => *slot = value,
            None => members.push((name.to_owned(), value)),
        }
    }

    /// True when something stands at the end of a path, in any item of the arrays on the way.
    pub(super) fn has(&self, path: &str) -> bool {
        let names = segments(path);
        self.reaches(&names)
    }

    fn reaches(&self, names: &[String]) -> bool {
        let Some((first, rest)) = names.split_first() else { return true };
        match self {
            Self::Whole(_) => false,
            Self::Object(members) => {
                members.iter().any(|(key, member)| key == first && member.reaches(rest))
            }
            // Nothing is missing from an empty list.
            Self::Array(items) => items.is_empty() || items.iter().any(|item| item.reaches(names)),
        }
    }

    /// How long its JSON is, but for marks between members.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Whole(text) => text.get().len(),
            Self::Object(members) => {
                members.iter().map(|(key, member)| key.len() + 4 + member.bytes()).sum()
            }
            Self::Array(items) => items.iter().map(|item| item.bytes() + 1).sum(),
        }
    }
}

impl Serialize for Picked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(text) => text.serialize(serializer),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, member) in members {
                    map.serialize_entry(key, member)?;
                }
                map.end()
            }
            Self::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Pick<'a>(&'a Choice);

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = Picked;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Picked, D::Error> {
        if self.0.is_whole() {
            return <Box<RawValue> as serde::Deserialize>::deserialize(deserializer)
                .map(Picked::Whole);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = Picked;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Picked, A::Error> {
        let mut kept = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match self.0.member(&key) {
                Some(below) => kept.push((key, map.next_value_seed(Pick(below))?)),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Picked::Object(kept))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Picked, A::Error> {
        let mut kept = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            kept.push(item);
        }
        Ok(Picked::Array(kept))
    }

    // A path that leads further than the value keeps the value: `null` where an object could be says something.
    fn visit_bool<E: Error>(self, value: bool) -> Result<Picked, E> {
        whole(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Picked, E> {
        whole(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Picked, E> {
        whole(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Picked, E> {
        whole(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Picked, E> {
        whole(&value)
    }

    fn visit_unit<E: Error>(self) -> Result<Picked, E> {
        whole(&())
    }
}

fn whole<E: Error>(value: &impl Serialize) -> Result<Picked, E> {
    serde_json::value::to_raw_value(value).map(Picked::Whole).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn picked(fields: &[&str], value: &Value) -> String {
        let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        let picked = from_text(&Choice::of(&fields).unwrap(), &value.to_string()).unwrap();
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
        let choice = Choice::of(&["n".to_owned(), "s".to_owned()]).unwrap();
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
