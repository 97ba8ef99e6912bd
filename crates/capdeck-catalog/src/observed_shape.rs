//! What a tool's results look like, learned from results: types and names of fields, never a value.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Levels that are looked at; what is below is `unknown`.
const MAX_DEPTH: usize = 6;
/// Fields of one object that are remembered.
const MAX_FIELDS: usize = 40;
/// Items of one array that are looked at.
const MAX_ITEMS: usize = 20;
/// Alternatives that are listed; more are `unknown`.
const MAX_VARIANTS: usize = 4;
const MAX_TEXT_BYTES: usize = 4_000;
/// The longest JSON form.
const MAX_JSON_BYTES: usize = 16_000;
const MAX_NAME_LENGTH: usize = 48;

/// The types that were seen at one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedShape {
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    scalars: BTreeSet<ScalarKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Box<ObjectShape>>,
    /// Of the items of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items: Option<Box<ObservedShape>>,
    /// Something was seen here that is not described: it lies too deep, or there are too many kinds of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unknown: bool,
}

/// A type without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScalarKind {
    String,
    Number,
    Boolean,
    Null,
}

/// The fields that objects at one place had. Any of them may be missing from the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ObjectShape {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    fields: BTreeMap<String, ObservedShape>,
    /// Of every member, where the names are data rather than names of fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<ObservedShape>,
    /// There were more fields than are remembered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

impl ObservedShape {
    pub fn from_value(value: &Value) -> Self {
        Self::at_depth(value, 0)
    }

    fn at_depth(value: &Value, depth: usize) -> Self {
        let scalar = |scalar| Self { scalars: BTreeSet::from([scalar]), ..Self::default() };
        match value {
            Value::Null => scalar(ScalarKind::Null),
            Value::Bool(_) => scalar(ScalarKind::Boolean),
            Value::Number(_) => scalar(ScalarKind::Number),
            Value::String(_) => scalar(ScalarKind::String),
            Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => {
                Self { unknown: true, ..Self::default() }
            }
            Value::Array(items) => {
                let mut shape = Self::default();
                for item in items.iter().take(MAX_ITEMS) {
                    shape.merge(Self::at_depth(item, depth + 1));
                }
                Self { items: Some(Box::new(shape)), ..Self::default() }
            }
            Value::Object(members) => {
                let mut object = ObjectShape::default();
                let below = |member: &Value| Self::at_depth(member, depth + 1);
                if members.keys().all(|key| is_field_name(key)) {
                    let known = members.iter().take(MAX_FIELDS);
                    object.fields = known.map(|(key, one)| (key.clone(), below(one))).collect();
                    object.more = members.len() > MAX_FIELDS;
                } else {
                    let mut values = Self::default();
                    for member in members.values().take(MAX_ITEMS) {
                        values.merge(below(member));
                    }
                    object.values = Some(values);
                }
                Self { object: Some(Box::new(object)), ..Self::default() }
            }
        }
    }

    /// As TypeScript, to at most 4,000 letters. True when something had to be left out.
    pub fn type_script(&self) -> (String, bool) {
        for depth in (1..=MAX_DEPTH).rev() {
            let text = render(self, depth);
            if text.len() <= MAX_TEXT_BYTES {
                return (text, depth < MAX_DEPTH || self.is_incomplete());
            }
        }
        ("unknown".to_owned(), true)
    }

