//! The top level of a tool's input schema: which arguments there are and which must be given.

use serde_json::{Map, Value, json};

use crate::Tool;

/// The arguments a tool declares. Empty when there is no schema or it cannot be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputShape {
    /// The whole schema, which local references point into.
    pub(crate) root: Value,
}

impl InputShape {
    pub(crate) fn from_tool(tool: &Tool) -> Self {
        let schema = tool.input_schema().and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self { root: schema.unwrap_or_default() }
    }

    /// The schema of the arguments themselves.
    fn top(&self) -> &Value {
        resolve(&self.root, &self.root)
    }

    /// Every declared argument, in the order of the schema; required ones it forgot to declare come last.
    pub(crate) fn accepted(&self) -> Vec<&str> {
        let declared = object(self.top(), "properties");
        let is_declared = |name: &&str| declared.is_some_and(|all| all.contains_key(*name));
        let undeclared = self.required_names().filter(|name| !is_declared(name));
        declared.into_iter().flat_map(Map::keys).map(String::as_str).chain(undeclared).collect()
    }

    fn required_names(&self) -> impl Iterator<Item = &str> {
        let names = self.top().get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The arguments that must be given, in the order of the schema.
    pub(crate) fn required(&self) -> Vec<&str> {
        self.accepted().into_iter().filter(|name| self.is_required(name)).collect()
    }

    pub(crate) fn is_required(&self, name: &str) -> bool {
        self.required_names().any(|required| required == name)
    }

    /// The schema of one argument, local references followed.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        object(self.top(), "properties")?.get(name).map(|schema| resolve(&self.root, schema))
    }
}

/// Follows `$ref`s that stay inside the document. Anything else is returned unchanged.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut current = schema;
    // A reference may lead to a reference; a cycle of nothing but references ends here.
    for _ in 0..8 {
        let Some(pointer) = current.get("$ref").and_then(Value::as_str) else { break };
        let Some(target) = pointer.strip_prefix('#').and_then(|path| root.pointer(path)) else {
            break;
        };
        current = target;
    }
    current
}

pub(crate) fn object<'a>(schema: &'a Value, key: &str) -> Option<&'a Map<String, Value>> {
    schema.get(key).and_then(Value::as_object)
}

/// More required arguments than this are better read from the schema.
const MAX_REQUIRED_ARGUMENTS: usize = 4;
/// Without required arguments, all are shown when there are no more than this.
const MAX_OPTIONAL_ARGUMENTS: usize = 3;

/// Placeholders for the required arguments, or for all when none is required and there are few.
/// `None` when there is nothing to show, too much, or one whose type is unknown.
pub(crate) fn template(shape: &InputShape) -> Option<Map<String, Value>> {
    let required = shape.required();
    let names = if required.is_empty() { shape.accepted() } else { required };
    let most =
        if shape.required().is_empty() { MAX_OPTIONAL_ARGUMENTS } else { MAX_REQUIRED_ARGUMENTS };
    if names.is_empty() || names.len() > most {
        return None;
    }
    names
        .into_iter()
        .map(|name| Some((name.to_owned(), placeholder(shape.argument(name)?)?)))
        .collect()
}

fn placeholder(schema: &Value) -> Option<Value> {
    let scalar = |value: &&Value| !value.is_array() && !value.is_object();
    if let Some(options) = schema.get("enum").and_then(Value::as_array)
        && let Some(first) = options.iter().find(scalar)
    {
        return Some(first.clone());
    }
    let name = match schema.get("type")? {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null")?
        }
        _ => return None,
    };
    match name {
        "string" => Some(json!("")),
        "number" | "integer" => Some(json!(0)),
        "boolean" => Some(json!(false)),
        "array" => Some(json!([])),
        "object" => Some(json!({})),
        "null" => Some(Value::Null),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: Option<Value>) {
        assert_eq!(template(&InputShape { root: schema }).map(Value::Object), expected);
    }

    #[test]
    fn the_rules_of_the_template() {
        let text = json!({"type": "string"});
        check(json!({}), None);
        check(
            json!({"properties": {"a": text, "b": {"type": "integer"}}, "required": ["b"]}),
            Some(json!({"b": 0})),
        );
        check(
            json!({"properties": {"a": text, "b": {"enum": ["x", "y"]}, "c": {"type": ["null", "boolean"]}}}),
            Some(json!({"a": "", "b": "x", "c": false})),
        );
        check(json!({"properties": {"a": text, "b": text, "c": text, "d": text}}), None);
        check(
            json!({"properties": {"a": text, "b": text, "c": text, "d": text, "e": text},
                   "required": ["a", "b", "c", "d", "e"]}),
            None,
        );
        check(json!({"properties": {"a": {"anyOf": [text]}}, "required": ["a"]}), None);
        check(
            json!({"properties": {"a": {"$ref": "#/$defs/list"}}, "required": ["a"],
                   "$defs": {"list": {"type": "array"}}}),
            Some(json!({"a": []})),
        );
    }
}
