//! One text for all spellings of a JSON Schema. Besides what `canonical` makes equal, lists whose order the
//! specification gives no meaning are sorted: many servers write a set in another order at every start.

use capdeck_definition::object_members;
use serde_json::value::RawValue;

use crate::canonical::canonical;

/// Deeper schemas are taken as they are written.
const MAX_DEPTH: usize = 64;

/// The schema without what says nothing.
pub(crate) fn schema_text(schema: &RawValue) -> String {
    let mut text = String::with_capacity(schema.get().len());
    write_schema(schema, 0, &mut text);
    text
}

fn write_schema(schema: &RawValue, depth: usize, text: &mut String) {
    let Some(mut members) = members_of(schema).filter(|_| depth < MAX_DEPTH) else {
        return text.push_str(&canonical(schema));
    };
    members.sort_by(|one, other| one.0.cmp(&other.0));
    let is_set = members.iter().any(|(key, value)| key == "uniqueItems" && value.get() == "true");
    write_object(&members, text, |key, value, text| match key {
        "required" | "enum" | "type" => text.push_str(&sorted(value)),
        "default" if is_set => text.push_str(&sorted(value)),
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            write_each(value, text, |schema, text| write_schema(schema, depth + 1, text));
        }
        "dependentRequired" => write_each(value, text, |names, text| text.push_str(&sorted(names))),
        "items"
        | "prefixItems"
        | "additionalItems"
        | "additionalProperties"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema"
        | "not"
        | "if"
        | "then"
        | "else"
        | "allOf"
        | "anyOf"
        | "oneOf" => write_schemas(value, depth + 1, text),
        _ => text.push_str(&canonical(value)),
    });
}

/// A schema, or a list of them in its order.
fn write_schemas(value: &RawValue, depth: usize, text: &mut String) {
    let Ok(schemas) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
        return write_schema(value, depth, text);
    };
    text.push('[');
    for schema in schemas {
        write_schema(schema, depth, text);
        text.push(',');
    }
    text.push(']');
}

fn write_each(value: &RawValue, text: &mut String, mut write: impl FnMut(&RawValue, &mut String)) {
    let Some(mut members) = members_of(value) else { return text.push_str(&canonical(value)) };
    members.sort_by(|one, other| one.0.cmp(&other.0));
    write_object(&members, text, |_, value, text| write(value, text));
}

fn write_object(
    members: &[(String, &RawValue)],
    text: &mut String,
    mut write: impl FnMut(&str, &RawValue, &mut String),
) {
    text.push('{');
    for (key, value) in members {
        text.push_str(&serde_json::to_string(key).unwrap_or_default());
        text.push(':');
        write(key, value, text);
        text.push(',');
    }
    text.push('}');
}

fn members_of(value: &RawValue) -> Option<Vec<(String, &RawValue)>> {
    object_members(value.get()).ok()
}

/// A list in one order; anything else as it is.
fn sorted(value: &RawValue) -> String {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
        return canonical(value);
    };
    let mut items: Vec<String> = items.into_iter().map(canonical).collect();
    items.sort();
    format!("[{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        schema_text(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn the_order_of_what_has_none_says_nothing() {
        for (one, other) in [
            (r#"{"required":["a","b"]}"#, r#"{"required": ["b", "a"]}"#),
            (
                r#"{"type":["string","null"],"enum":[1,null]}"#,
                r#"{"enum":[null,1],"type":["null","string"]}"#,
            ),
            (
                r#"{"properties":{"tags":{"type":"array","uniqueItems":true,"default":["x","y"]}}}"#,
                r#"{"properties":{"tags":{"uniqueItems":true,"default":["y","x"],"type":"array"}}}"#,
            ),
            (
                r#"{"anyOf":[{"items":{"required":["a","b"]}},true]}"#,
                r#"{"anyOf":[{"items":{"required":["b","a"]}},true]}"#,
            ),
            (
                r#"{"dependentRequired":{"a":["b","c"]}}"#,
                r#"{"dependentRequired":{"a":["c","b"]}}"#,
            ),
            (r#"{"$defs":{"one":{"enum":[1,2]}}}"#, r#"{"$defs":{"one":{"enum":[2,1]}}}"#),
        ] {
            assert_eq!(of(one), of(other));
        }
    }

    #[test]
    fn an_order_that_means_something_stays() {
        for (one, other) in [
            (r#"{"default":["x","y"]}"#, r#"{"default":["y","x"]}"#),
            (
                r#"{"uniqueItems":false,"default":[1,2]}"#,
                r#"{"uniqueItems":false,"default":[2,1]}"#,
            ),
            (r#"{"const":{"required":["a","b"]}}"#, r#"{"const":{"required":["b","a"]}}"#),
            (r#"{"examples":[1,2]}"#, r#"{"examples":[2,1]}"#),
            (r#"{"prefixItems":[true,{}]}"#, r#"{"prefixItems":[{},true]}"#),
            (r#"{"required":["a"]}"#, r#"{"required":["a","a"]}"#),
            (r#"{"enum":["1"]}"#, r#"{"enum":[1]}"#),
            (
                r#"{"properties":{"default":{"enum":[1]}}}"#,
                r#"{"properties":{"default":{"enum":[2]}}}"#,
            ),
        ] {
            assert_ne!(of(one), of(other));
        }
    }

    #[test]
    fn odd_schemas_are_taken_as_they_are() {
        assert_eq!(of("true"), "true");
        assert_eq!(
            of(r#"{"required": "a", "properties": [1], "items": 2}"#),
            of(r#"{"items":2,"properties":[1],"required":"a"}"#)
        );
        let deep = format!("{}true{}", r#"{"not":"#.repeat(500), "}".repeat(500));
        assert!(of(&deep).contains("not"));
    }
}
