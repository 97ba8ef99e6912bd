//! The JSON Schemas of an intent as a tool: what it takes, and what it answers.

use serde_json::{Map, Value, json};

use crate::{ALLOW_LEADING_DASH, CmpIntent, CmpParam, CmpType};

/// The member that holds an answer which is no object.
pub const CMP_RESULT: &str = "result";

impl CmpIntent {
    /// The schema of the arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        let properties: Map<String, Value> =
            self.params.iter().map(|(name, param)| (name.clone(), property(param))).collect();
        let required = self.params.iter().filter(|(_, param)| param.required);
        let required: Vec<&String> = required.map(|(name, _)| name).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), json!(false));
        schema
    }

    /// The schema of the structured answer. Clients of all ages take only objects there, so that anything else is a member
    /// of one.
    pub fn output_schema(&self) -> Option<Map<String, Value>> {
        let returns = self.returns.as_ref()?.as_object()?;
        if self.answers_an_object() {
            let mut schema = returns.clone();
            schema.entry("type").or_insert_with(|| json!("object"));
            return Some(schema);
        }
        let wrapped = json!({
            "type": "object",
            "properties": { CMP_RESULT: returns },
            "required": [CMP_RESULT],
        });
        wrapped.as_object().cloned()
    }

    /// Whether `returns` says that the answer is an object.
    pub fn answers_an_object(&self) -> bool {
        let Some(returns) = &self.returns else { return false };
        match returns.get("type") {
            Some(kind) => kind == "object",
            None => returns.get("properties").is_some(),
        }
    }
}

fn property(param: &CmpParam) -> Value {
    let mut schema = Map::new();
    let scalar = |kind: CmpType, schema: &mut Map<String, Value>| {
        schema.insert("type".to_owned(), json!(kind.as_str()));
        if !param.choices.is_empty() {
            schema.insert("enum".to_owned(), json!(param.choices));
        }
    };
    match param.kind.items() {
        Some(kind) => {
            let mut items = Map::new();
            scalar(kind, &mut items);
            schema.insert("type".to_owned(), json!("array"));
            schema.insert("items".to_owned(), Value::Object(items));
            if param.required {
                // No element would leave an option without its value.
                schema.insert("minItems".to_owned(), json!(1));
            }
        }
        None => scalar(param.kind, &mut schema),
    }
    if let Some(description) = &param.description {
        schema.insert("description".to_owned(), json!(description));
    }
    if let Some(default) = &param.default {
        schema.insert("default".to_owned(), default.clone());
    }
    if param.allow_leading_dash {
        schema.insert(ALLOW_LEADING_DASH.to_owned(), json!(true));
    }
    Value::Object(schema)
}
