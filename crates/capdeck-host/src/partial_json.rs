//! Parts of a JSON value, byte for byte and in their original places.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap as _, SerializeSeq as _},
};
use serde_json::value::RawValue;

#[derive(Debug)]
pub(crate) enum PartialJson {
    Whole(Box<RawValue>),
    Object(Vec<(String, PartialJson)>),
    Array(Vec<PartialJson>),
}

impl PartialJson {
    pub(crate) fn is_object(&self) -> bool {
        match self {
            Self::Whole(text) => text.get().starts_with('{'),
            Self::Object(_) => true,
            Self::Array(_) => false,
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Self) {
        let Self::Object(members) = self else { return };
        match members.iter_mut().find(|(key, _)| key == name) {
            Some((_, slot)) => *slot = value,
            None => members.push((name.to_owned(), value)),
        }
    }

    pub(crate) fn reaches(&self, names: &[String]) -> bool {
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

    /// The length of its JSON, without separators.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Whole(text) => text.get().len(),
            Self::Object(members) => {
                members.iter().map(|(key, member)| key.len() + 4 + member.bytes()).sum()
            }
            Self::Array(items) => items.iter().map(|item| item.bytes() + 1).sum(),
        }
    }
}

impl Serialize for PartialJson {
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
