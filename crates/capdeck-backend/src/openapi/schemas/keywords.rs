//! The keywords that mean something to a JSON Schema checker, and what each may hold.

use serde_json::{Value, json};

/// What a keyword's value has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaKeyword {
    Text,
    Pattern,
    Flag,
    Number,
    /// A whole number from zero on.
    Count,
    Any,
    /// A list of values that is not empty.
    Choices,
    Schema,
    Items,
    Schemas,
    SchemaMap,
    Names,
    NameLists,
    Examples,
}

/// What is known about a keyword. `None` for the many that only tools for people read.
pub(super) fn keyword(key: &str) -> Option<SchemaKeyword> {
    Some(match key {
        "title" | "description" | "format" | "contentMediaType" | "contentEncoding" => {
            SchemaKeyword::Text
        }
        "pattern" => SchemaKeyword::Pattern,
        "uniqueItems" | "deprecated" => SchemaKeyword::Flag,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            SchemaKeyword::Number
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => SchemaKeyword::Count,
        "default" | "const" => SchemaKeyword::Any,
        "enum" => SchemaKeyword::Choices,
        "additionalProperties"
        | "not"
        | "contains"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "unevaluatedItems"
        | "unevaluatedProperties" => SchemaKeyword::Schema,
        "items" => SchemaKeyword::Items,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => SchemaKeyword::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => SchemaKeyword::SchemaMap,
        "required" => SchemaKeyword::Names,
        "dependentRequired" => SchemaKeyword::NameLists,
        "example" | "examples" => SchemaKeyword::Examples,
        _ => return None,
    })
}

/// The types a schema names, in the words of JSON Schema. `Ok(None)` when any will do.
pub(super) fn sound_types(types: &Value) -> Result<Option<Value>, String> {
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
