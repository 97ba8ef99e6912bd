//! Which JSON types a schema allows, as far as it says so plainly.

use serde_json::Value;

/// References deeper than this are a circle.
const MAX_DEPTH: usize = 8;
/// Schemas that are looked at for one argument. Alternatives that refer to alternatives multiply.
const MAX_SCHEMAS: usize = 1_000;

/// The types a value may have. All false means the schema does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Types {
    pub(super) string: bool,
    pub(super) array: bool,
    pub(super) number: bool,
    pub(super) integer: bool,
    pub(super) boolean: bool,
    pub(super) object: bool,
    pub(super) null: bool,
}

impl Types {
    /// The types `schema` allows, with references looked up in `root`.
    pub(super) fn of(schema: Option<&Value>, root: &Value) -> Self {
        let mut types = Self::default();
        if let Some(schema) = schema {
            let mut budget = MAX_SCHEMAS;
            types.collect(schema, root, 0, &mut budget);
        }
        types
    }

    /// True when this JSON text is of an allowed type and could not as well be meant as a string.
    pub(super) fn takes(self, json: &str) -> bool {
        match json.as_bytes().first() {
            Some(b'[') => self.array,
            Some(b'{') => self.object,
            Some(b't' | b'f') => self.boolean && !self.string,
            Some(b'n') => self.null && !self.string,
            Some(b'-' | b'0'..=b'9') => (self.number || self.integer) && !self.string,
            _ => false,
        }
    }

    /// True when nothing is said about the type.
    pub(super) fn is_open(self) -> bool {
        self == Self::default()
    }

    /// True when a boolean is the only thing allowed, so that its name alone says enough.
    pub(super) fn is_only_boolean(self) -> bool {
        self == Self { boolean: true, null: self.null, ..Self::default() }
    }

    fn collect(&mut self, schema: &Value, root: &Value, depth: usize, budget: &mut usize) {
        if depth > MAX_DEPTH || *budget == 0 {
            return;
        }
        *budget -= 1;
        let schema = resolve(schema, root);
        match schema.get("type") {
            Some(Value::String(name)) => self.name(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).for_each(|name| self.name(name));
            }
            _ => {}
        }
        for value in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
            self.value(value);
        }
        if let Some(value) = schema.get("const") {
            self.value(value);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for branch in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.collect(branch, root, depth + 1, budget);
            }
        }
    }

    fn name(&mut self, name: &str) {
        match name {
            "string" => self.string = true,
            "number" => self.number = true,
            "integer" => self.integer = true,
            "boolean" => self.boolean = true,
            "array" => self.array = true,
            "object" => self.object = true,
            "null" => self.null = true,
            _ => {}
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null = true,
            Value::Bool(_) => self.boolean = true,
            Value::Number(_) => self.number = true,
            Value::String(_) => self.string = true,
            Value::Array(_) => self.array = true,
            Value::Object(_) => self.object = true,
        }
    }
}

/// The schema of one property of an object schema.
pub(super) fn property<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    resolve(schema, schema).get("properties")?.get(key)
}

/// The schema of a list's items, also when the list is one of several forms.
pub(super) fn items<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    let schema = resolve(schema, root);
    let direct = schema.get("items");
    direct.or_else(|| {
        let branches = ["anyOf", "oneOf", "allOf"].into_iter();
        branches
            .filter_map(|key| schema.get(key)?.as_array())
            .flatten()
            .find_map(|branch| resolve(branch, root).get("items"))
    })
}

/// The schema that a reference leads to.
pub(super) fn resolve<'a>(mut schema: &'a Value, root: &'a Value) -> &'a Value {
    for _ in 0..MAX_DEPTH {
        let target =
            schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Thirty ways to thirty ways, and so on: all of them are more than can be looked at.
    #[test]
    fn alternatives_that_refer_to_themselves_end() {
        let mut ways = vec![json!({"$ref": "#/$defs/A"}); 30];
        ways.insert(0, json!({"type": "integer"}));
        let root = json!({"$defs": {"A": {"anyOf": ways}}});
        let types = Types::of(Some(&json!({"$ref": "#/$defs/A"})), &root);
        assert!(types.integer && !types.string);
    }
}
