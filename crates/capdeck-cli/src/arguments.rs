//! A tool's arguments from the words of a command line, by the types the tool's schema declares.

mod flags;
mod parameter;
#[cfg(test)]
mod tests;
mod value;

use capdeck_catalog::{RawMembers, Tool};
use serde_json::{Value, value::RawValue};

use self::parameter::{SchemaTypes, items, property};
use crate::errors::CommandFailure;

pub(crate) use self::{
    flags::{OWN_FLAGS, ShellFlags, read_flags},
    parameter::{ToolParameter, ToolParameters, plain},
    value::{ArgumentSource, to_raw},
};

/// A tool's input schema as a value. A tool without one takes anything.
pub(crate) fn schema_value(schema: Option<&RawValue>) -> Value {
    schema.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default()
}

fn not_an_object(error: &serde_json::Error) -> CommandFailure {
    CommandFailure::usage(format!("--args is not a JSON object: {error}"))
        .hint("quote it for the shell, such as --args '{\"key\": \"value\"}'")
}

/// One `key=value` or `key:=JSON`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentPair {
    key: String,
    value: String,
    is_json: bool,
}

/// Splits the words at their first `=`.
pub(crate) fn parse_pairs(words: &[String]) -> Result<Vec<ArgumentPair>, CommandFailure> {
    let not_a_pair = |word: &String| {
        CommandFailure::usage(format!("`{word}` is not an argument"))
            .hint("write arguments as key=value, or key:=JSON")
    };
    words
        .iter()
        .map(|word| {
            let (key, value) = word.split_once('=').ok_or_else(|| not_a_pair(word))?;
            let (key, is_json) = match key.strip_suffix(':') {
                Some(key) => (key, true),
                None => (key, false),
            };
            if key.is_empty() {
                return Err(not_a_pair(word));
            }
            Ok(ArgumentPair { key: key.to_owned(), value: value.to_owned(), is_json })
        })
        .collect()
}

/// The arguments object: the JSON text as it is, overridden by the pairs.
pub(crate) fn build(
    given: Option<&str>,
    pairs: &[ArgumentPair],
    tool: &Tool,
) -> Result<Box<RawValue>, CommandFailure> {
    let given = given.unwrap_or("{}").trim();
    let bad = |error: serde_json::Error| not_an_object(&error);
    let mut arguments: RawMembers = serde_json::from_str(given).map_err(bad)?;
    if pairs.is_empty() {
        // The text goes on as it is, so that no number and no order changes on the way.
        return serde_json::from_str(given).map_err(bad);
    }
    let schema = schema_value(tool.input_schema());
    let mut lists: Vec<(String, Vec<Box<RawValue>>)> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for pair in pairs {
        let value = convert(pair, &schema)?;
        let wanted = SchemaTypes::from_schema(property(&schema, &pair.key), &schema);
        let is_repeated = pairs.iter().filter(|other| other.key == pair.key).count() > 1;
        let is_item = !pair.is_json
            && wanted.has("array")
            && !value.get().starts_with('[')
            && (is_repeated || !wanted.has("string"));
        if is_item {
            match lists.iter_mut().find(|(key, _)| *key == pair.key) {
                Some((_, items)) => items.push(value),
                None => lists.push((pair.key.clone(), vec![value])),
            }
            continue;
        }
        if seen.contains(&pair.key.as_str()) {
            return Err(CommandFailure::usage(format!("`{}` is given twice", pair.key)));
        }
        seen.push(&pair.key);
        arguments.insert(pair.key.clone(), value);
    }
    for (key, items) in lists {
        arguments.insert(key, to_raw(&items)?);
    }
    to_raw(&arguments)
}

/// The value of one pair. A text that fits no declared type stays a string; the host says what is wrong with it.
fn convert(pair: &ArgumentPair, schema: &Value) -> Result<Box<RawValue>, CommandFailure> {
    let ArgumentPair { key, value, is_json } = pair;
    if *is_json {
        return value::raw(key, value);
    }
    let declared = property(schema, key);
    let mut wanted = SchemaTypes::from_schema(declared, schema);
    if wanted.has("array") && !value.trim_start().starts_with('[') && !wanted.has("string") {
        wanted =
            SchemaTypes::from_schema(declared.and_then(|declared| items(declared, schema)), schema);
    }
    match serde_json::from_str::<&RawValue>(value) {
        Ok(json) if wanted.takes(json.get()) => Ok(json.to_owned()),
        _ => to_raw(value),
    }
}
