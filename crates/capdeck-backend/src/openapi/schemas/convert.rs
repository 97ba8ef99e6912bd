//! One schema in the dialect of a description, rewritten as JSON Schema 2020-12.
//!
//! Nothing here fails: a part that means nothing is left out, so that the checker accepts more rather than nothing, and
//! reported as a problem when it was plainly meant to mean something.

use serde_json::{Map, Value, json};

use super::{SchemaConverter, SchemaDefinitionId, SchemaDirection};
use crate::{api_connection::ImportProblems, openapi::document::OpenApiNode};

/// Examples longer than this as JSON are left out.
const MAX_EXAMPLE_LENGTH: usize = 160;

/// The conversion of one definition, or of one tool's own schema.
pub(super) struct SchemaConversion<'s, 'a> {
    pub(super) schemas: &'s mut SchemaConverter<'a>,
    pub(super) direction: SchemaDirection,
    pub(super) place: &'s str,
    pub(super) problems: &'s mut ImportProblems,
    pub(super) needs: Vec<SchemaDefinitionId>,
}

impl<'a> SchemaConversion<'_, 'a> {
    /// A schema whose own reference, if it is one, is replaced by what it leads to.
    pub(super) fn root(&mut self, node: OpenApiNode<'a>) -> Value {
        match self.schemas.document.follow(node) {
            Ok(target) => self.plain(target),
            Err(reason) => self.broken(reason),
        }
    }

    pub(super) fn schema(&mut self, node: OpenApiNode<'a>) -> Value {
        let Some(reference) = node.reference() else { return self.plain(node) };
        let target = match self.schemas.document.follow(node) {
            Ok(target) => target,
            Err(reason) => return self.broken(reason),
        };
        let mut schema = if is_leaf(target.value) {
            self.plain(target)
        } else {
            let id = self.schemas.define(target, reference, self.direction);
            self.needs.push(id);
            let name = self.schemas.definition(id).map(|one| one.name.as_str()).unwrap_or_default();
            json!({"$ref": format!("#/$defs/{name}")})
        };
        // What is beside a reference counts since 3.1, and authors meant it before that, too.
        if let Value::Object(members) = &mut schema {
            for key in ["title", "description", "default", "deprecated"] {
                if let Some(beside) = node.value.get(key).filter(|_| self.keeps(key)) {
                    members.insert(key.to_owned(), beside.clone());
                }
            }
        }
        if node.is_true("nullable") { allow_null(schema) } else { schema }
    }

    fn broken(&mut self, reason: String) -> Value {
        self.problems.add(self.place, format!("{reason}; any value is accepted there"));
        json!({})
    }

    fn plain(&mut self, node: OpenApiNode<'a>) -> Value {
        let members = match node.value {
            Value::Object(members) => members,
            Value::Bool(truth) => return Value::Bool(*truth),
            _ => {
                return self.broken("a schema is neither an object nor a boolean".to_owned());
            }
        };
        let mut schema = Map::new();
        if let Some(types) = members.get("type") {
            match sound_types(types) {
                Ok(types) => schema.extend(types.map(|types| ("type".to_owned(), types))),
                Err(reason) => self.problems.add(self.place, reason),
            }
        }
        for (key, member) in node.members() {
            if let Some(value) = self.member(key, member).filter(|_| self.keeps(key)) {
                schema.insert(renamed(key).to_owned(), value);
            }
        }
        // A member that only the server sets, and that may be sent back as it came.
        if node.is_true("x-read-only") {
            schema.insert("readOnly".to_owned(), true.into());
        }
        self.tidy(node, &mut schema);
        let schema = Value::Object(schema);
        if node.is_true("nullable") || node.is_true("x-nullable") {
            allow_null(schema)
        } else {
            schema
        }
    }

    /// The value of one keyword. `None` when it makes no sense, or is one of the many that only tools for people read.
    fn member(&mut self, key: &str, node: OpenApiNode<'a>) -> Option<Value> {
        let value = node.value;
        match key {
            "title" | "description" | "format" | "contentMediaType" | "contentEncoding" => {
                value.as_str().map(|text| text.trim().into())
            }
            "pattern" => {
                let pattern = value.as_str()?;
                if self.is_sound_pattern(pattern) {
                    return Some(pattern.into());
                }
                let reason = format!(
                    "`{pattern}` is no regular expression that can be checked; any text is accepted there"
                );
                self.problems.add(self.place, reason);
                None
            }
            "uniqueItems" | "deprecated" => value.as_bool().map(Value::Bool),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                number(value)
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => number(value)
                .filter(|number| number.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0))
                .map(|number| number.as_f64().map_or(number.clone(), |it| json!(it as u64))),
            "default" | "const" => Some(value.clone()),
            "enum" => {
                value.as_array().filter(|choices| !choices.is_empty()).map(|choices| json!(choices))
            }
            // A list of schemas per position, as older drafts wrote `items`, is left to `tidy`.
            "additionalProperties"
            | "not"
            | "contains"
            | "propertyNames"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "items" => match value {
                Value::Object(_) | Value::Bool(_) => Some(self.schema(node)),
                _ => None,
            },
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let schemas: Vec<Value> = node.items().map(|item| self.schema(item)).collect();
                (!schemas.is_empty()).then(|| Value::Array(schemas))
            }
            "properties" | "patternProperties" | "dependentSchemas" => {
                value.as_object()?;
                let is_pattern = key == "patternProperties";
                let direction = self.direction;
                let mut schemas = Map::new();
                for (name, member) in node.members() {
                    let travels = !self.is_one_way(member, direction);
                    if travels && (!is_pattern || self.is_sound_pattern(name)) {
                        schemas.insert(name.to_owned(), self.schema(member));
                    }
                }
                Some(Value::Object(schemas))
            }
            "required" => {
                let mut names: Vec<&str> =
                    value.as_array()?.iter().filter_map(Value::as_str).collect();
                names.dedup();
                (!names.is_empty()).then(|| json!(names))
            }
            "dependentRequired" => {
                let lists = value.as_object()?;
                let sound = |list: &Value| {
                    list.as_array().is_some_and(|names| names.iter().all(Value::is_string))
                };
                lists.values().all(sound).then(|| value.clone())
            }
            "example" => is_short(value).then(|| json!([value])),
            "examples" => {
                let examples = value.as_array()?.iter().filter(|one| is_short(one)).take(3);
                let examples: Vec<&Value> = examples.collect();
                (!examples.is_empty()).then(|| json!(examples))
            }
            _ => None,
        }
    }

    /// Makes keywords agree with each other where dialects differ.
    fn tidy(&mut self, node: OpenApiNode<'a>, schema: &mut Map<String, Value>) {
        for (limit, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")]
        {
            // Up to 3.0 it is a flag beside the limit, since 3.1 a limit of its own.
            if node.is_true(exclusive)
                && let Some(value) = schema.remove(limit)
            {
                schema.insert(exclusive.to_owned(), value);
            }
        }
        if schema.get("multipleOf").and_then(Value::as_f64).is_some_and(|step| step <= 0.0) {
            schema.remove("multipleOf");
        }
        if let Some(Value::Array(positions)) = node.value.get("items") {
            let positions: Vec<Value> =
                positions.iter().map(|item| self.schema(node.with(item))).collect();
            if !positions.is_empty() {
                schema.insert("prefixItems".to_owned(), positions.into());
            }
        }
        // A member that does not travel this way cannot be required.
        let one_way: Vec<&str> = node
            .get("properties")
            .into_iter()
            .flat_map(OpenApiNode::members)
            .filter(|(_, member)| self.is_one_way(*member, self.direction))
            .map(|(name, _)| name)
            .collect();
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            let mut known = Vec::new();
            required.retain(|name| {
                let is_new = !known.contains(name);
                known.push(name.clone());
                is_new && !one_way.iter().any(|one| name == one)
            });
            if required.is_empty() {
                schema.remove("required");
            }
        }
        // Of values that overlap `oneOf` accepts none; the server may know which was meant.
        if let Some(options) = schema.remove("oneOf") {
            match schema.remove("anyOf") {
                None => {
                    schema.insert("anyOf".to_owned(), options);
                }
                Some(others) => {
                    let both = json!([{"anyOf": options}, {"anyOf": others}]);
                    let mut all = schema.remove("allOf").unwrap_or_else(|| json!([]));
                    if let (Value::Array(all), Value::Array(both)) = (&mut all, both) {
                        all.extend(both);
                    }
                    schema.insert("allOf".to_owned(), all);
                }
            }
        }
        // A server may say more than it promised.
        if self.direction == SchemaDirection::Response {
            for key in ["additionalProperties", "unevaluatedProperties"] {
                if schema.get(key) == Some(&Value::Bool(false)) {
                    schema.remove(key);
                }
            }
        }
    }

    fn is_one_way(&self, member: OpenApiNode<'a>, direction: SchemaDirection) -> bool {
        let mark = match direction {
            SchemaDirection::Request => "readOnly",
            SchemaDirection::Response => "writeOnly",
        };
        member.is_true(mark)
            || (member.reference().is_some()
                && self.schemas.document.follow(member).is_ok_and(|target| target.is_true(mark)))
    }

    /// An answer's schema is read for its shape: what helps to write a value is left out there.
    fn keeps(&self, key: &str) -> bool {
        match self.direction {
            SchemaDirection::Request => true,
            SchemaDirection::Response => {
                !matches!(key, "default" | "example" | "examples" | "title")
            }
        }
    }

    fn is_sound_pattern(&mut self, pattern: &str) -> bool {
        if let Some(known) = self.schemas.patterns.get(pattern) {
            return *known;
        }
        let is_sound = capdeck_catalog::is_sound_pattern(pattern);
        self.schemas.patterns.insert(pattern.to_owned(), is_sound);
        is_sound
    }
}

