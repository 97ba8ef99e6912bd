//! JSON text to a [`ValueNode`] tree. `serde_json` decides what is valid; places come from where it found each raw value.

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::{Deserializer, Value, value::RawValue};

use super::{MAX_DEPTH, MAX_NODES, MapEntries, MapEntry, NodeValue, ValueNode, too_many_nodes};
use crate::diagnostic::{Diagnostic, TextPosition};

pub(crate) fn parse(text: &str) -> Result<ValueNode, Diagnostic> {
    let places = PositionTable::new(text);
    let mut budget = MAX_NODES;
    let root: &RawValue = serde_json::from_str(text).map_err(|error| {
        places.trailing_comma(&error).unwrap_or_else(|| {
            let place = places.of_error(&error);
            syntax_error(&error).at(place)
        })
    })?;
    read(root.get(), &places, 0, &mut budget)
}

fn read(
    raw: &str,
    places: &PositionTable<'_>,
    depth: usize,
    budget: &mut usize,
) -> Result<ValueNode, Diagnostic> {
    let place = places.position_of(raw);
    let mut spend = |nodes: usize| {
        *budget = budget.checked_sub(nodes).ok_or_else(|| too_many_nodes().at(place))?;
        Ok(())
    };
    spend(1)?;
    if depth > MAX_DEPTH {
        let message = format!("the JSON is nested more than {MAX_DEPTH} levels deep");
        return Err(
            Diagnostic::error("document-too-complex", message, "use less nesting").at(place)
        );
    }
    let broken = |error: serde_json::Error| syntax_error(&error).at(place);
    let content = match raw.as_bytes().first() {
        Some(b'{') => {
            let members = object_members(raw).map_err(broken)?;
            spend(members.len())?;
            let mut entries = MapEntries::with_capacity(members.len());
            let mut before = raw.get(1..).unwrap_or_default();
            for (key, value) in members {
                let place = places.position_of(before.trim_start_matches(|c: char| c != '"'));
                if entries.contains_key(&key) {
                    let message = format!("a key is written twice: `{key}`");
                    return Err(Diagnostic::error("duplicate-key", message, "keep one of the two")
                        .at(place));
                }
                let value = value.get();
                let entry = MapEntry { place, value: read(value, places, depth + 1, budget)? };
                entries.insert(key, entry);
                before = places.after(value);
            }
            NodeValue::Map(entries)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(broken)?;
            let items = items.into_iter().map(|item| read(item.get(), places, depth + 1, budget));
            NodeValue::List(items.collect::<Result<_, _>>()?)
        }
        _ => match serde_json::from_str(raw).map_err(broken)? {
            Value::Bool(value) => NodeValue::Bool(value),
            Value::String(text) => NodeValue::Text(text),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => NodeValue::from_f64(float),
                _ => NodeValue::Number(number),
            },
            Value::Null | Value::Array(_) | Value::Object(_) => NodeValue::Null,
        },
    };
    Ok(ValueNode { content, place })
}

/// The members of a JSON object in the order they are written, repeated keys included.
pub fn object_members(text: &str) -> serde_json::Result<Vec<(String, &RawValue)>> {
    Deserializer::from_str(text).deserialize_map(JsonMembersVisitor)
}

struct JsonMembersVisitor;

impl<'de> Visitor<'de> for JsonMembersVisitor {
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
///
/// A whole document may be one line, so characters are counted once, with a note every few bytes; counting from the
/// start of the line for each value would take quadratic time.
struct PositionTable<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
    /// How many characters start before each multiple of [`STRIDE`].
    characters: Vec<usize>,
}

const STRIDE: usize = 256;

impl<'a> PositionTable<'a> {
    fn new(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        let mut total = 0;
        let mut characters = vec![0];
        for chunk in text.as_bytes().chunks(STRIDE) {
            total += count_characters(chunk);
            characters.push(total);
        }
        Self { text, line_starts, characters }
    }

    /// `part` must be a slice of the text: its address is its offset.
    fn position_of(&self, part: &str) -> TextPosition {
        let offset = self.offset(part);
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.characters_before(offset) - self.characters_before(start);
        TextPosition { line: number(line), column: number(column + 1) }
    }

    /// The byte where `serde_json` stopped, and the start of its line. It counts bytes, and names the end of a line that is
    /// not there as column 0 of the next.
    fn offset_of_error(&self, error: &serde_json::Error) -> (usize, usize) {
        let start = self.line_starts.get(error.line().saturating_sub(1)).copied();
        let start = start.unwrap_or(self.text.len());
        ((start + error.column().saturating_sub(1)).min(self.text.len()), start)
    }

