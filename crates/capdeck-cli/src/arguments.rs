//! A tool's arguments from the words of a command line, by the types the tool's schema declares.

mod flags;
mod pairs;
mod parameter;
mod value;

use serde_json::{Value, value::RawValue};

use crate::errors::CommandFailure;

pub(crate) use self::{
    flags::{OWN_FLAGS, ShellFlags, read_flags},
    pairs::{build, parse_pairs},
    parameter::{ToolParameter, ToolParameters, plain},
    value::ArgumentSource,
};

/// A tool's input schema as a value. A tool without one takes anything.
pub(crate) fn schema_value(schema: Option<&RawValue>) -> Value {
    schema.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default()
}

fn not_an_object(error: &serde_json::Error) -> CommandFailure {
    CommandFailure::usage(format!("--args is not a JSON object: {error}"))
        .hint("quote it for the shell, such as --args '{\"key\": \"value\"}'")
}
