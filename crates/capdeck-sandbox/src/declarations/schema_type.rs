//! Converts JSON Schema to TypeScript types. References become named types, so recursive schemas end.

use std::collections::BTreeMap;

use capdeck_catalog::one_line;
use serde_json::{Map, Value};

/// The maximum object depth; deeper ones are `any`. Named types start at zero.
const MAX_OBJECT_DEPTH: usize = 8;

/// The maximum nesting of schemas, across references; deeper ones are `any`. Schemas are untrusted, and a chain of
/// references can have any length.
const MAX_NESTING: usize = 100;

const MAX_ENUM_VALUES: usize = 40;

const MAX_DOC_LENGTH: usize = 120;

#[derive(Debug, Default)]
pub(super) struct NamedTypes {
    /// By the referenced schema itself: tools of one capability often have the same definitions.
    named: Vec<(Value, String)>,
    bodies: BTreeMap<String, String>,
}

impl NamedTypes {
    pub(super) fn type_of(&mut self, schema: &Value, indent: usize) -> String {
        TypeWriter { root: schema, types: self, nesting: 0 }.kind(schema, indent, 0)
    }

    pub(super) fn declarations(&self) -> String {
        self.bodies.iter().map(|(name, body)| format!("type {name} = {body};\n")).collect()
    }

    pub(super) fn size(&self) -> usize {
        self.bodies.values().map(String::len).sum()
    }
}

struct TypeWriter<'a> {
    root: &'a Value,
    types: &'a mut NamedTypes,
    nesting: usize,
}

