//! The input schema of an operation, from its variables.
//!
//! Input types may be recursive. Each is described once in `$defs`, nearest first; one with a single use is inlined.
//! Beyond a limit types are left open.

use std::collections::{HashMap, VecDeque};

use apollo_compiler::{
    ExecutableDocument, Name, Node,
    ast::{Type, Value as Literal},
    executable::Operation,
    schema::{EnumType, ExtendedType, InputObjectType, InputValueDefinition},
};
use serde_json::{Map, Value, json};

use super::{introspection::literal_json, schema::ApiSchema};
use crate::api_connection::{members, object_schema};

const MAX_DEFINITIONS: usize = 60;

/// The maximum number of fields and values per tool: no further type is described after it.
const TARGET_MEMBERS: usize = 500;
const MAX_MEMBERS: usize = 3_000;

/// Longer enums are listed without descriptions of their values.
const MAX_DESCRIBED_VALUES: usize = 24;

pub(super) fn input_schema(
    schema: &ApiSchema,
    operation: &Operation,
    document: &ExecutableDocument,
) -> Map<String, Value> {
    let arguments = arguments_of_variables(operation, document);
    let types = operation.variables.iter().map(|variable| &*variable.ty);
    let shapes = InputTypeSet::reached_from(schema, types);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for variable in &operation.variables {
        let argument = arguments.get(&variable.name).copied();
        // `null` means omitted here, so it needs no mention.
        let ty = variable.ty.as_ref().clone().non_null();
        let mut property = shapes.of_type(&ty);
        let default = variable.default_value.as_ref();
        let default = default.or(argument.and_then(|argument| argument.default_value.as_ref()));
        if let Some(argument) = argument {
            describe(&mut property, argument.description.as_deref(), &argument.directives);
        }
        give_default(&mut property, default.map(|default| &**default));
        if variable.ty.is_non_null() && variable.default_value.is_none() {
            required.push(variable.name.to_string());
        }
        properties.insert(variable.name.to_string(), property.into());
    }
    let mut members = object_schema(properties, &required, true);
    let definitions = shapes.definitions();
    if !definitions.is_empty() {
        members.insert("$defs".into(), definitions.into());
    }
    members
}

/// Returns the argument of each variable, which describes it better than the variable.
fn arguments_of_variables<'a>(
    operation: &'a Operation,
    document: &'a ExecutableDocument,
) -> HashMap<&'a Name, &'a Node<InputValueDefinition>> {
    let mut found = HashMap::new();
    for field in operation.all_fields(document) {
        for argument in &field.arguments {
            if let (Literal::Variable(name), Some(definition)) =
                (&*argument.value, field.definition.argument_by_name(&argument.name))
            {
                found.entry(name).or_insert(definition);
            }
        }
    }
    found
}

struct InputTypeSet<'a> {
    schema: &'a ApiSchema,
    /// The number of references to each. Missing types are left open.
    uses: HashMap<&'a Name, usize>,
    order: Vec<&'a Name>,
}

impl<'a> InputTypeSet<'a> {
    fn reached_from(schema: &'a ApiSchema, types: impl Iterator<Item = &'a Type>) -> Self {
        let mut shapes = Self { schema, uses: HashMap::new(), order: Vec::new() };
        let mut waiting: VecDeque<&Name> = types.map(Type::inner_named_type).collect();
        let mut described = 0;
        while let Some(name) = waiting.pop_front() {
            let Some((name, definition)) = schema.valid().types.get_key_value(name) else {
                continue;
            };
            if definition.is_scalar() {
                continue;
            }
            if let Some(uses) = shapes.uses.get_mut(name) {
                *uses += 1;
                continue;
            }
            let members = match definition {
                ExtendedType::InputObject(one) => one.fields.len(),
                ExtendedType::Enum(one) => one.values.len(),
                _ => 0,
            };
            let has_room = described < TARGET_MEMBERS && described + members <= MAX_MEMBERS;
            if has_room && shapes.order.len() < MAX_DEFINITIONS {
                described += members;
                shapes.uses.insert(name, 1);
                shapes.order.push(name);
                if let ExtendedType::InputObject(one) = definition {
                    waiting.extend(one.fields.values().map(|field| field.ty.inner_named_type()));
                }
            }
        }
        shapes
    }

