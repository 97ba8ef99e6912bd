//! Discovery schemas as JSON Schema 2020-12, complete in themselves.
//!
//! A type that is used once stands where it is used. One that is used more often, by itself included, becomes an entry of
//! `$defs`, so that nothing grows without end and recursive types stay exact. A part that cannot be read accepts anything
//! and is reported.

mod scalar;

use std::collections::{BTreeSet, HashMap};

use capdeck_catalog::is_sound_pattern;
use serde_json::{Map, Value, json};

pub(super) use self::scalar::number;
use self::scalar::{default_value, describe};

/// Types that are used once are put in place down to this depth, which keeps the recursion here bounded.
const DEEPEST_IN_PLACE: usize = 8;

/// Which way the described value travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the API: unknown members are refused, and what only the API sets is not spelled out.
    Input,
    /// From the API: it may say more than the document knows.
    Output,
}

/// A part of the document that could not be read: where and why.
pub(super) type Flaws = BTreeSet<(String, String)>;

/// Converts what one method takes or gives.
#[derive(Debug)]
pub(super) struct SchemaWriter<'d> {
    schemas: &'d Map<String, Value>,
    direction: Direction,
    /// Some members are required by some methods only. `None` requires nothing.
    method: Option<&'d str>,
    uses: HashMap<&'d str, usize>,
    /// Types that still have to be written to `$defs`.
    pending: Vec<&'d str>,
    definitions: Map<String, Value>,
    /// Where in the document the writer is.
    place: Vec<&'d str>,
}

impl<'d> SchemaWriter<'d> {
    /// A writer for schemas that are all below one root, which [`Self::count`] has to be told of first.
    pub(super) fn new(
        schemas: &'d Map<String, Value>,
        direction: Direction,
        method: &'d str,
    ) -> Self {
        Self {
            schemas,
            direction,
            method: Some(method),
            uses: HashMap::new(),
            pending: Vec::new(),
            definitions: Map::new(),
            place: vec![method],
        }
    }

    /// Leaves every member optional.
    pub(super) fn without_required(self) -> Self {
        Self { method: None, ..self }
    }

