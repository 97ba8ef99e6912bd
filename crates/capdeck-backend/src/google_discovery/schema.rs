//! Discovery schemas in the words of JSON Schema. References and checks are left to the OpenAPI model.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoogleSchemaDirection {
    /// To the API: unknown members are refused.
    Input,
    /// From the API: it may send more than the document describes, such as further values of an enum.
    Output,
}

/// How schemas are written for one use: everything, or what one method takes.
#[derive(Clone, Copy)]
pub(super) struct Dialect<'d> {
    pub(super) direction: GoogleSchemaDirection,
    /// Some members are required by some methods only: the method, and the types that it needs in a form of its own.
    pub(super) method: Option<(&'d str, &'d BTreeSet<&'d str>)>,
}

impl Dialect<'_> {
    pub(super) const INPUT: Self = Self { direction: GoogleSchemaDirection::Input, method: None };
    pub(super) const OUTPUT: Self = Self { direction: GoogleSchemaDirection::Output, method: None };

    fn pointer(&self, name: &str) -> String {
        let place = match (self.method, self.direction) {
            (Some((method, own)), _) if own.contains(name) => {
                format!("x-methods/{}", escaped(method))
            }
            (_, GoogleSchemaDirection::Input) => "x-input".to_owned(),
            (_, GoogleSchemaDirection::Output) => "components/schemas".to_owned(),
        };
        format!("#/{place}/{}", escaped(name))
    }

    /// The JSON Schema of a schema. What is no schema is passed on, and reported by the OpenAPI import.
    pub(super) fn translate(&self, schema: &Value) -> Value {
        let Some(members) = schema.as_object() else { return schema.clone() };
        let mut written = Map::new();
        if let Some(name) = members.get("$ref") {
            let pointer = name.as_str().map(|name| self.pointer(name).into());
            written.insert("$ref".into(), pointer.unwrap_or_else(|| name.clone()));
        } else if members.get("repeated") == Some(&Value::Bool(true)) {
            written.insert("type".into(), "array".into());
            written.insert("items".into(), self.typed(members).into());
        } else {
            written = self.typed(members);
        }
        if let Some(default) = default_value(members) {
            written.insert("default".into(), default);
        }
        describe(members, &mut written);
        Value::Object(written)
    }

    fn typed(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let kind = members.get("type").and_then(Value::as_str);
        match kind {
            Some("object") => self.object(members),
            None if members.contains_key("properties") => self.object(members),
            Some("array") => {
                let items = members.get("items").map(|items| self.translate(items));
                let items = items.unwrap_or_else(|| json!({}));
                Map::from_iter([("type".into(), "array".into()), ("items".into(), items)])
            }
            _ => self.scalar(members, kind),
        }
    }

    fn scalar(&self, members: &Map<String, Value>, kind: Option<&str>) -> Map<String, Value> {
        let mut written = Map::new();
        written.extend(members.get("type").map(|kind| ("type".to_owned(), kind.clone())));
        let format = members.get("format").and_then(Value::as_str);
        match format.filter(|_| kind != Some("any")) {
            Some("byte") => drop(written.insert("contentEncoding".into(), "base64".into())),
            // 64-bit integers travel as text: JSON numbers would lose digits.
            Some(format) => drop(written.insert("format".into(), format.into())),
            None => {}
        }
        let limits: &[&str] = match (self.direction, kind) {
            (GoogleSchemaDirection::Output, _) => &[],
            (GoogleSchemaDirection::Input, Some("string")) => &["enum", "pattern"],
            (GoogleSchemaDirection::Input, Some("integer" | "number")) => {
                &["enum", "minimum", "maximum"]
            }
            (GoogleSchemaDirection::Input, _) => &["enum"],
        };
        for limit in limits {
            written.extend(members.get(*limit).map(|value| ((*limit).to_owned(), value.clone())));
        }
        written
    }

    fn object(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let is_input = self.direction == GoogleSchemaDirection::Input;
        let (mut properties, mut required) = (Map::new(), Vec::new());
        let described = members.get("properties").and_then(Value::as_object);
        for (name, property) in described.into_iter().flatten() {
            // What only the API sets is accepted, so that a resource can be sent back as it came, but not described.
            let is_read_only = is_input && property.get("readOnly") == Some(&Value::Bool(true));
            let translated =
                if is_read_only { json!({"x-read-only": true}) } else { self.translate(property) };
            properties.insert(name.clone(), translated);
            if is_input && self.method.is_some_and(|(method, _)| is_required(property, method)) {
                required.push(Value::from(name.as_str()));
            }
        }
        let mut written = Map::from_iter([("type".into(), "object".into())]);
        if !properties.is_empty() {
            written.insert("properties".into(), properties.into());
        }
        if !required.is_empty() {
            written.insert("required".into(), required.into());
        }
        match members.get("additionalProperties") {
            Some(Value::Bool(true)) => {}
            Some(schema) => {
                written.insert("additionalProperties".into(), self.translate(schema));
            }
            None if is_input && described.is_some() => {
                written.insert("additionalProperties".into(), false.into());
            }
            None => {}
        }
        written
    }
}

/// A name as a part of a JSON pointer in a URI fragment.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1").replace('%', "%25")
}

pub(super) fn is_required(property: &Value, method: &str) -> bool {
    let methods = property.pointer("/annotations/required").and_then(Value::as_array);
    methods.is_some_and(|methods| methods.iter().any(|name| name == method))
}

/// A number, which documents write as text.
pub(super) fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => match text.parse::<i64>() {
            Ok(whole) => Some(whole.into()),
            Err(_not_whole) => Number::from_f64(text.parse().ok()?),
        },
        _ => None,
    }
}

/// The default, which documents write as text for every type. One that is invalid for the type is left out.
fn default_value(members: &Map<String, Value>) -> Option<Value> {
    let default = members.get("default")?;
    let value = match (members.get("type").and_then(Value::as_str)?, default) {
        ("string", Value::String(_)) => default.clone(),
        ("boolean", Value::Bool(_)) => default.clone(),
        ("boolean", Value::String(text)) => Value::Bool(text.parse().ok()?),
        ("integer", _) => number(default).filter(|number| !number.is_f64())?.into(),
        ("number", _) => number(default)?.into(),
        _ => return None,
    };
    let is_repeated = members.get("repeated") == Some(&Value::Bool(true));
    Some(if is_repeated { Value::Array(vec![value]) } else { value })
}

/// Adds what the document says in words: the description, what each value means, that it is deprecated.
fn describe(members: &Map<String, Value>, written: &mut Map<String, Value>) {
    let mut text =
        members.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |key: &str| members.get(key).and_then(Value::as_array);
    for (index, option) in list("enum").into_iter().flatten().enumerate() {
        let meaning = list("enumDescriptions").and_then(|all| all.get(index)?.as_str());
        let meaning = meaning.unwrap_or_default().trim();
        let flag = list("enumDeprecated").and_then(|flags| flags.get(index));
        let mark = if flag == Some(&Value::Bool(true)) { "deprecated. " } else { "" };
        if let (Some(option), false) = (option.as_str(), meaning.is_empty() && mark.is_empty()) {
            text.push_str(&format!("\n- `{option}`: {mark}{meaning}"));
        }
    }
    if !text.trim().is_empty() {
        written.insert("description".into(), text.trim().into());
    }
    if members.get("deprecated") == Some(&Value::Bool(true)) {
        written.insert("deprecated".into(), true.into());
    }
}

#[cfg(test)]
mod tests;