impl TypeWriter<'_> {
    fn kind(&mut self, schema: &Value, indent: usize, depth: usize) -> String {
        if self.nesting == MAX_NESTING {
            return "any".to_owned();
        }
        self.nesting += 1;
        let kind = self.kind_inside(schema, indent, depth);
        self.nesting -= 1;
        kind
    }

    fn kind_inside(&mut self, schema: &Value, indent: usize, depth: usize) -> String {
        let Some(members) = schema.as_object() else {
            return if *schema == Value::Bool(false) { "never" } else { "any" }.to_owned();
        };
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return self.reference(reference);
        }
        if let Some(constant) = members.get("const") {
            return constant.to_string();
        }
        if let Some(values) = members.get("enum").and_then(Value::as_array) {
            let mut shown: Vec<String> =
                values.iter().take(MAX_ENUM_VALUES).map(Value::to_string).collect();
            if values.len() > MAX_ENUM_VALUES {
                shown.push("(string & {})".to_owned());
            }
            return union(shown);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(options) = members.get(keyword).and_then(Value::as_array) {
                let options = options.iter().map(|option| self.kind(option, indent, depth));
                return union(options.collect());
            }
        }
        if let Some(parts) = members.get("allOf").and_then(Value::as_array) {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| self.kind(part, indent, depth))
                .map(|part| if part.contains(" | ") { format!("({part})") } else { part })
                .filter(|part| part != "any")
                .collect();
            return if parts.is_empty() { "any".to_owned() } else { parts.join(" & ") };
        }
        match members.get("type") {
            Some(Value::String(name)) => self.type_from_name(name, members, indent, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                union(names.map(|name| self.type_from_name(name, members, indent, depth)).collect())
            }
            _ if members.contains_key("properties") => self.object(members, indent, depth),
            _ => "any".to_owned(),
        }
    }

    fn type_from_name(
        &mut self,
        name: &str,
        members: &Map<String, Value>,
        indent: usize,
        depth: usize,
    ) -> String {
        match name {
            "string" | "boolean" | "null" => name.to_owned(),
            "integer" | "number" => "number".to_owned(),
            "array" => self.array(members, indent, depth),
            "object" => self.object(members, indent, depth),
            _ => "any".to_owned(),
        }
    }

    fn array(&mut self, members: &Map<String, Value>, indent: usize, depth: usize) -> String {
        if let Some(items) = members.get("prefixItems").and_then(Value::as_array) {
            let items: Vec<String> =
                items.iter().map(|item| self.kind(item, indent, depth)).collect();
            return format!("[{}]", items.join(", "));
        }
        let item = members
            .get("items")
            .map_or_else(|| "any".to_owned(), |item| self.kind(item, indent, depth));
        if item.contains(" | ") || item.contains(" & ") {
            format!("({item})[]")
        } else {
            format!("{item}[]")
        }
    }

    fn object(&mut self, members: &Map<String, Value>, indent: usize, depth: usize) -> String {
        let more = match members.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => Some(self.kind(schema, indent + 1, depth + 1)),
            _ => None,
        };
        let properties = members.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
            return match (more, members.get("additionalProperties")) {
                (Some(kind), _) => format!("Record<string, {kind}>"),
                (None, Some(Value::Bool(false))) => "{}".to_owned(),
                (None, _) => "Record<string, any>".to_owned(),
            };
        };
        if depth >= MAX_OBJECT_DEPTH {
            return "any".to_owned();
        }
        let required = members.get("required").and_then(Value::as_array);
        let inner = "  ".repeat(indent + 1);
        let mut text = "{\n".to_owned();
        for (name, schema) in properties {
            let given = required.is_some_and(|names| names.iter().any(|known| known == name));
            let mark = if given { "" } else { "?" };
            let doc =
                schema.get("description").and_then(Value::as_str).map(doc).unwrap_or_default();
            let kind = self.kind(schema, indent + 1, depth + 1);
            text.push_str(&format!("{inner}{doc}{}{mark}: {kind};\n", key(name)));
        }
        if let Some(kind) = more {
            text.push_str(&format!("{inner}[name: string]: {kind} | any;\n"));
        }
        text.push_str(&"  ".repeat(indent));
        text.push('}');
        text
    }

    fn reference(&mut self, reference: &str) -> String {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else { return "any".to_owned() };
        if let Some((_, name)) = self.types.named.iter().find(|(known, _)| known == target) {
            return name.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or_default();
        let wanted = pascal(last);
        let taken = |name: &str| self.types.named.iter().any(|(_, known)| known == name);
        let name = (1..)
            .map(|number| if number == 1 { wanted.clone() } else { format!("{wanted}{number}") })
            .find(|name| !taken(name))
            .unwrap_or(wanted.clone());
        let target = target.clone();
        self.types.named.push((target.clone(), name.clone()));
        let body = self.kind(&target, 0, 0);
        // A reference only to itself means any value.
        let body = if body == name { "any".to_owned() } else { body };
        self.types.bodies.insert(name.clone(), body);
        name
    }
}

fn doc(text: &str) -> String {
    let mut line = one_line(text).replace("*/", "* /");
    if line.len() > MAX_DOC_LENGTH {
        line.truncate(line.floor_char_boundary(MAX_DOC_LENGTH));
        line.push('…');
    }
    if line.is_empty() { line } else { format!("/** {line} */ ") }
}

fn union(options: Vec<String>) -> String {
    let mut shown: Vec<String> = Vec::new();
    for option in options {
        if !shown.contains(&option) {
            shown.push(option);
        }
    }
    if shown.is_empty() { "never".to_owned() } else { shown.join(" | ") }
}

/// Returns a property name: bare if it is an identifier, else quoted.
pub(super) fn key(name: &str) -> String {
    let starts =
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '$');
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    if starts && name.chars().all(legal) { name.to_owned() } else { Value::from(name).to_string() }
}

/// Returns a type name: `my-api` becomes `MyApi`.
pub(super) fn pascal(name: &str) -> String {
    let mut text = String::new();
    let mut upper = true;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() {
            upper = true;
        } else if upper {
            text.extend(letter.to_uppercase());
            upper = false;
        } else {
            text.push(letter);
        }
    }
    if text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()) {
        text.insert(0, 'T');
    }
    text
}
