//! CMP tools: commands that answer to phrases, described by two JSON files beside a program.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::{CommandTemplate, Glob};

/// One CMP tool. Each of its intents is one tool of the capability.
///
/// Nothing in it refers to a variable or a secret: the format knows no such references.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CmpTool {
    pub domain: String,
    pub version: String,
    /// The executable, when it is not called like the tool.
    pub binary: Option<String>,
    /// Domains of other tools that this one needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// The existing program that this tool only describes.
    pub wraps: Option<String>,
    /// The tool's own `bin` folder, first on the `PATH` of its commands.
    pub bin: Option<PathBuf>,
    /// Environment variables of the host that the commands get too; only the deck's options name some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<Glob>,
    /// The manifest without white space, as an agent would read it.
    #[serde(skip)]
    pub manifest: String,
    /// By the name of the tool each becomes, in the order they are written.
    pub intents: IndexMap<String, CmpIntent>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CmpIntent {
    /// Phrases this intent answers to, as written; `re:` starts a regular expression.
    pub patterns: Vec<String>,
    pub command: CommandTemplate,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub params: IndexMap<String, CmpParam>,
    /// The JSON Schema of what the command prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<Value>,
    /// A person is asked before it runs; also true for everything destructive.
    pub confirm: bool,
    pub destructive: bool,
    pub idempotent: bool,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CmpParam {
    #[serde(rename = "type")]
    pub kind: CmpType,
    pub required: bool,
    pub default: Option<Value>,
    pub description: Option<String>,
    /// The values allowed; for an array, of each of its items. Empty allows all.
    #[serde(default, rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
    /// Whether a value may begin with `-` where the program could take it for an option.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_leading_dash: bool,
}

/// The types a parameter can have. The specification lists five; the others are in use too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CmpType {
    #[default]
    #[serde(rename = "string")]
    String,
    #[serde(rename = "integer")]
    Integer,
    #[serde(rename = "boolean")]
    Boolean,
    #[serde(rename = "array<string>")]
    Strings,
    #[serde(rename = "array<integer>")]
    Integers,
    #[serde(rename = "number")]
    Number,
    #[serde(rename = "array<number>")]
    Numbers,
    #[serde(rename = "object")]
    Object,
}

impl CmpParam {
    /// A placeholder that is not declared: a text that must be given.
    pub(crate) fn undeclared() -> Self {
        Self { required: true, ..Self::default() }
    }
}

impl CmpType {
    /// All types: those of the specification first.
    pub(crate) const ALL: [Self; 8] = [
        Self::String,
        Self::Integer,
        Self::Boolean,
        Self::Strings,
        Self::Integers,
        Self::Number,
        Self::Numbers,
        Self::Object,
    ];

    /// The type as files write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Strings => "array<string>",
            Self::Integers => "array<integer>",
            Self::Number => "number",
            Self::Numbers => "array<number>",
            Self::Object => "object",
        }
    }

    /// The type of an array's items; `None` for what is no array.
    pub fn items(self) -> Option<Self> {
        match self {
            Self::Strings => Some(Self::String),
            Self::Integers => Some(Self::Integer),
            Self::Numbers => Some(Self::Number),
            Self::String | Self::Integer | Self::Boolean | Self::Number | Self::Object => None,
        }
    }

    pub(crate) fn is_listed(self) -> bool {
        !matches!(self, Self::Number | Self::Numbers | Self::Object)
    }
}
