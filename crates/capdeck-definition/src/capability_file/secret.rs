//! Values of `env` and `headers`: a text, or where to take one from when the server is connected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value as declared. Nothing is looked up before a connection is opened, and nothing found is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeclaredValue {
    /// A text, in which `${Name}` is filled in.
    Text(String),
    /// A variable of the environment.
    FromEnv(String),
    /// What a program prints.
    FromCommand(Vec<String>),
    /// What a file holds; a relative path starts at the project.
    FromFile(String),
}

/// A value as written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum ValueShape {
    Text(String),
    Reference(ReferenceShape),
}

/// Where a value is taken from: exactly one of these.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ValueReference", deny_unknown_fields)]
pub(super) struct ReferenceShape {
    /// The name of an environment variable.
    #[schemars(length(min = 1))]
    pub(super) from_env: Option<String>,
    /// A command line, or a program and its arguments; its output is the value. No shell is involved.
    pub(super) from_command: Option<CommandLineShape>,
    /// A file that holds the value.
    #[schemars(length(min = 1))]
    pub(super) from_file: Option<String>,
}

/// A command as a line or as a list.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "CommandShape")]
pub(super) enum CommandLineShape {
    Line(String),
    List(Vec<String>),
}

use crate::{capability_file::command_line, diagnostic::FileFindings, document::ValueNode};

impl ValueShape {
    /// The declared value, unless it says nothing or too much.
    pub(super) fn read(
        self,
        key: &str,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> Option<DeclaredValue> {
        let reference = match self {
            Self::Text(text) => return Some(DeclaredValue::Text(text)),
            Self::Reference(reference) => reference,
        };
        let mut problem = |code: &str, message: String, fix: &str| {
            findings.at(node.place).error(code, message, fix);
            None
        };
        match (reference.from_env, reference.from_command, reference.from_file) {
            (Some(name), None, None) => Some(DeclaredValue::FromEnv(name)),
            (None, None, Some(path)) => Some(DeclaredValue::FromFile(path)),
            (None, Some(command), None) => {
                let words = match command {
                    CommandLineShape::List(words) => words,
                    CommandLineShape::Line(line) => match command_line::split(&line) {
                        Ok(words) => words,
                        Err(bad) => {
                            let message = format!("`fromCommand` of `{key}` {bad}");
                            return problem("bad-command", message, bad.fix());
                        }
                    },
                };
                if words.first().is_none_or(String::is_empty) {
                    let message = format!("`fromCommand` of `{key}` names no program");
                    return problem("empty-value", message, "name the program to run");
                }
                Some(DeclaredValue::FromCommand(words))
            }
            _ => problem(
                "conflicting-keys",
                format!("`{key}` needs exactly one of `fromEnv`, `fromCommand` and `fromFile`"),
                "keep one of the three",
            ),
        }
    }
}