    /// The most common mistake in JSON that people write, by its name and at its place.
    fn trailing_comma(&self, error: &serde_json::Error) -> Option<Diagnostic> {
        let (offset, _) = self.offset_of_error(error);
        let before = self.text.get(..offset)?.trim_end();
        let rest = self.text.get(offset..)?.trim_start();
        let bracket = rest.chars().next().filter(|first| matches!(first, '}' | ']'))?;
        let comma = before.get(before.strip_suffix(',')?.len()..)?;
        let message = format!("the JSON cannot be read: there is a comma before `{bracket}`");
        let fix = "remove this comma: JSON has none after the last member";
        Some(Diagnostic::error("invalid-json", message, fix).at(self.position_of(comma)))
    }

    fn of_error(&self, error: &serde_json::Error) -> TextPosition {
        let (offset, start) = self.offset_of_error(error);
        let column = self.characters_before(offset) - self.characters_before(start);
        TextPosition { line: number(error.line().max(1)), column: number(column + 1) }
    }

    fn after(&self, part: &str) -> &'a str {
        self.text.get(self.offset(part) + part.len()..).unwrap_or_default()
    }

    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn characters_before(&self, offset: usize) -> usize {
        let noted = self.characters.get(offset / STRIDE).copied().unwrap_or_default();
        let since = self.text.as_bytes().get(offset - offset % STRIDE..offset);
        noted + since.map_or(0, count_characters)
    }
}

/// Counts the bytes that start a character, which works from any offset.
fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
}

fn syntax_error(error: &serde_json::Error) -> Diagnostic {
    let text = error.to_string();
    let detail = text.rsplit_once(" at line ").map_or(text.as_str(), |(detail, _)| detail);
    let message = format!("the JSON cannot be read: {detail}");
    let fix = "check commas, quotes and brackets at and before this place; JSON has no comments";
    Diagnostic::error("invalid-json", message, fix)
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{PositionTable, STRIDE, parse};
    use crate::diagnostic::TextPosition;

    #[test]
    fn places_count_characters_and_not_bytes() {
        let text = format!("{{\n  \"é\": [1,\n\t{{ \"{}\": true }}]\n}}", "é".repeat(STRIDE));
        let root = parse(&text).unwrap();
        let list = root.get("é").unwrap();
        assert_eq!(root.key_place("é"), TextPosition { line: 2, column: 3 });
        assert_eq!(list.place, TextPosition { line: 2, column: 8 });
        assert_eq!(list.item(0).place, TextPosition { line: 2, column: 9 });
        let (_, inner) = list.item(1).entries().first().unwrap();
        assert_eq!(inner.place, TextPosition { line: 3, column: 4 });
        let column = u32::try_from(STRIDE).unwrap() + 8;
        assert_eq!(inner.value.place, TextPosition { line: 3, column });
    }

    #[test]
    fn places_of_syntax_errors_count_characters_too() {
        for (text, line, column) in [
            ("{\"éé\": x}", 1, 8),
            ("{\n  \"漢字\" 1}", 2, 8),
            ("{\n\"🦀\": [", 2, 6),
            ("", 1, 1),
            ("\n\n", 3, 1),
            ("\"\u{2028}\n", 1, 3),
        ] {
            let found = parse(text).unwrap_err();
            assert_eq!((found.line, found.column), (line, column), "{text:?}");
        }
    }

    #[test]
    fn a_comma_after_the_last_member_is_named() {
        for (text, column) in [
            (r#"{"a": 1,}"#, 8),
            (r#"{"é": [1, 2, ] }"#, 12),
            (r#"{"a": {"b": null , } }"#, 18),
            ("[1,\n]", 3),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.message.contains("there is a comma before `"), "{text}: {found:?}");
            assert_eq!((found.line, found.column), (1, column), "{text}");
        }
        for text in [r#"{"a": ,}"#, "[,]", r#"{"a" 1}"#] {
            let found = parse(text).unwrap_err();
            assert!(!found.message.contains("comma before"), "{text}: {found:?}");
        }
    }

    #[test]
    fn every_offset_has_its_column() {
        let text = "aé漢🦀".repeat(STRIDE);
        let places = PositionTable::new(&text);
        for (count, (offset, _)) in text.char_indices().enumerate() {
            assert_eq!(places.characters_before(offset), count);
        }
    }
}
