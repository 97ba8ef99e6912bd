//! JSON text to a [`Node`] tree. `serde_json` decides what is valid; places come from where it found each raw value.

use std::{collections::HashSet, fmt};

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::{Deserializer, Value, value::RawValue};

use super::{Content, Entry, MAX_DEPTH, Node};
use crate::diagnostic::{Diagnostic, Place};

/// Parses one document.
pub(crate) fn parse(text: &str) -> Result<Node, Diagnostic> {
    let places = Places::new(text);
    let root: &RawValue = serde_json::from_str(text).map_err(|error| {
        let place = Place { line: number(error.line()), column: number(error.column()) };
        syntax_error(&error).at(place)
    })?;
    read(root.get(), &places, 0)
}

fn read(raw: &str, places: &Places<'_>, depth: usize) -> Result<Node, Diagnostic> {
    let place = places.of(raw);
    if depth > MAX_DEPTH {
        return Err(Diagnostic::error(
            "document-too-complex",
            format!("the JSON is nested more than {MAX_DEPTH} levels deep"),
        )
        .with_fix("use less nesting")
        .at(place));
    }
    let broken = |error: serde_json::Error| syntax_error(&error).at(place);
    let content = match raw.as_bytes().first() {
        Some(b'{') => {
            let mut entries = Vec::new();
            let mut seen = HashSet::new();
            let members = Deserializer::from_str(raw).deserialize_map(Members).map_err(broken)?;
            let mut before = raw.get(1..).unwrap_or_default();
            for (key, value) in members {
                let place = places.of(before.trim_start_matches(|c: char| c != '"'));
                if !seen.insert(key.clone()) {
                    return Err(Diagnostic::error(
                        "duplicate-key",
                        format!("a key is written twice: `{key}`"),
                    )
                    .with_fix("keep one of the two")
                    .at(place));
                }
                let value = value.get();
                entries.push(Entry { key, place, value: read(value, places, depth + 1)? });
                before = places.after(value);
            }
            Content::Map(entries)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(broken)?;
            let items = items.into_iter().map(|item| read(item.get(), places, depth + 1));
            Content::List(items.collect::<Result<_, _>>()?)
        }
        _ => match serde_json::from_str(raw).map_err(broken)? {
            Value::Bool(value) => Content::Bool(value),
            Value::String(text) => Content::Text(text),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => Content::from_f64(float),
                _ => Content::Number(number),
            },
            Value::Null | Value::Array(_) | Value::Object(_) => Content::Null,
        },
    };
    Ok(Node { content, place })
}

/// Reads an object into its members in order, duplicates included.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// Turns a slice of the text into its line and column.
struct Places<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { text, line_starts }
    }

    /// `part` must be a slice of the text: its address is its offset.
    fn of(&self, part: &str) -> Place {
        let offset = self.offset(part);
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        Place { line: number(line), column: number(column + 1) }
    }

    fn after(&self, part: &str) -> &'a str {
        self.text.get(self.offset(part) + part.len()..).unwrap_or_default()
    }

    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }
}

fn syntax_error(error: &serde_json::Error) -> Diagnostic {
    let text = error.to_string();
    let detail = text.rsplit_once(" at line ").map_or(text.as_str(), |(detail, _)| detail);
    Diagnostic::error("invalid-json", format!("the JSON cannot be read: {detail}")).with_fix(
        "check commas, quotes and brackets at and before this place; JSON has no comments",
    )
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
