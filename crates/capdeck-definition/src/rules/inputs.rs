//! Mistakes in actions that no schema of the format sees: arguments that nothing declares, types that do not exist, whole
//! command lines where a program is named.

use serde_json::{Map, Value};

use crate::{
    HttpAction,
    diagnostic::{FileFindings, TextPosition},
    document::{NodeValue, ValueNode},
    suggest::{nearest_key, quoted_list},
};

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
/// Keywords whose value is a map of schemas.
const MAPS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is a schema or a list of schemas.
const SCHEMAS: [&str; 9] = [
    "items",
    "prefixItems",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "then",
    "else",
];
/// Keywords that make what an object has more than its `properties` say.
const OPEN_KEYWORDS: [&str; 6] =
    ["$ref", "anyOf", "oneOf", "allOf", "patternProperties", "propertyNames"];

/// What an action may take from its caller.
pub(super) struct DeclaredInputs<'a>(pub(super) Option<&'a Map<String, Value>>);

impl DeclaredInputs<'_> {
    /// Warns of every `$input.name` in a text that no schema has.
    pub(super) fn check_text(&self, text: &str, place: TextPosition, findings: &mut FileFindings) {
        for rest in text.split("$input.").skip(1) {
            let is_path = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
            let length = rest.find(|letter| !is_path(letter)).unwrap_or(rest.len());
            let path = rest.get(..length).unwrap_or_default().trim_end_matches('.');
            if !path.is_empty() {
                self.check(path, &format!("$input.{path}"), place, findings);
            }
        }
    }

    /// The same for what an HTTP action sends. There only a whole text is a reference.
    pub(super) fn check_action(
        &self,
        action: &HttpAction,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) {
        let place = node.child("path").place;
        for rest in action.path.split('{').skip(1) {
            if let Some((name, _)) = rest.split_once('}') {
                self.check(name, &format!("{{{name}}}"), place, findings);
            }
        }
        for key in ["query", "headers", "jsonBody"] {
            if let Some(values) = node.get(key) {
                self.check_values(values, findings);
            }
        }
    }

    fn check_values(&self, node: &ValueNode, findings: &mut FileFindings) {
        match &node.content {
            NodeValue::Text(text) => {
                if let Some(path) = text.strip_prefix("$input.") {
                    self.check(path, text, node.place, findings);
                }
            }
            NodeValue::List(items) => {
                items.iter().for_each(|item| self.check_values(item, findings));
            }
            NodeValue::Map(entries) => {
                entries.values().for_each(|entry| self.check_values(&entry.value, findings));
            }
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) => {}
        }
    }

    fn check(&self, path: &str, written: &str, place: TextPosition, findings: &mut FileFindings) {
        let Some((name, near)) = self.missing(path) else { return };
        let fix = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("add `{name}` to the `properties` of `inputSchema`"),
        };
        let message = format!("`{written}` takes an argument that no schema has");
        findings.at(place).warning("unknown-input", message, fix);
    }

    /// The first name of a dotted path that its schema does not have, with one like it.
    fn missing<'p>(&self, path: &'p str) -> Option<(&'p str, Option<String>)> {
        let Some(mut schema) = self.0 else {
            return Some((path.split('.').next().unwrap_or(path), None));
        };
        for (depth, name) in path.split('.').enumerate() {
            let properties = schema.get("properties").and_then(Value::as_object);
            if let Some(known) = properties.and_then(|properties| properties.get(name)) {
                match known.as_object() {
                    Some(inner) => schema = inner,
                    None => return None,
                }
                continue;
            }
            let further = schema.get("additionalProperties");
            let is_open = further.is_some_and(|further| *further != Value::Bool(false))
                || OPEN_KEYWORDS.iter().any(|keyword| schema.contains_key(*keyword));
            // Inside an argument, nothing said about its members allows any.
            if is_open || (depth > 0 && properties.is_none()) {
                return None;
            }
            let names = properties.into_iter().flat_map(|all| all.keys().map(String::as_str));
            return Some((name, nearest_key(name, names).map(str::to_owned)));
        }
        None
    }
}

/// Warns of types that JSON Schema does not have: such a schema checks nothing.
pub(super) fn check_types(schema: &ValueNode, findings: &mut FileFindings) {
    let names = match schema.get("type") {
        Some(one) if one.items().is_empty() => std::slice::from_ref(one),
        Some(list) => list.items(),
        None => &[],
    };
    for name in names {
        let Some(text) = name.text().filter(|text| !TYPES.contains(text)) else { continue };
        let fix = match nearest_key(text, TYPES) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use {}", quoted_list(TYPES)),
        };
        let message = format!("there is no type `{text}`");
        findings.at(name.place).warning("unknown-type", message, fix);
    }
    for key in MAPS {
        for entry in schema.get(key).into_iter().flat_map(|map| map.entries().values()) {
            check_types(&entry.value, findings);
        }
    }
    for key in SCHEMAS {
        let Some(inner) = schema.get(key) else { continue };
        match &inner.content {
            NodeValue::List(items) => items.iter().for_each(|one| check_types(one, findings)),
            NodeValue::Map(_) => check_types(inner, findings),
            _ => {}
        }
    }
}

/// Warns of a command line in place of a program: it is started without a shell, so no program of that name is found.
pub(super) fn check_program(command: &str, place: TextPosition, findings: &mut FileFindings) {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return };
    let arguments: Vec<&str> = words.collect();
    // The path of a program may hold blanks.
    let is_path =
        program.contains(['/', '\\']) && !arguments.iter().any(|word| word.starts_with('-'));
    if arguments.is_empty() || is_path || command.contains("$input") {
        return;
    }
    let listed: Vec<String> = arguments.iter().map(|word| Value::from(*word).to_string()).collect();
    findings.at(place).warning(
        "command-line",
        format!("`command` names a program, and `{command}` is a program with arguments"),
        format!("write `command: {program}` and put `{}` before `args`", listed.join(", ")),
    );
}
