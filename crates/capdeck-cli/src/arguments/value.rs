//! Reads one value of a flag, strictly: what the schema does not take fails here, with the flag's name.

use std::{fs::File, io::Read};

use capdeck_catalog::nearest;
use serde::Serialize;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::parameter::{ToolParameter, plain};
use crate::errors::CommandFailure;

/// The value that `text` means for a parameter that is no list.
pub(super) fn read_value(
    flag: &str,
    text: &str,
    parameter: &ToolParameter<'_>,
) -> Result<Box<RawValue>, CommandFailure> {
    if let Some(choices) = parameter.choices() {
        return choose(flag, text, &choices);
    }
    let types = parameter.types();
    let json = serde_json::from_str::<&RawValue>(text).ok();
    if let Some(json) = json.filter(|json| types.takes(json.get())) {
        check_number(flag, json, parameter)?;
        return Ok(json.to_owned());
    }
    if types.has("string") || types.is_open() {
        return to_raw(text);
    }
    let failure =
        CommandFailure::usage(format!("`{flag}` takes {}, not `{text}`", article(parameter)));
    Err(if types.has("object") {
        failure.hint(format!("write it as JSON, or member by member: {flag}.KEY VALUE"))
    } else if types.has("boolean") && types.is_only_boolean() {
        failure.hint("write true or false")
    } else {
        failure
    })
}

/// What one occurrence of a list's flag adds to the list.
///
/// A JSON array is the list itself. Items that cannot hold a comma, such as numbers and choices, may be separated by
/// commas; in one of several texts a comma is part of the text.
pub(super) fn read_items(
    flag: &str,
    text: &str,
    parameter: &ToolParameter<'_>,
) -> Result<Vec<Box<RawValue>>, CommandFailure> {
    let item = parameter.item();
    if let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(text) {
        // A list of lists: one pair of brackets is an item, two are the whole.
        let is_whole =
            !item.types().has("array") || items.iter().all(|one| one.get().starts_with('['));
        return Ok(if is_whole { items } else { vec![raw(flag, text)?] });
    }
    let types = item.types();
    let holds_comma = |choice: &&Value| plain(choice).contains(',');
    let splits = match item.choices() {
        Some(choices) => !choices.iter().any(holds_comma),
        None => {
            !(types.has("string") || types.is_open() || types.has("object") || types.has("array"))
        }
    };
    if splits && text.contains(',') {
        return text.split(',').map(|part| read_value(flag, part.trim(), &item)).collect();
    }
    Ok(vec![read_value(flag, text, &item)?])
}

