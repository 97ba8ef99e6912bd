//! A tool's arguments from the words of a command line, by the types the tool's schema declares.

mod flags;
mod parameter;
#[cfg(test)]
mod tests;
mod value;

use capdeck_catalog::RawMembers;
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
pub(crate) fn parse_pairs<'a>(
    words: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<ArgumentPair>, CommandFailure> {
    let not_a_pair = |word: &String| {
        let failure = CommandFailure::usage(format!("`{word}` is not an argument"));
        failure.hint("write arguments as key=value, key:=JSON, or one JSON object")
    };
    words
        .into_iter()
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
    schema: &Value,
) -> Result<Box<RawValue>, CommandFailure> {
    let given = given.unwrap_or("{}").trim();
    let bad = |error: serde_json::Error| not_an_object(&error);
    let mut arguments: RawMembers = serde_json::from_str(given).map_err(bad)?;
    if pairs.is_empty() {
        // The text goes on as it is, so that no number and no order changes on the way.
        return serde_json::from_str(given).map_err(bad);
    }
    insert_pairs(&mut arguments, pairs, schema, schema)?;
    to_raw(&arguments)
}

/// Lays pairs over the members of an object that `schema`, a part of `root`, describes.
fn insert_pairs(
    object: &mut RawMembers,
    pairs: &[ArgumentPair],
    schema: &Value,
    root: &Value,
) -> Result<(), CommandFailure> {
    let mut nested: Vec<(String, Vec<ArgumentPair>)> = Vec::new();
    let mut own: Vec<&ArgumentPair> = Vec::new();
    for pair in pairs {
        let Some((name, inner)) = pair.nested_in(schema, root) else {
            own.push(pair);
            continue;
        };
        match nested.iter_mut().find(|(known, _)| *known == name) {
            Some((_, pairs)) => pairs.push(inner),
            None => nested.push((name, vec![inner])),
        }
    }
    let mut lists: Vec<(String, Vec<Box<RawValue>>)> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for pair in &own {
        let declared = property(schema, root, &pair.key);
        let value = convert(pair, declared, root)?;
        let wanted = SchemaTypes::from_schema(declared, root);
        let is_repeated = own.iter().filter(|other| other.key == pair.key).count() > 1;
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
        object.insert(pair.key.clone(), value);
    }
    for (key, items) in lists {
        object.insert(key, to_raw(&items)?);
    }
    for (name, pairs) in nested {
        let mut inner: RawMembers = match object.get(&name) {
            Some(known) => serde_json::from_str(known.get()).map_err(|_| {
                CommandFailure::usage(format!("`{name}` is given as something else than an object"))
            })?,
            None => RawMembers::new(),
        };
        let schema = property(schema, root, &name).unwrap_or(&Value::Null);
        insert_pairs(&mut inner, &pairs, schema, root)?;
        object.insert(name, to_raw(&inner)?);
    }
    Ok(())
}

impl ArgumentPair {
    /// `a.b=…` is the member `b` of `a`, unless the schema has an `a.b` or has no `a`.
    fn nested_in(&self, schema: &Value, root: &Value) -> Option<(String, Self)> {
        let (name, key) = self.key.split_once('.').filter(|(_, key)| !key.is_empty())?;
        if property(schema, root, &self.key).is_some() {
            return None;
        }
        property(schema, root, name)?;
        Some((name.to_owned(), Self { key: key.to_owned(), ..self.clone() }))
    }
}

/// The value of one pair. A text that fits no declared type stays a string; the host says what is wrong with it.
fn convert(
    pair: &ArgumentPair,
    declared: Option<&Value>,
    root: &Value,
) -> Result<Box<RawValue>, CommandFailure> {
    let ArgumentPair { key, value, is_json } = pair;
    if *is_json {
        return value::raw(key, value);
    }
    let mut wanted = SchemaTypes::from_schema(declared, root);
    if wanted.has("array") && !value.trim_start().starts_with('[') && !wanted.has("string") {
        let item = declared.and_then(|declared| items(declared, root));
        wanted = SchemaTypes::from_schema(item, root);
    }
    match serde_json::from_str::<&RawValue>(value) {
        Ok(json) if wanted.takes(json.get()) => Ok(json.to_owned()),
        _ => to_raw(value),
    }
}
