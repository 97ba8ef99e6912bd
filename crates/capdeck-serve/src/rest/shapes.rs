//! JSON objects whose members are defined elsewhere: tool definitions, results, cards.

use std::borrow::Cow;

use capdeck_host::RawMembers;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// An object that is documented at its source.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct JsonObject(pub(super) Value);

/// The same, unchanged.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct RawToolResult(pub(super) Box<RawValue>);

/// A body without members.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyBody {}

/// A tool definition, unchanged.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct ToolDefinition(pub(super) RawMembers);

macro_rules! open_object {
    ($($name:ident as $schema:literal: $told:literal, $required:expr;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $schema.into()
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
    JsonObject as "JsonObject": "An object with the members of `capdeck … --json`", &[];
    RawToolResult as "ToolResult": "An object of the capability, unchanged", &[];
    ToolDefinition as "ToolDefinition": "A tool as its capability defines it: `name`, `description`, `inputSchema` and more", &["name"];
}
