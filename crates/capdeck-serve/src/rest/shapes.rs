//! JSON whose members are somebody else's to decide: tools' definitions, results, cards.

use std::borrow::Cow;

use capdeck_host::RawObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

/// An object with members that are documented where it comes from.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Open(pub(super) Value);

/// The same, passed on byte for byte.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Raw(pub(super) Box<RawValue>);

/// A tool's definition, member for member as its capability gave it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct ToolDefinition(pub(super) RawObject);

macro_rules! open_object {
    ($($name:ident: $told:literal, $required:expr;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let required: &[&str] = $required;
                json_schema!({ "type": "object", "description": $told, "required": required })
            }
        }
    )*};
}

open_object! {
    Open: "An object with the members that `capdeck … --json` gives it", &[];
    Raw: "An object as its capability gave it", &[];
    ToolDefinition: "A tool as its capability defines it: `name`, `description`, `inputSchema` and more", &["name"];
}