    /// The same with as many levels as fit 16,000 bytes of JSON.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let fits = |shape: &Self| {
            serde_json::to_vec(shape).is_ok_and(|bytes| bytes.len() <= MAX_JSON_BYTES)
        };
        let mut shape = self.clone();
        for depth in (1..=MAX_DEPTH).rev() {
            if fits(&shape) {
                return shape;
            }
            shape.forget_below(depth);
        }
        Self { unknown: true, ..Self::default() }
    }

    /// Forgets what lies below a level.
    fn forget_below(&mut self, levels: usize) {
        let has_parts = self.object.is_some() || self.items.is_some();
        if levels == 0 && has_parts {
            (self.object, self.items, self.unknown) = (None, None, true);
        }
        let below = levels.saturating_sub(1);
        if let Some(object) = &mut self.object {
            object
                .fields
                .values_mut()
                .chain(&mut object.values)
                .for_each(|one| one.forget_below(below));
        }
        if let Some(items) = &mut self.items {
            items.forget_below(below);
        }
    }

    fn is_incomplete(&self) -> bool {
        let object = self.object.as_ref().is_some_and(|object| {
            object.more || object.fields.values().chain(&object.values).any(Self::is_incomplete)
        });
        self.unknown || object || self.items.as_ref().is_some_and(|items| items.is_incomplete())
    }

    /// Adds what another observation saw. True when that was news.
    pub fn merge(&mut self, other: Self) -> bool {
        let mut is_news = other.unknown && !self.unknown;
        self.unknown |= other.unknown;
        for scalar in other.scalars {
            is_news |= self.scalars.insert(scalar);
        }
        is_news |= merge(&mut self.object, other.object, |known, seen| known.merge(*seen));
        is_news | merge(&mut self.items, other.items, |known, seen| known.merge(*seen))
    }
}

impl ObjectShape {
    fn merge(&mut self, other: Self) -> bool {
        let mut is_news = other.more && !self.more;
        self.more |= other.more;
        is_news |= merge(&mut self.values, other.values, ObservedShape::merge);
        for (name, shape) in other.fields {
            if let Some(values) = &mut self.values {
                // Once some names were data, all of them may be.
                is_news |= values.merge(shape);
            } else if let Some(known) = self.fields.get_mut(&name) {
                is_news |= known.merge(shape);
            } else if self.fields.len() < MAX_FIELDS {
                self.fields.insert(name, shape);
                is_news = true;
            } else {
                is_news |= !self.more;
                self.more = true;
            }
        }
        if let Some(values) = &mut self.values {
            for shape in std::mem::take(&mut self.fields).into_values() {
                is_news = true;
                values.merge(shape);
            }
        }
        is_news
    }
}

/// Adds what was seen to what is known, if anything was.
fn merge<T>(known: &mut Option<T>, seen: Option<T>, add: impl FnOnce(&mut T, T) -> bool) -> bool {
    match (known, seen) {
        (_, None) => false,
        (Some(known), Some(seen)) => add(known, seen),
        (known, seen) => {
            *known = seen;
            true
        }
    }
}

/// True for a key that was chosen as a name. A map from addresses, identifiers or dates has keys that are data, and
/// data is never kept.
fn is_field_name(key: &str) -> bool {
    let is_plain = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$' | '.' | ' ' | '@')
    };
    let digits = key.chars().filter(char::is_ascii_digit).count();
    let letters = key.chars().filter(|letter| letter.is_alphabetic()).count();
    let words = key.split([' ', '_', '-', '.']).count();
    let is_address = key.chars().skip(1).any(|letter| letter == '@');
    let is_hexadecimal = key.len() >= 12 && key.chars().all(|letter| letter.is_ascii_hexdigit());
    let has_long_part = key.split([' ', '_', '-', '.']).any(|word| word.len() > 24);
    !key.is_empty()
        && key.len() <= MAX_NAME_LENGTH
        && key.chars().all(is_plain)
        && letters > 0
        && digits <= 4
        && words <= 6
        && !is_address
        && !is_hexadecimal
        && !has_long_part
}

/// The type, spelled out to this many levels.
fn render(shape: &ObservedShape, levels: usize) -> String {
    variants(shape, levels).join(" | ")
}

fn variants(shape: &ObservedShape, levels: usize) -> Vec<String> {
    let mut variants: Vec<String> = Vec::new();
    if let Some(object) = &shape.object {
        variants.push(if levels == 0 { "object".to_owned() } else { fields(object, levels) });
    }
    if let Some(items) = &shape.items {
        let below = match levels {
            0 => vec!["unknown".to_owned()],
            _ => self::variants(items, levels - 1),
        };
        variants.push(match below.as_slice() {
            [one] => format!("{one}[]"),
            several => format!("({})[]", several.join(" | ")),
        });
    }
    variants.extend(shape.scalars.iter().map(|scalar| {
        let name = match scalar {
            ScalarKind::String => "string",
            ScalarKind::Number => "number",
            ScalarKind::Boolean => "boolean",
            ScalarKind::Null => "null",
        };
        name.to_owned()
    }));
    if shape.unknown || variants.is_empty() || variants.len() > MAX_VARIANTS {
        return vec!["unknown".to_owned()];
    }
    variants
}

