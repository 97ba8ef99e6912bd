//! The top level of a tool's input schema: which arguments there are and which must be given.

use serde_json::{Map, Value};

use crate::Tool;

/// The arguments a tool declares. Empty when there is no schema or it cannot be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputShape {
    root: Value,
    properties: Vec<String>,
    required: Vec<String>,
}

impl InputShape {
    pub(crate) fn of(tool: &Tool) -> Self {
        let schema = tool.input_schema().and_then(|raw| serde_json::from_str(raw.get()).ok());
        schema.map(Self::from_schema).unwrap_or_default()
    }

    pub(crate) fn from_schema(root: Value) -> Self {
        let top = resolve(&root, &root);
        let properties = object(top, "properties").map(|map| map.keys().cloned().collect());
        let required = top.get("required").and_then(Value::as_array).map(|names| {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        });
        Self {
            properties: properties.unwrap_or_default(),
            required: required.unwrap_or_default(),
            root,
        }
    }

    /// Every declared argument, in the order of the schema; required ones it forgot to declare come last.
    pub(crate) fn accepted(&self) -> Vec<&str> {
        let undeclared = self.required.iter().filter(|name| !self.properties.contains(name));
        self.properties.iter().chain(undeclared).map(String::as_str).collect()
    }

    /// The arguments that must be given, in the order of the schema.
    pub(crate) fn required(&self) -> Vec<&str> {
        self.accepted().into_iter().filter(|name| self.is_required(name)).collect()
    }

    pub(crate) fn is_required(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }

    /// The schema of one argument, local references followed.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        let top = resolve(&self.root, &self.root);
        object(top, "properties")?.get(name).map(|schema| resolve(&self.root, schema))
    }

    /// The whole schema, which local references point into.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }
}

/// Follows `$ref`s that stay inside the document. Anything else is returned as it stands.
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