    fn definitions(&self) -> Map<String, Value> {
        let is_shared = |name: &&&Name| self.uses.get(**name).is_some_and(|uses| *uses > 1);
        let define = |name: &&Name| (name.to_string(), self.described(name).into());
        self.order.iter().filter(is_shared).map(define).collect()
    }

    fn of_type(&self, ty: &Type) -> Map<String, Value> {
        match ty {
            Type::NonNullNamed(name) => self.of_name(name),
            Type::Named(name) => or_null(self.of_name(name)),
            Type::NonNullList(item) => list(self.of_type(item)),
            Type::List(item) => or_null(list(self.of_type(item))),
        }
    }

    fn of_name(&self, name: &Name) -> Map<String, Value> {
        match self.uses.get(name) {
            // A cycle is entered from outside and from inside, so it has a type with two uses, and this ends.
            Some(1) => self.described(name),
            Some(_) => reference(name),
            None => match self.schema.get(name) {
                Some(ExtendedType::Scalar(_)) => input_scalar(name),
                Some(ExtendedType::InputObject(_)) => members(json!({
                    "type": "object", "description": format!("a `{name}`, not described here")
                })),
                _ => members(json!({"description": format!("a `{name}`, not described here")})),
            },
        }
    }

    fn described(&self, name: &Name) -> Map<String, Value> {
        match self.schema.get(name) {
            Some(ExtendedType::Enum(one)) => enum_values(one),
            Some(ExtendedType::InputObject(one)) => self.input_object(one),
            _ => Map::new(),
        }
    }

    fn input_object(&self, one: &InputObjectType) -> Map<String, Value> {
        let is_one_of = one.directives.has("oneOf");
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in one.fields.values() {
            let ty =
                if is_one_of { field.ty.as_ref().clone().non_null() } else { (*field.ty).clone() };
            let mut property = self.of_type(&ty);
            describe(&mut property, field.description.as_deref(), &field.directives);
            give_default(&mut property, field.default_value.as_deref());
            if field.is_required() {
                required.push(field.name.to_string());
            }
            properties.insert(field.name.to_string(), property.into());
        }
        let mut members = object_schema(properties, &required, true);
        if is_one_of {
            members.insert("minProperties".into(), 1.into());
            members.insert("maxProperties".into(), 1.into());
        }
        if let Some(description) = &one.description {
            members.insert("description".into(), shortened(description).into());
        }
        members
    }
}

fn enum_values(one: &EnumType) -> Map<String, Value> {
    let names: Vec<&str> = one.values.keys().map(Name::as_str).collect();
    let mut text = one.description.as_deref().map(shortened).unwrap_or_default();
    if names.len() <= MAX_DESCRIBED_VALUES {
        for value in one.values.values() {
            if let Some(description) = &value.description {
                let separator = if text.is_empty() { "" } else { "\n" };
                text = format!("{text}{separator}- `{}`: {}", value.value, shortened(description));
            }
        }
    }
    let mut members = members(json!({"type": "string", "enum": names}));
    if !text.is_empty() {
        members.insert("description".into(), text.into());
    }
    members
}

fn reference(name: &Name) -> Map<String, Value> {
    Map::from_iter([("$ref".to_owned(), format!("#/$defs/{name}").into())])
}

pub(super) fn list(item: Map<String, Value>) -> Map<String, Value> {
    members(json!({"type": "array", "items": item}))
}