fn fields(object: &ObjectShape, levels: usize) -> String {
    if let Some(values) = &object.values {
        return format!("{{ [key: string]: {} }}", render(values, levels - 1));
    }
    let known = object.fields.iter();
    let mut members: Vec<String> = known
        .map(|(name, shape)| format!("{}?: {}", key(name), render(shape, levels - 1)))
        .collect();
    if object.more {
        members.push("…".to_owned());
    }
    match members.as_slice() {
        [] => "{}".to_owned(),
        _ => format!("{{ {} }}", members.join("; ")),
    }
}

fn key(name: &str) -> String {
    let is_identifier = !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$');
    if is_identifier { name.to_owned() } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        ObservedShape::from_value(value).type_script().0
    }

    #[test]
    fn fields_and_types_are_told_and_no_value() {
        let value = json!({
            "items": [{"id": 1, "name": "canary-a", "tags": ["canary-b"]}, {"id": null, "on": true}],
            "first-name": "canary-c", "password": "canary-d", "empty": [],
        });
        let expected = "{ empty?: unknown[]; \"first-name\"?: string; items?: { id?: number | null; name?: string; \
                        on?: boolean; tags?: string[] }[]; password?: string }";
        assert_eq!(text(&value), expected);
        let kept = serde_json::to_string(&ObservedShape::from_value(&value)).unwrap();
        assert!(!kept.contains("canary"), "{kept}");
        assert_eq!(
            serde_json::from_str::<ObservedShape>(&kept).unwrap(),
            ObservedShape::from_value(&value)
        );
    }

    #[test]
    fn names_that_are_data_are_not_kept() {
        for key in [
            "ada@example.com",
            "3f9a1c2e-0000-4000-8000-1234567890ab",
            "12345",
            "/etc/passwd",
            "2026-01-02T03:04:05Z",
            "sk_live_51H8abcdefghijklmnop1234567890",
            "https://a.example/b",
            "deadbeefdeadbeef",
            "a very long sentence that says something about somebody",
        ] {
            let shape =
                ObservedShape::from_value(&json!({"users": {key: {"age": 3}, "b": {"age": 4}}}));
            let kept = serde_json::to_string(&shape).unwrap();
            assert!(!kept.contains(key), "{key}: {kept}");
            assert_eq!(shape.type_script().0, "{ users?: { [key: string]: { age?: number } } }");
        }
    }

    #[test]
    fn results_add_to_what_is_known() {
        let mut shape = ObservedShape::from_value(&json!({"a": 1}));
        assert!(shape.merge(ObservedShape::from_value(&json!({"a": "x", "b": [1]}))));
        assert!(!shape.merge(ObservedShape::from_value(&json!({"a": 2, "b": []}))));
        assert_eq!(shape.type_script().0, "{ a?: string | number; b?: number[] }");
        assert!(shape.merge(ObservedShape::from_value(&json!([{"c": 1}]))));
        assert_eq!(
            shape.type_script().0,
            "{ a?: string | number; b?: number[] } | { c?: number }[]"
        );
    }

    #[test]
    fn everything_is_bounded() {
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!({"a": deep});
        }
        let (text, is_cut) = ObservedShape::from_value(&deep).type_script();
        assert!(text.contains("unknown") && is_cut, "{text}");
        let wide: serde_json::Map<String, Value> = ('a'..='z')
            .flat_map(|one| {
                ('a'..='z').map(move |two| (format!("f{one}{two}"), json!({"x": {"y": 1}})))
            })
            .collect();
        let wide = json!({"a": wide, "b": wide, "c": {"d": wide, "e": [wide]}});
        let shape = ObservedShape::from_value(&wide).bounded();
        assert!(serde_json::to_vec(&shape).unwrap().len() <= MAX_JSON_BYTES);
        let (text, is_cut) = shape.type_script();
        assert!(text.len() <= MAX_TEXT_BYTES && is_cut, "{}", text.len());
    }
}
