//! What a tool's results look like, learned from results: types and names of fields, never a value.

mod field_name;
mod merge;
mod type_script;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Levels that are looked at; what is below is `unknown`.
const MAX_DEPTH: usize = 6;
/// Fields of one object that are remembered.
const MAX_FIELDS: usize = 40;
/// Items of one array that are looked at.
const MAX_ITEMS: usize = 20;
/// Alternatives that are told apart; more are `unknown`.
const MAX_VARIANTS: usize = 4;
/// The longest TypeScript text.
const MAX_TEXT_BYTES: usize = 4_000;
/// The longest JSON form.
const MAX_JSON_BYTES: usize = 16_000;

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
    /// Something was seen here that is not told: it lies too deep, or there are too many kinds of it.
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
    /// The shape of one value.
    pub fn of(value: &Value) -> Self {
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
                if members.keys().all(|key| field_name::is_field_name(key)) {
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
            let text = type_script::render(self, depth);
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
            shape.cut(depth);
        }
        Self { unknown: true, ..Self::default() }
    }

    /// Forgets what lies below a level.
    fn cut(&mut self, levels: usize) {
        let has_parts = self.object.is_some() || self.items.is_some();
        if levels == 0 && has_parts {
            (self.object, self.items, self.unknown) = (None, None, true);
        }
        let below = levels.saturating_sub(1);
        if let Some(object) = &mut self.object {
            object.fields.values_mut().chain(&mut object.values).for_each(|one| one.cut(below));
        }
        if let Some(items) = &mut self.items {
            items.cut(below);
        }
    }

    fn is_incomplete(&self) -> bool {
        let object = self.object.as_ref().is_some_and(|object| {
            object.more || object.fields.values().chain(&object.values).any(Self::is_incomplete)
        });
        self.unknown || object || self.items.as_ref().is_some_and(|items| items.is_incomplete())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        ObservedShape::of(value).type_script().0
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
        let kept = serde_json::to_string(&ObservedShape::of(&value)).unwrap();
        assert!(!kept.contains("canary"), "{kept}");
        assert_eq!(
            serde_json::from_str::<ObservedShape>(&kept).unwrap(),
            ObservedShape::of(&value)
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
            let shape = ObservedShape::of(&json!({"users": {key: {"age": 3}, "b": {"age": 4}}}));
            let kept = serde_json::to_string(&shape).unwrap();
            assert!(!kept.contains(key), "{key}: {kept}");
            assert_eq!(shape.type_script().0, "{ users?: { [key: string]: { age?: number } } }");
        }
    }

    #[test]
    fn results_add_to_what_is_known() {
        let mut shape = ObservedShape::of(&json!({"a": 1}));
        assert!(shape.merge(ObservedShape::of(&json!({"a": "x", "b": [1]}))));
        assert!(!shape.merge(ObservedShape::of(&json!({"a": 2, "b": []}))));
        assert_eq!(shape.type_script().0, "{ a?: string | number; b?: number[] }");
        assert!(shape.merge(ObservedShape::of(&json!([{"c": 1}]))));
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
        let (text, is_cut) = ObservedShape::of(&deep).type_script();
        assert!(text.contains("unknown") && is_cut, "{text}");
        let wide: serde_json::Map<String, Value> = ('a'..='z')
            .flat_map(|one| {
                ('a'..='z').map(move |two| (format!("f{one}{two}"), json!({"x": {"y": 1}})))
            })
            .collect();
        let wide = json!({"a": wide, "b": wide, "c": {"d": wide, "e": [wide]}});
        let shape = ObservedShape::of(&wide).bounded();
        assert!(serde_json::to_vec(&shape).unwrap().len() <= MAX_JSON_BYTES);
        let (text, is_cut) = shape.type_script();
        assert!(text.len() <= MAX_TEXT_BYTES && is_cut, "{}", text.len());
    }
}