/// Makes a schema nullable. Inside an input object `null` differs from omitted.
pub(super) fn or_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    if schema.contains_key("$ref") {
        return members(json!({"anyOf": [schema, {"type": "null"}]}));
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => types.push("null".into()),
        Some(ty) => *ty = json!([ty.take(), "null"]),
        // An open schema includes `null`.
        None => {}
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    schema
}

fn describe(
    schema: &mut Map<String, Value>,
    description: Option<&str>,
    directives: &apollo_compiler::ast::DirectiveList,
) {
    let mut lines: Vec<String> = description.map(shortened).into_iter().collect();
    if directives.has("deprecated") {
        lines.push("Deprecated.".to_owned());
    }
    if let Some(Value::String(general)) = schema.get("description") {
        lines.push(general.clone());
    }
    if !lines.is_empty() {
        schema.insert("description".into(), lines.join("\n").into());
    }
}

fn give_default(schema: &mut Map<String, Value>, default: Option<&Literal>) {
    if let Some(default) = default {
        schema.insert("default".into(), literal_json(default));
    }
}

/// Returns the schema of a scalar in requests. Custom scalars are open unless they have a common name.
fn input_scalar(name: &str) -> Map<String, Value> {
    let plain = match name {
        "Int" => Some(json!({"type": "integer"})),
        "Float" => Some(json!({"type": "number"})),
        "String" => Some(json!({"type": "string"})),
        "Boolean" => Some(json!({"type": "boolean"})),
        // Both forms are the same id.
        "ID" => Some(json!({"type": ["string", "integer"]})),
        _ => None,
    };
    let schema = plain.unwrap_or_else(|| {
        let mut schema = well_known(name);
        if let Some(members) = schema.as_object_mut() {
            members.insert("description".into(), format!("a `{name}`").into());
        }
        schema
    });
    members(schema)
}

/// Returns the schema of a scalar in responses. Only the five built-in ones are promised.
pub(super) fn output_scalar(name: &str) -> Map<String, Value> {
    let ty = match name {
        "Int" => "integer",
        "Float" => "number",
        "String" | "ID" => "string",
        "Boolean" => "boolean",
        _ => return Map::new(),
    };
    Map::from_iter([("type".to_owned(), ty.into())])
}

fn well_known(name: &str) -> Value {
    let folded: String =
        name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect();
    match folded.as_str() {
        "datetime" | "datetimeiso" | "iso8601datetime" | "datetimeoffset" | "timestamptz"
        | "precisedatetime" => {
            json!({"type": "string", "format": "date-time"})
        }
        "date" | "localdate" | "iso8601date" => json!({"type": "string", "format": "date"}),
        "time" | "timetz" | "localtime" | "duration" | "html" | "markdown" | "base64"
        | "base64string" | "gitobjectid" | "gitsshremote" | "x509certificate" | "hexcolor"
        | "cursor" | "citext" => json!({"type": "string"}),
        "uri" | "url" | "httpurl" => json!({"type": "string", "format": "uri"}),
        "uuid" | "guid" => json!({"type": "string", "format": "uuid"}),
        "email" | "emailaddress" => json!({"type": "string", "format": "email"}),
        "bigint" | "long" | "int64" | "uint64" => json!({"type": ["integer", "string"]}),
        "decimal" | "bigdecimal" | "numeric" | "money" => json!({"type": ["number", "string"]}),
        "positiveint" => json!({"type": "integer", "minimum": 1}),
        "nonnegativeint" | "unsignedint" => json!({"type": "integer", "minimum": 0}),
        "jsonobject" => json!({"type": "object"}),
        _ => json!({}),
    }
}

const MAX_DESCRIPTION_LENGTH: usize = 600;

pub(super) fn shortened(text: &str) -> String {
    let mut words = String::with_capacity(text.len().min(MAX_DESCRIPTION_LENGTH + 4));
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        let room = MAX_DESCRIPTION_LENGTH.saturating_sub(words.len());
        if word.len() > room {
            words.extend(word.chars().take(room / 4));
            words.push('…');
            break;
        }
        words.push_str(word);
    }
    words
}