    /// Counts the uses of every type below this schema.
    pub(super) fn count(&mut self, schema: &'d Value) {
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
                let Some((name, target)) = self.schemas.get_key_value(name) else { continue };
                let uses = self.uses.entry(name).or_default();
                *uses += 1;
                if *uses == 1 {
                    open.push(target);
                }
                continue;
            }
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                open.extend(properties.values().filter(|property| !self.is_left_out(property)));
            }
            open.extend(schema.get("items"));
            open.extend(schema.get("additionalProperties"));
        }
    }

    /// The JSON Schema of a schema that was counted.
    pub(super) fn write(&mut self, schema: &'d Value, flaws: &mut Flaws) -> Value {
        let written = self.convert(schema, 0, flaws);
        while let Some(name) = self.pending.pop() {
            if let Some(schema) = self.schemas.get(name) {
                let outer = std::mem::replace(&mut self.place, vec!["schemas", name]);
                let definition = self.convert(schema, 0, flaws);
                self.place = outer;
                self.definitions.insert(name.to_owned(), definition);
            }
        }
        written
    }

    /// The types that are used more than once, for the root's `$defs`.
    pub(super) fn definitions(mut self) -> Map<String, Value> {
        self.definitions.sort_keys();
        self.definitions
    }

    /// What only the API sets is accepted, so that a resource can be sent back as it came, but not described.
    fn is_left_out(&self, property: &Value) -> bool {
        self.direction == Direction::Input && property.get("readOnly") == Some(&Value::Bool(true))
    }

    fn convert(&mut self, schema: &'d Value, depth: usize, flaws: &mut Flaws) -> Value {
        let Some(members) = schema.as_object() else {
            return self.flaw("this is not a schema", flaws);
        };
        if let Some(name) = members.get("$ref") {
            return self.refer(name, members, depth, flaws);
        }
        let mut written = Map::new();
        let kind = members.get("type").and_then(Value::as_str);
        if members.get("repeated") == Some(&Value::Bool(true)) {
            written.insert("type".into(), "array".into());
            written.insert("items".into(), self.typed(members, kind, depth, flaws).into());
        } else {
            written = self.typed(members, kind, depth, flaws);
        }
        if let Some(default) = default_value(members) {
            written.insert("default".into(), default);
        }
        describe(members, &mut written);
        Value::Object(written)
    }

    /// A type by its name, with what is said about it at this place.
    fn refer(
        &mut self,
        name: &'d Value,
        members: &'d Map<String, Value>,
        depth: usize,
        flaws: &mut Flaws,
    ) -> Value {
        let known = name.as_str().and_then(|name| self.schemas.get_key_value(name));
        let Some((name, target)) = known else {
            return self.flaw(&format!("there is no schema {name}"), flaws);
        };
        let is_used_once = self.uses.get(name.as_str()) == Some(&1);
        let mut written = if is_used_once && depth < DEEPEST_IN_PLACE {
            let outer = std::mem::replace(&mut self.place, vec!["schemas", name]);
            let written = self.convert(target, depth + 1, flaws);
            self.place = outer;
            written
        } else {
            if !self.definitions.contains_key(name) {
                // Holds the place, so that the type is written once however often it is met.
                self.definitions.insert(name.clone(), Value::Null);
                self.pending.push(name);
            }
            let pointer = name.replace('~', "~0").replace('/', "~1");
            json!({ "$ref": format!("#/$defs/{pointer}") })
        };
        if let Value::Object(written) = &mut written {
            describe(members, written);
        }
        written
    }

    fn typed(
        &mut self,
        members: &'d Map<String, Value>,
        kind: Option<&str>,
        depth: usize,
        flaws: &mut Flaws,
    ) -> Map<String, Value> {
        match kind {
            Some("object") => self.object(members, depth, flaws),
            None if members.contains_key("properties") => self.object(members, depth, flaws),
            Some("array") => {
                let items = members.get("items").map(|items| self.convert(items, depth, flaws));
                let items = items.unwrap_or_else(|| json!({}));
                Map::from_iter([("type".into(), "array".into()), ("items".into(), items)])
            }
            Some(kind @ ("string" | "integer" | "number" | "boolean")) => {
                let mut written = scalar::constrained(members, kind, self.direction);
                let pattern = written.get("pattern").and_then(Value::as_str);
                if let Some(pattern) = pattern.filter(|pattern| !is_sound_pattern(pattern)) {
                    let reason = format!(
                        "`{pattern}` is no regular expression that can be checked; any text is accepted there"
                    );
                    self.flaw(&reason, flaws);
                    written.remove("pattern");
                }
                written
            }
            Some("null") => Map::from_iter([("type".into(), "null".into())]),
            None | Some("any") => Map::new(),
            Some(other) => {
                self.flaw(&format!("there is no type `{other}`"), flaws);
                Map::new()
            }
        }
    }

    fn object(
        &mut self,
        members: &'d Map<String, Value>,
        depth: usize,
        flaws: &mut Flaws,
    ) -> Map<String, Value> {
        let mut written = Map::from_iter([("type".into(), "object".into())]);
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, property) in
            members.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            self.place.push(name);
            let converted = if self.is_left_out(property) {
                json!({ "readOnly": true })
            } else {
                self.convert(property, depth, flaws)
            };
            self.place.pop();
            properties.insert(name.clone(), converted);
            let is_required = self.method.is_some_and(|method| is_required(property, method));
            if is_required && self.direction == Direction::Input {
                required.push(Value::from(name.as_str()));
            }
        }
        let is_open = match members.get("additionalProperties") {
            Some(Value::Bool(is_open)) => Value::Bool(*is_open),
            Some(schema) => {
                self.place.push("*");
                let converted = self.convert(schema, depth, flaws);
                self.place.pop();
                converted
            }
            None => Value::Bool(!members.contains_key("properties")),
        };
        if !properties.is_empty() {
            written.insert("properties".into(), properties.into());
        }
        if !required.is_empty() {
            written.insert("required".into(), required.into());
        }
        let says_nothing = is_open == Value::Bool(true)
            || (is_open == Value::Bool(false) && self.direction == Direction::Output);
        if !says_nothing {
            written.insert("additionalProperties".into(), is_open);
        }
        written
    }

    /// Accepts anything and tells why.
    fn flaw(&self, reason: &str, flaws: &mut Flaws) -> Value {
        flaws.insert((self.place.join("."), reason.to_owned()));
        json!({})
    }
}

/// True when the document says that this method needs the member.
pub(super) fn is_required(property: &Value, method: &str) -> bool {
    let methods = property.pointer("/annotations/required").and_then(Value::as_array);
    methods.is_some_and(|methods| methods.iter().any(|name| name == method))
}

#[cfg(test)]
mod tests;
