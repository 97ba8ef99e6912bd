//! The two files of a CMP tool, as written. Keys that are not listed here are passed over with a warning.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `manifest.json`: what a tool is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Manifest")]
pub(crate) struct ManifestFile {
    /// The field the tool works in, such as `email`.
    #[schemars(length(min = 1, max = 80))]
    pub(crate) domain: String,
    /// The tool's name, unique within its domain.
    #[schemars(length(min = 1, max = 80))]
    pub(crate) name: String,
    /// What it is for, in one line of at most 100 characters.
    #[schemars(length(min = 1))]
    pub(crate) summary: String,
    /// The tool's version, such as `1.0.0`.
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// The executable, when it is not called like the tool.
    #[schemars(length(min = 1))]
    pub(crate) binary: Option<String>,
    /// Domains of other tools that this one needs.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) requires: Vec<String>,
    /// Words to find it by.
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 80)))]
    pub(crate) tags: Vec<String>,
    /// True when the files only describe a program that knows nothing of them.
    pub(crate) adapter: Option<bool>,
    /// The program that an adapter describes.
    #[schemars(length(min = 1))]
    pub(crate) wraps: Option<String>,
}

/// `capability.json`: what a tool does.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Capability")]
#[expect(dead_code, reason = "only its schema is used: intents are read one by one")]
pub(crate) struct CmpCapabilityFile {
    pub(crate) intents: Vec<IntentShape>,
}

/// One thing a tool does.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Intent")]
pub(crate) struct IntentShape {
    /// Phrases it answers to; one that starts with `re:` is a regular expression.
    #[schemars(inner(length(min = 1)))]
    pub(crate) patterns: Vec<String>,
    /// The command, with `{param}` where a value goes. It is split into words before values are filled in.
    #[schemars(length(min = 1))]
    pub(crate) command: String,
    /// The parameters, by name.
    #[serde(default)]
    pub(crate) params: IndexMap<String, ParamShape>,
    /// The JSON Schema of what the command prints.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub(crate) returns: Option<Value>,
    /// A person is asked before it runs.
    pub(crate) confirm: Option<bool>,
    /// It cannot be undone; a person is asked before it runs.
    pub(crate) destructive: Option<bool>,
    /// It is safe to run again; true if left out.
    pub(crate) idempotent: Option<bool>,
}

/// One parameter.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Parameter")]
pub(crate) struct ParamShape {
    /// `string`, `integer`, `boolean`, `array<string>` or `array<integer>`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) required: Option<bool>,
    #[serde(default)]
    #[schemars(with = "Value")]
    pub(crate) default: Option<Value>,
    pub(crate) description: Option<String>,
    /// The values allowed.
    #[serde(default, rename = "enum")]
    pub(crate) choices: Vec<Value>,
    /// Whether a value may begin with `-` where the program could take it for an option.
    #[serde(default, rename = "allowLeadingDash")]
    pub(crate) allow_leading_dash: bool,
}

/// Either file, for editors.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "CmpFile", untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum CmpFile {
    Manifest(ManifestFile),
    Capability(CmpCapabilityFile),
}
