//! `nullable: true`, which JSON Schema says with types.

use serde_json::{Value, json};

/// The same schema, accepting null as well.
pub(super) fn allow_null(mut schema: Value) -> Value {
    let Value::Object(members) = &mut schema else { return schema };
    let accepts_only_types = !["$ref", "allOf", "anyOf", "const", "not", "if"]
        .iter()
        .any(|keyword| members.contains_key(*keyword));
    if !accepts_only_types {
        let description = members.remove("description");
        let mut either = json!({"anyOf": [schema, {"type": "null"}]});
        if let (Some(description), Value::Object(members)) = (description, &mut either) {
            members.insert("description".to_owned(), description);
        }
        return either;
    }
    match members.get_mut("type") {
        Some(Value::String(name)) if name != "null" => {
            let types = json!([name.as_str(), "null"]);
            members.insert("type".to_owned(), types);
        }
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => {
            names.push("null".into());
        }
        _ => {}
    }
    if let Some(Value::Array(choices)) = members.get_mut("enum")
        && !choices.iter().any(Value::is_null)
    {
        choices.push(Value::Null);
    }
    schema
}
