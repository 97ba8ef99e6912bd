//! Keeping only some fields of a structured result, by dotted paths through the tool's output schema.

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{RawObject, Tool};
use serde_json::{Map, Value, json, value::RawValue};

use crate::raw;

/// Whether fields of this tool's result can be chosen, and if not, why.
pub(crate) fn support(tool: &Tool) -> Value {
    if tool.output_schema().is_none() {
        return json!({ "supported": false, "reason": "output_schema_unavailable" });
    }
    json!({ "supported": true })
}

/// Refuses paths that the output schema cannot have, before anything is called.
pub(crate) fn check(fields: &[String], tool: &Tool) -> Result<(), CallError> {
    if fields.is_empty() {
        return Ok(());
    }
    let refuse = |message: String| CallError::new(ErrorCode::RequestInvalid, message);
    let Some(schema) = tool.output_schema().and_then(raw::value) else {
        return Err(refuse(format!(
            "`{}` declares no output schema, so its fields cannot be chosen",
            tool.name()
        ))
        .hint("call it without fields"));
    };
    let wrong: Vec<&String> = fields.iter().filter(|path| !is_path(path, &schema)).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(refuse(format!("the result of `{}` has no such fields: {wrong:?}", tool.name()))
        .hint("paths are dotted property names; arrays are passed through")
        .data(json!({ "unknownFields": wrong })))
}

/// The result with only the chosen fields in `structuredContent`; error results stay whole.
pub(crate) fn apply(
    fields: &[String],
    tool: &Tool,
    result: &RawValue,
) -> Result<Box<RawValue>, CallError> {
    let bug =
        |error: serde_json::Error| CallError::new(ErrorCode::InternalError, error.to_string());
    let mut object: RawObject = serde_json::from_str(result.get()).map_err(bug)?;
    let is_error = object.get("isError").is_some_and(|flag| flag.get() == "true");
    let structured = object.get("structuredContent").and_then(|text| raw::value(text));
    let (false, Some(structured)) = (is_error, structured) else {
        return Ok(result.to_owned());
    };
    let paths: Vec<Vec<&str>> = fields.iter().map(|path| path.split('.').collect()).collect();
    let kept = pick(&structured, &paths);
    tracing::debug!(tool = tool.name(), fields = fields.len(), "kept only the chosen fields");
    let text = serde_json::to_string(&kept).map_err(bug)?;
    object.extend(raw::object([
        ("content", json!([{ "type": "text", "text": text }])),
        ("structuredContent", kept),
    ]));
    serde_json::value::to_raw_value(&object).map_err(bug)
}

fn pick(value: &Value, paths: &[Vec<&str>]) -> Value {
    if paths.iter().any(Vec::is_empty) {
        return value.clone();
    }
    match value {
        Value::Array(items) => items.iter().map(|item| pick(item, paths)).collect(),
        Value::Object(members) => {
            let mut kept = Map::new();
            for (key, member) in members {
                let below: Vec<Vec<&str>> = paths
                    .iter()
                    .filter_map(|path| path.split_first())
                    .filter(|(first, _)| *first == key)
                    .map(|(_, rest)| rest.to_vec())
                    .collect();
                if !below.is_empty() {
                    kept.insert(key.clone(), pick(member, &below));
                }
            }
            Value::Object(kept)
        }
        _ => value.clone(),
    }
}

fn is_path(path: &str, schema: &Value) -> bool {
    let mut places = vec![schema];
    for segment in path.split('.') {
        let forbidden = segment.is_empty()
            || segment == "*"
            || segment.bytes().all(|byte| byte.is_ascii_digit())
            || ["__proto__", "prototype", "constructor"].contains(&segment);
        if forbidden {
            return false;
        }
        places = places.iter().flat_map(|place| step(place, segment, schema, 0)).collect();
        if places.is_empty() {
            return false;
        }
    }
    true
}

/// The subschemas of one property, through arrays, combinators and local references.
fn step<'a>(place: &'a Value, segment: &str, root: &'a Value, depth: usize) -> Vec<&'a Value> {
    if depth > 32 {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(property) = place.get("properties").and_then(|all| all.get(segment)) {
        found.push(property);
    } else if let Some(open) = place.get("additionalProperties")
        && open != &json!(false)
    {
        found.push(open);
    }
    let mut through: Vec<&Value> = Vec::new();
    through.extend(place.get("items"));
    for key in ["anyOf", "oneOf", "allOf"] {
        through.extend(place.get(key).and_then(Value::as_array).into_iter().flatten());
    }
    if let Some(pointer) = place.get("$ref").and_then(Value::as_str)
        && let Some(pointer) = pointer.strip_prefix('#')
    {
        through.extend(root.pointer(pointer));
    }
    for next in through {
        found.extend(step(next, segment, root, depth + 1));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(output: Value) -> Tool {
        let text = json!({ "name": "t", "outputSchema": output }).to_string();
        Tool::new(serde_json::from_str(&text).unwrap()).unwrap()
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "items": { "type": "array", "items": { "$ref": "#/$defs/item" } },
                "total": { "type": "integer" }
            },
            "$defs": { "item": { "anyOf": [
                { "properties": { "id": { "type": "string" }, "name": { "type": "string" } } }
            ] } }
        })
    }

    #[test]
    fn paths_reach_through_arrays_references_and_unions() {
        let tool = tool(schema());
        assert!(check(&["items.id".to_owned(), "total".to_owned()], &tool).is_ok());
        for wrong in ["items.nope", "", "items.0.id", "items.*", "__proto__"] {
            assert!(check(&[wrong.to_owned()], &tool).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_chosen_fields_stay_and_errors_stay_whole() {
        let tool = tool(schema());
        let result: Box<RawValue> = serde_json::value::to_raw_value(&json!({
            "content": [],
            "structuredContent": { "items": [{ "id": "a", "name": "A" }, { "name": "B" }], "total": 2 }
        }))
        .unwrap();
        let kept = apply(&["items.id".to_owned()], &tool, &result).unwrap();
        let kept: Value = serde_json::from_str(kept.get()).unwrap();
        assert_eq!(kept["structuredContent"], json!({ "items": [{ "id": "a" }, {}] }));

        let error = serde_json::value::to_raw_value(
            &json!({ "isError": true, "content": [], "structuredContent": { "x": 1 } }),
        )
        .unwrap();
        assert_eq!(apply(&["total".to_owned()], &tool, &error).unwrap().get(), error.get());
    }
}
