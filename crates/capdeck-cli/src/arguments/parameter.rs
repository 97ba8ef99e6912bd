//! The arguments a schema knows, as flags.

use std::collections::BTreeSet;

use capdeck_catalog::{command_word, nearest};
use serde_json::Value;

/// Schemas and references nested deeper than this are a circle.
const MAX_DEPTH: usize = 8;

/// One argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolParameter<'s> {
    /// The name in the schema.
    pub(crate) name: &'s str,
    pub(crate) schema: &'s Value,
    pub(crate) is_required: bool,
    /// Whether another argument would be typed alike, so that only the name itself tells them apart.
    is_ambiguous: bool,
    pub(super) root: &'s Value,
}

/// All arguments of an object schema.
#[derive(Debug)]
pub(crate) struct ToolParameters<'s> {
    all: Vec<ToolParameter<'s>>,
    /// What further arguments look like, where the schema allows any.
    pub(super) further: Option<&'s Value>,
    root: &'s Value,
}

/// Why a flag names no argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParameterError {
    Unknown { nearest: Option<String> },
    Ambiguous { names: Vec<String> },
}

impl<'s> ToolParameters<'s> {
    /// The arguments of a tool's input schema.
    pub(crate) fn from_schema(root: &'s Value) -> Self {
        Self::within(root, root)
    }

    /// The members of an object schema inside `root`.
    pub(super) fn within(schema: &'s Value, root: &'s Value) -> Self {
        let mut parameters = Self { all: Vec::new(), further: None, root };
        parameters.collect(schema, true, 0);
        let words: Vec<String> = parameters.all.iter().map(|one| command_word(one.name)).collect();
        for (one, word) in parameters.all.iter_mut().zip(&words) {
            one.is_ambiguous = words.iter().filter(|other| *other == word).count() > 1;
        }
        let schema = resolve(schema, root);
        parameters.further = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(further @ (Value::Object(_) | Value::Bool(true))) => Some(further),
            // Most schemas do not say. Where they name nothing at all, anything goes.
            _ if parameters.all.is_empty() => Some(&Value::Null),
            _ => None,
        };
        parameters
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ToolParameter<'s>> {
        self.all.iter()
    }

    pub(super) fn find(&self, flag: &str) -> Result<ToolParameter<'s>, ParameterError> {
        if let Some(exact) = self.all.iter().find(|one| one.name == flag) {
            return Ok(*exact);
        }
        let wanted = command_word(flag);
        let same: Vec<_> = self.all.iter().filter(|one| command_word(one.name) == wanted).collect();
        match same.as_slice() {
            [one] => Ok(**one),
            [] => {
                let flags: Vec<String> = self.all.iter().map(ToolParameter::flag).collect();
                let near = nearest(flag, flags.iter().map(String::as_str));
                Err(ParameterError::Unknown { nearest: near.map(str::to_owned) })
            }
            several => Err(ParameterError::Ambiguous {
                names: several.iter().map(|one| one.name.to_owned()).collect(),
            }),
        }
    }

    /// Members of the schema, of what it is made of, and of its alternatives. Only what always holds is required.
    fn collect(&mut self, schema: &'s Value, always: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let root = self.root;
        let schema = resolve(schema, root);
        let required = schema.get("required").and_then(Value::as_array).filter(|_| always);
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if !self.all.iter().any(|known| known.name == name) {
                self.all.push(ToolParameter::further(name, property, root));
            }
        }
        for (key, always) in [("allOf", always), ("anyOf", false), ("oneOf", false)] {
            for branch in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.collect(branch, always, depth + 1);
            }
        }
        for known in &mut self.all {
            known.is_required |=
                required.is_some_and(|names| names.iter().any(|name| name == known.name));
        }
    }
}

impl<'s> ToolParameter<'s> {
    /// One of which nothing is known but its schema.
    pub(super) fn further(name: &'s str, schema: &'s Value, root: &'s Value) -> Self {
        Self { name, schema, is_required: false, is_ambiguous: false, root }
    }

    /// The name as a flag, without the hyphens before it.
    pub(crate) fn flag(&self) -> String {
        if self.is_ambiguous { self.name.to_owned() } else { command_word(self.name) }
    }

    pub(super) fn types(&self) -> SchemaTypes {
        SchemaTypes::from_schema(Some(self.schema), self.root)
    }

    /// True when its name alone says enough, and `--no-…` the opposite.
    pub(crate) fn is_switch(&self) -> bool {
        self.types().is_only_boolean()
    }

    /// True when it may be given several times.
    pub(crate) fn is_list(&self) -> bool {
        self.types().has("array")
    }

    /// True for a list whose items may be separated by commas.
    pub(crate) fn takes_commas(&self) -> bool {
        let item = self.item().types();
        self.is_list() && !self.types().has("string") && !item.has("object") && !item.has("array")
    }

