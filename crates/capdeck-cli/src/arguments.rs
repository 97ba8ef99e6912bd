//! A tool's arguments from the words of a command line, by the types the tool's schema declares.

mod flags;
mod pairs;
mod parameter;
mod value;

use serde_json::{Value, value::RawValue};

use crate::errors::Failure;

pub(crate) use self::{
    flags::{OWN_FLAGS, OwnFlags, read_flags},
    pairs::{build, parse_pairs},
    parameter::{Parameter, Parameters, plain},
    value::TextSource,
};

/// A tool's input schema as a value. A tool without one takes anything.
pub(crate) fn schema_value(schema: Option<&RawValue>) -> Value {
    schema.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default()
}

fn not_an_object(error: &serde_json::Error) -> Failure {
    Failure::usage(format!("--args is not a JSON object: {error}"))
        .hint("quote it for the shell, such as --args '{\"key\": \"value\"}'")
}
