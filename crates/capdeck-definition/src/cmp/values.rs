//! What a value means as a parameter: texts that are numbers count as numbers, and the other way round. And the JSON
//! Schemas of an intent as a tool: what it takes, and what it answers.

use serde_json::{Map, Value, json};

use crate::{ALLOW_LEADING_DASH, CmpIntent, CmpParam, CmpType, backend::cli::arguments_schema};

impl CmpIntent {
    /// Reads arguments as the format does: numbers and truth values may arrive as text. What does not fit stays as it is,
    /// for the schema to refuse.
    pub fn coerce(&self, arguments: &mut Map<String, Value>) {
        for (name, value) in arguments.iter_mut() {
            if let Some(param) = self.params.get(name)
                && let Some(read) = coerced(param.kind, value)
            {
                *value = read;
            }
        }
    }
}

/// Whether a value can be given to a parameter, and why not.
pub(crate) fn check(param: &CmpParam, value: &Value) -> Result<(), String> {
    let kind = param.kind;
    let value = coerced(kind, value).unwrap_or_else(|| value.clone());
    if !fits(kind, &value) {
        return Err(format!("`{value}` is no `{}`", kind.as_str()));
    }
    let allowed = |value: &Value| param.choices.is_empty() || param.choices.contains(value);
    let refused = match &value {
        Value::Array(items) => items.iter().find(|item| !allowed(item)),
        single => Some(single).filter(|single| !allowed(single)),
    };
    match refused {
        Some(value) => Err(format!("`{value}` is not one of the choices")),
        None => Ok(()),
    }
}

/// The value as the type has it, when it has to be changed for that.
fn coerced(kind: CmpType, value: &Value) -> Option<Value> {
    match (kind, value) {
        (CmpType::String, Value::Number(number)) => Some(Value::String(number.to_string())),
        (CmpType::Integer, Value::String(text)) => {
            if let Ok(number) = text.parse::<i64>() {
                return (number.to_string() == *text).then(|| number.into());
            }
            // Larger than JSON numbers are here. The schema takes this for an integer; its digits are in the text.
            let number: f64 = text.parse().ok()?;
            is_integer_text(text).then(|| json!(number.clamp(f64::MIN, f64::MAX)))
        }
        (CmpType::Number, Value::String(text)) => {
            let number: serde_json::Number = text.parse().ok()?;
            Some(Value::Number(number))
        }
        (CmpType::Boolean, Value::String(text)) => text.parse().ok().map(Value::Bool),
        (_, Value::Array(items)) => {
            let kind = kind.items()?;
            let read: Vec<Option<Value>> = items.iter().map(|item| coerced(kind, item)).collect();
            read.iter().any(Option::is_some).then(|| {
                let pairs = read.into_iter().zip(items);
                pairs.map(|(read, item)| read.unwrap_or_else(|| item.clone())).collect()
            })
        }
        _ => None,
    }
}

/// True for the digits of an integer as they are usually written, with no limit to their number.
pub fn is_integer_text(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    is_plain && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn fits(kind: CmpType, value: &Value) -> bool {
    match kind {
        CmpType::String => value.is_string(),
        CmpType::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        CmpType::Number => value.is_number(),
        CmpType::Boolean => value.is_boolean(),
        CmpType::Object => value.is_object(),
        CmpType::Strings | CmpType::Integers | CmpType::Numbers => {
            let inner = |item: &Value| kind.items().is_some_and(|kind| fits(kind, item));
            value.as_array().is_some_and(|items| items.iter().all(inner))
        }
    }
}

/// The member that holds an answer which is no object.
pub const CMP_RESULT: &str = "result";

impl CmpIntent {
    pub fn input_schema(&self) -> Map<String, Value> {
        let properties: Map<String, Value> =
            self.params.iter().map(|(name, param)| (name.clone(), property(param))).collect();
        let required = self.params.iter().filter(|(_, param)| param.required);
        let required: Vec<&String> = required.map(|(name, _)| name).collect();
        let mut schema = arguments_schema(properties, &required);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_become_what_the_type_says_and_nothing_else_changes() {
        for (kind, given, read) in [
            (CmpType::Integer, json!("5"), json!(5)),
            (CmpType::Integer, json!("-5"), json!(-5)),
            (CmpType::Integer, json!("9223372036854775808"), json!(9_223_372_036_854_775_808.0)),
            (CmpType::Integer, json!("05"), json!("05")),
            (CmpType::Integer, json!("5 "), json!("5 ")),
            (CmpType::Integer, json!("5; rm -rf /"), json!("5; rm -rf /")),
            (CmpType::Integer, json!(5), json!(5)),
            (CmpType::Boolean, json!("true"), json!(true)),
            (CmpType::Boolean, json!("yes"), json!("yes")),
            (CmpType::Number, json!("0.5"), json!(0.5)),
            (CmpType::String, json!(7), json!("7")),
            (CmpType::String, json!(true), json!(true)),
            (CmpType::Strings, json!(["a", 1]), json!(["a", "1"])),
            (CmpType::Strings, json!("a"), json!("a")),
            (CmpType::Integers, json!(["1", 2, "x"]), json!([1, 2, "x"])),
            (CmpType::Object, json!("{}"), json!("{}")),
        ] {
            assert_eq!(coerced(kind, &given).unwrap_or(given.clone()), read, "{kind:?} {given}");
        }
    }
}
