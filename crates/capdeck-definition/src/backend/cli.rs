//! `cliTools`: programs run without a shell, one tool per action.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;

use super::{
    action::{ActionSchemas, ActionText, ProgramCommand},
    is_default, number,
};
use crate::{Glob, definition::id_pattern};

const TIMEOUT_MS: u64 = 60_000;
const MAX_OUTPUT_BYTES: u64 = 200_000;

/// The key in the schema of an argument that lets its values begin with `-` where the program could take them for an
/// option.
pub const ALLOW_LEADING_DASH: &str = "allowLeadingDash";

/// The JSON Schema of arguments: an object with these properties.
pub(crate) fn arguments_schema(
    properties: Map<String, Value>,
    required: &[&String],
) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// Command-line actions and their shared defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CliTools {
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    pub actions: IndexMap<String, CliAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Environment variables of the host that the commands get too, if they are set; `*` and `?` are wildcards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<Glob>,
    #[serde(default = "number::<TIMEOUT_MS>")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    #[serde(default = "number::<MAX_OUTPUT_BYTES>")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: u64,
    /// How commands take the caller's values; a capability file has its own way.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(skip)]
    pub placeholders: PlaceholderStyle,
}

/// How the words of a command take the caller's values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceholderStyle {
    /// `$input.path`.
    #[default]
    Input,
    /// `{name}`.
    Braces,
}

/// A command that prepares a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CliCommand {
    #[serde(flatten)]
    pub program: ProgramCommand,
    /// Values for placeholders that the caller gives none for.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub defaults: Map<String, Value>,
}

impl CliTools {
    pub(crate) fn with_actions(actions: IndexMap<String, CliAction>) -> Self {
        Self {
            actions,
            cwd: None,
            env: IndexMap::new(),
            pass_env: Vec::new(),
            timeout_ms: TIMEOUT_MS,
            max_output_bytes: MAX_OUTPUT_BYTES,
            placeholders: PlaceholderStyle::Input,
        }
    }
}

/// One command, offered as one tool. `$input.path` inside strings takes the caller's values.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CliAction {
    #[serde(flatten)]
    pub text: ActionText,
    #[serde(flatten)]
    pub schemas: ActionSchemas,
    #[serde(flatten)]
    pub program: ProgramCommand,
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    #[schemars(range(min = 1))]
    pub max_output_bytes: Option<u64>,
    pub output: Option<CliOutput>,
    pub annotations: Option<CliAnnotations>,
    /// Run once before the first call; only a capability file can say so.
    #[schemars(skip)]
    pub init: Option<Box<CliCommand>>,
}

/// How standard output is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CliOutput {
    #[serde(rename = "type", default)]
    pub kind: CliOutputType,
}

/// Plain text, or JSON that is parsed into the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CliOutputType {
    #[default]
    Text,
    Json,
}

/// What the author says the command does to the world.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CliAnnotations {
    pub read_only_hint: Option<bool>,
    pub destructive_hint: Option<bool>,
    pub idempotent_hint: Option<bool>,
    pub open_world_hint: Option<bool>,
}