/// True for a schema of a plain value that is short enough to be repeated.
fn is_leaf(schema: &Value) -> bool {
    let Value::Object(members) = schema else { return schema.is_boolean() };
    let is_flat = |value: &Value| match value {
        Value::Object(_) => false,
        Value::Array(items) => {
            items.len() <= 16 && items.iter().all(|item| !item.is_object() && !item.is_array())
        }
        Value::String(text) => text.len() <= 200,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    };
    members.len() <= 8 && members.values().all(is_flat)
}

fn is_short(example: &Value) -> bool {
    example.to_string().len() <= MAX_EXAMPLE_LENGTH
}

fn renamed(key: &str) -> &str {
    if key == "example" { "examples" } else { key }
}

/// A number, also one that is written as text.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => {
            serde_json::from_str::<serde_json::Number>(text.trim()).ok().map(Value::Number)
        }
        _ => None,
    }
}

/// The types a schema names, in the words of JSON Schema. `Ok(None)` when any will do.
fn sound_types(types: &Value) -> Result<Option<Value>, String> {
    let names: Vec<&Value> = match types {
        Value::Array(names) => names.iter().collect(),
        one => vec![one],
    };
    let mut sound: Vec<&str> = Vec::new();
    for name in names {
        let Some(known) = name.as_str().map(sound_type) else {
            return Err(format!("the type `{name}` is none; any value is accepted there"));
        };
        match known {
            Ok(Some(name)) if sound.contains(&name) => {}
            Ok(Some(name)) => sound.push(name),
            Ok(None) => return Ok(None),
            Err(reason) => return Err(reason),
        }
    }
    Ok(match sound.as_slice() {
        [] => None,
        [one] => Some((*one).into()),
        many => Some(json!(many)),
    })
}

