//! One command-line action as an intent.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::{
    ALLOW_LEADING_DASH, CliAction, CliOutputType, CliTools, CmpIntent, CmpParam, CmpType,
    CommandTemplate, cmp::intent::tool_name, pattern::holds_reference,
};

/// An action as an intent, and what it says differently.
pub(super) struct IntentConversion {
    pub(super) intent: CmpIntent,
    pub(super) notes: Vec<String>,
}

/// Converts an action, or tells everything about it that the format cannot say.
pub(super) fn convert(
    name: &str,
    action: &CliAction,
    tools: &CliTools,
) -> Result<IntentConversion, Vec<String>> {
    let mut problems = Vec::new();
    let mut problem = |what: String| problems.push(format!("`{name}` {what}"));
    if action.cwd.is_some() || tools.cwd.is_some() {
        problem("runs in a folder of its own (`cwd`)".to_owned());
    }
    let mut words: Vec<String> = Vec::new();
    let variables: IndexMap<&String, &String> = tools.env.iter().chain(&action.env).collect();
    if !variables.is_empty() {
        words.push("env".to_owned());
        words.extend(variables.iter().map(|(key, value)| format!("{key}={value}")));
    }
    words.push(action.command.clone());
    words.extend(action.args.iter().cloned());
    let mut params = declared(action, &mut problem);
    let mut written = Vec::new();
    for word in &words {
        if holds_reference(word) {
            problem(format!("refers to a variable or a secret in `{word}`"));
            continue;
        }
        match template_word(word) {
            Ok(word) => written.push(word),
            Err(what) => problem(what),
        }
    }
    let phrase = name.replace(['_', '-'], " ");
    let command = match CommandTemplate::parse(&written.join(" ")) {
        Ok(command) => command,
        Err(error) => {
            problem(format!("has no command that can be written: {error}"));
            return Err(problems);
        }
    };
    if !problems.is_empty() {
        return Err(problems);
    }
    for used in command.params() {
        params.entry(used.to_owned()).or_insert_with(|| CmpParam {
            kind: CmpType::String,
            required: true,
            default: None,
            description: None,
            choices: Vec::new(),
            allow_leading_dash: false,
        });
    }
    let mut notes = Vec::new();
    if tool_name(&phrase) != name {
        notes.push(format!("`{name}` becomes `{}`", tool_name(&phrase)));
    }
    if action.timeout_ms.unwrap_or(tools.timeout_ms) > 30_000 {
        notes.push(format!("`{name}` gets 30 seconds, as every CMP command"));
    }
    let hints = action.annotations.unwrap_or_default();
    let destructive = hints.destructive_hint == Some(true);
    let safe = hints.idempotent_hint.or(hints.read_only_hint).unwrap_or(false);
    let intent = CmpIntent {
        patterns: vec![phrase],
        command,
        params,
        returns: returns(action),
        confirm: destructive,
        destructive,
        idempotent: safe,
    };
    Ok(IntentConversion { intent, notes })
}

/// A word with `{name}` for `$input.name`, quoted so that it stays one word.
fn template_word(word: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("$input.") {
        text.push_str(&plain(before)?);
        let is_path = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
        let length = after.find(|letter| !is_path(letter)).unwrap_or(after.len());
        let (path, after) = after.split_at_checked(length).unwrap_or((after, ""));
        let path_only = path.trim_end_matches('.');
        if path_only.contains(['.', '-']) {
            return Err(format!("takes a value from inside another: `$input.{path_only}`"));
        }
        text.push_str(&format!("{{{path_only}}}"));
        text.extend(std::iter::repeat_n('.', path.len() - path_only.len()));
        rest = after;
    }
    text.push_str(&plain(rest)?);
    Ok(quoted(&text))
}

/// Text that must not be read as a placeholder.
fn plain(text: &str) -> Result<String, String> {
    let template = CommandTemplate::parse(&format!("x {}", quoted(text)));
    if template.is_ok_and(|template| template.params().next().is_some()) {
        return Err(format!("has a word that would be a placeholder: `{text}`"));
    }
    Ok(text.to_owned())
}

/// A word as POSIX quoting writes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,{}".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn declared(action: &CliAction, problem: &mut impl FnMut(String)) -> IndexMap<String, CmpParam> {
    let empty = Map::new();
    let schema = action.input_schema.as_ref().unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut params = IndexMap::new();
    for (name, property) in properties.into_iter().flatten() {
        let Some(kind) = type_of(property) else {
            problem(format!("takes a value of a type that CMP does not have: `{name}`"));
            continue;
        };
        let choices = match kind.items() {
            Some(_) => property.pointer("/items/enum"),
            None => property.get("enum"),
        };
        let param = CmpParam {
            kind,
            required: is_required(name),
            default: property.get("default").cloned(),
            description: property.get("description").and_then(Value::as_str).map(str::to_owned),
            choices: choices.and_then(Value::as_array).cloned().unwrap_or_default(),
            allow_leading_dash: property.get(ALLOW_LEADING_DASH) == Some(&Value::Bool(true)),
        };
        params.insert(name.clone(), param);
    }
    params
}

fn type_of(property: &Value) -> Option<CmpType> {
    let name = property.get("type")?.as_str()?;
    let written = match name {
        "array" => format!("array<{}>", property.pointer("/items/type")?.as_str()?),
        single => single.to_owned(),
    };
    CmpType::ALL.into_iter().find(|kind| kind.as_str() == written)
}

/// The schema of the JSON an action prints, when it says so.
fn returns(action: &CliAction) -> Option<Value> {
    let is_json = action.output.is_some_and(|output| output.kind == CliOutputType::Json);
    let schema = action.output_schema.as_ref()?.get("properties")?.get("json")?;
    (is_json && schema.is_object()).then(|| schema.clone())
}