/// The items of a list of texts whose flag is given once, such as `--tags a,b`. A comma before a blank, or in an address, is
/// part of the text.
pub(super) fn read_comma_list(
    flag: &str,
    text: &str,
    parameter: &ToolParameter<'_>,
) -> Result<Option<Vec<Box<RawValue>>>, CommandFailure> {
    let item = parameter.item();
    let types = item.types();
    // Where a text is taken as well as a list, the text is what was written.
    let is_text = (types.has("string") || types.is_open()) && item.choices().is_none();
    let parts: Vec<&str> = text.split(',').collect();
    let is_part = |part: &&str| !part.is_empty() && !part.starts_with(char::is_whitespace);
    let is_list = parts.len() > 1 && parts.iter().all(is_part);
    let is_other = text.starts_with('[') || text.contains("://");
    if !is_text || !is_list || is_other || !parameter.takes_commas() {
        return Ok(None);
    }
    parts
        .into_iter()
        .map(|part| read_value(flag, part.trim(), &item))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// JSON, for any type of the schema.
pub(super) fn raw(flag: &str, text: &str) -> Result<Box<RawValue>, CommandFailure> {
    serde_json::from_str(text)
        .map_err(|error| CommandFailure::usage(format!("`{flag}` is not JSON: {error}")))
}

/// A value as JSON text.
pub(crate) fn to_raw(value: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>, CommandFailure> {
    to_raw_value(value).map_err(|error| CommandFailure::bug(error.to_string()))
}

fn choose(flag: &str, text: &str, choices: &[&Value]) -> Result<Box<RawValue>, CommandFailure> {
    let found = choices.iter().find(|choice| plain(choice) == text);
    if let Some(choice) = found {
        return to_raw(choice);
    }
    let words: Vec<String> = choices.iter().map(|choice| plain(choice)).collect();
    let list: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let failure =
        CommandFailure::usage(format!("`{flag}` takes one of {}, not `{text}`", list.join(", ")));
    Err(match nearest(text, words.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    })
}

/// A number of the right kind and within its bounds.
fn check_number(
    flag: &str,
    json: &RawValue,
    parameter: &ToolParameter<'_>,
) -> Result<(), CommandFailure> {
    let text = json.get();
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Ok(());
    }
    let Ok(number) = text.parse::<f64>() else { return Ok(()) };
    let types = parameter.types();
    if types.has("integer") && !types.has("number") && number.fract() != 0.0 {
        return Err(CommandFailure::usage(format!("`{flag}` takes an integer, not `{text}`"))
            .hint(format!("the nearest is {}", number.round())));
    }
    let limit = |key: &str| parameter.fact(key).and_then(Value::as_f64);
    let beyond = [
        (limit("minimum").filter(|limit| number < *limit), "at least"),
        (limit("maximum").filter(|limit| number > *limit), "at most"),
        (limit("exclusiveMinimum").filter(|limit| number <= *limit), "more than"),
        (limit("exclusiveMaximum").filter(|limit| number >= *limit), "less than"),
    ];
    match beyond.into_iter().find_map(|(limit, words)| Some((limit?, words))) {
        Some((limit, words)) => {
            Err(CommandFailure::usage(format!("`{flag}` takes {words} {limit}, not `{text}`")))
        }
        None => Ok(()),
    }
}

fn article(parameter: &ToolParameter<'_>) -> String {
    let label = parameter.label();
    match label.as_str() {
        "JSON" => "a JSON object".to_owned(),
        "integer" => "an integer".to_owned(),
        _ => format!("a {label}"),
    }
}

/// Longer values come by mistake, such as a device as `@file`.
const MAX_VALUE_BYTES: u64 = 16 << 20;

/// Where values come from. Stdin can be read once.
#[derive(Debug, Default)]
pub(crate) struct ArgumentSource {
    /// The flag that took stdin.
    stdin_taken_by: Option<String>,
}

impl ArgumentSource {
    /// The text that `typed` means: `@FILE` a file's, `-` stdin's, `@@…` a text that begins with `@`.
    pub(crate) fn text(&mut self, flag: &str, typed: &str) -> Result<String, CommandFailure> {
        if let Some(literal) = typed.strip_prefix("@@") {
            return Ok(format!("@{literal}"));
        }
        if let Some(file) = typed.strip_prefix('@') {
            let opened = File::open(file);
            return opened
                .and_then(read_all)
                .map_err(|error| unreadable(flag, &format!("`{file}`"), &error))
                .map_err(|failure| {
                    failure.hint(format!("for the text `{typed}` itself, write `@{typed}`"))
                });
        }
        if typed != "-" {
            return Ok(typed.to_owned());
        }
        if let Some(other) = self.stdin_taken_by.replace(flag.to_owned()) {
            return Err(CommandFailure::usage(format!("{flag}: {other} has read stdin already"))
                .hint("give one of them a file, such as @FILE"));
        }
        read_all(std::io::stdin().lock()).map_err(|error| unreadable(flag, "stdin", &error))
    }
}

fn read_all(reader: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    reader.take(MAX_VALUE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_VALUE_BYTES {
        return Err(std::io::Error::other("it is longer than 16 MiB"));
    }
    Ok(text)
}

fn unreadable(flag: &str, what: &str, error: &std::io::Error) -> CommandFailure {
    CommandFailure::usage(format!("{flag}: cannot read {what}: {error}"))
}