/// Authors borrow type names from their own language; those with one meaning are understood.
fn sound_type(name: &str) -> Result<Option<&'static str>, String> {
    Ok(Some(match name.to_ascii_lowercase().as_str() {
        "string" | "str" | "date" | "datetime" | "date-time" | "uuid" | "file" => "string",
        "integer" | "int" | "long" | "int32" | "int64" => "integer",
        "number" | "float" | "double" | "decimal" => "number",
        "boolean" | "bool" => "boolean",
        "object" | "map" => "object",
        "array" | "list" => "array",
        "null" => "null",
        "any" | "" => return Ok(None),
        _ => return Err(format!("the type `{name}` is unknown; any value is accepted there")),
    }))
}

fn allow_null(mut schema: Value) -> Value {
    let Value::Object(members) = &mut schema else { return schema };
    let accepts_only_types = !["$ref", "allOf", "anyOf", "const", "not", "if"]
        .iter()
        .any(|keyword| members.contains_key(*keyword));
    if !accepts_only_types {
        let description = members.remove("description");
        let mut either = json!({"anyOf": [schema, {"type": "null"}]});
        if let (Some(description), Value::Object(members)) = (description, &mut either) {
            members.insert("description".to_owned(), description);
        }
        return either;
    }
    match members.get_mut("type") {
        Some(Value::String(name)) if name != "null" => {
            let types = json!([name.as_str(), "null"]);
            members.insert("type".to_owned(), types);
        }
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => {
            names.push("null".into());
        }
        _ => {}
    }
    if let Some(Value::Array(choices)) = members.get_mut("enum")
        && !choices.iter().any(Value::is_null)
    {
        choices.push(Value::Null);
    }
    schema
}