    /// The members, if it is an object.
    pub(crate) fn members(&self) -> ToolParameters<'s> {
        ToolParameters::within(self.schema, self.root)
    }

    /// One item, if it is a list.
    pub(super) fn item(&self) -> ToolParameter<'s> {
        let schema = items(self.schema, self.root).unwrap_or(&Value::Null);
        ToolParameter { schema, is_required: false, ..*self }
    }

    /// The values it is limited to, if it is limited.
    pub(crate) fn choices(&self) -> Option<Vec<&'s Value>> {
        choices(self.schema, self.root, 0)
    }

    /// The choices of the value itself, or of the items of a list.
    pub(crate) fn words(&self) -> Option<Vec<&'s Value>> {
        self.choices().or_else(|| if self.is_list() { self.item().choices() } else { None })
    }

    /// One member of its schema that is a text, such as `description`.
    pub(crate) fn text(&self, key: &str) -> Option<&'s str> {
        self.fact(key).and_then(Value::as_str)
    }

    /// One member of its schema.
    pub(crate) fn fact(&self, key: &str) -> Option<&'s Value> {
        self.schema.get(key).or_else(|| resolve(self.schema, self.root).get(key))
    }

    /// What a value looks like, in a few words.
    pub(crate) fn label(&self) -> String {
        if let Some(choices) = self.choices() {
            return choices.iter().map(|choice| plain(choice)).collect::<Vec<_>>().join("|");
        }
        let types = self.types();
        if types.has("array") {
            let item = self.item();
            let one = if item.types().has("array") { "JSON".to_owned() } else { item.label() };
            return if types.has("string") { format!("string|{one}") } else { one };
        }
        let mut names = ["string", "integer", "number", "boolean"].to_vec();
        names.retain(|name| types.has(name) && (*name != "integer" || !types.has("number")));
        names.extend(types.has("object").then_some("JSON"));
        if names.is_empty() { "value".to_owned() } else { names.join("|") }
    }
}

/// A choice as it is typed.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The closed list of values of a schema; alternatives count when each of them is closed.
fn choices<'s>(schema: &'s Value, root: &'s Value, depth: usize) -> Option<Vec<&'s Value>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let schema = resolve(schema, root);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().collect());
    }
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    let branches = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
    let mut all = Vec::new();
    for branch in branches {
        if resolve(branch, root).get("type").is_some_and(|kind| kind == "null") {
            all.push(&Value::Null);
        } else {
            all.extend(choices(branch, root, depth + 1)?);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// The required arguments that are not among those given.
pub(super) fn missing<'p, 's>(
    parameters: &'p ToolParameters<'s>,
    given: &'p capdeck_host::RawMembers,
) -> impl Iterator<Item = &'p ToolParameter<'s>> {
    parameters.all.iter().filter(|one| one.is_required && !given.contains_key(one.name))
}

/// Schemas that are looked at for one argument. Alternatives that refer to alternatives multiply.
const MAX_SCHEMAS: usize = 1_000;

const TYPES: [&str; 7] = ["string", "array", "number", "integer", "boolean", "object", "null"];

/// The types a value may have. None at all means the schema does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SchemaTypes(BTreeSet<&'static str>);

impl SchemaTypes {
    /// The types `schema` allows, with references looked up in `root`.
    pub(super) fn from_schema(schema: Option<&Value>, root: &Value) -> Self {
        let mut types = Self::default();
        if let Some(schema) = schema {
            let mut budget = MAX_SCHEMAS;
            types.collect(schema, root, 0, &mut budget);
        }
        types
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// True when this JSON text is of an allowed type and could not as well be meant as a string.
    pub(super) fn takes(&self, json: &str) -> bool {
        let names: &[&str] = match json.as_bytes().first() {
            Some(b'[') => return self.has("array"),
            Some(b'{') => return self.has("object"),
            Some(b't' | b'f') => &["boolean"],
            Some(b'n') => &["null"],
            Some(b'-' | b'0'..=b'9') => &["number", "integer"],
            _ => &[],
        };
        names.iter().any(|name| self.has(name)) && !self.has("string")
    }

    /// True when nothing is said about the type.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// True when a boolean is the only thing allowed, so that its name alone says enough.
    pub(super) fn is_only_boolean(&self) -> bool {
        self.has("boolean") && self.0.iter().all(|name| matches!(*name, "boolean" | "null"))
    }

    fn collect(&mut self, schema: &Value, root: &Value, depth: usize, budget: &mut usize) {
        if depth > MAX_DEPTH || *budget == 0 {
            return;
        }
        *budget -= 1;
        let schema = resolve(schema, root);
        let declared = match schema.get("type") {
            Some(Value::Array(names)) => names.as_slice(),
            Some(name) => std::slice::from_ref(name),
            None => &[],
        };
        let known = |name: &str| TYPES.into_iter().find(|known| *known == name);
        self.0.extend(declared.iter().filter_map(Value::as_str).filter_map(known));
        let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        self.0.extend(values.chain(schema.get("const")).map(type_of));
        for key in ["anyOf", "oneOf", "allOf"] {
            for branch in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.collect(branch, root, depth + 1, budget);
            }
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The schema of a member, in one of the forms an object may have.
pub(super) fn property<'a>(schema: &'a Value, root: &'a Value, key: &str) -> Option<&'a Value> {
    let members = ToolParameters::within(schema, root);
    members.all.iter().find(|one| one.name == key).map(|one| one.schema)
}

/// The schema of a list's items, also when the list is one of several forms.
pub(super) fn items<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    let schema = resolve(schema, root);
    schema.get("items").or_else(|| {
        let branches = ["anyOf", "oneOf", "allOf"].into_iter();
        let mut branches = branches.filter_map(|key| schema.get(key)?.as_array()).flatten();
        branches.find_map(|branch| resolve(branch, root).get("items"))
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
        let types = SchemaTypes::from_schema(Some(&json!({"$ref": "#/$defs/A"})), &root);
        assert!(types.has("integer") && !types.has("string"));
    }
}
