//! The words for each kind of broken schema rule. Values are never echoed unless they come from a closed list,
//! because any other value may be a secret.

use serde_json::Value;

use crate::{
    diagnostic::Diagnostic,
    document::{NodeValue, PathStep, ValueNode},
    suggest::{nearest_key, quoted_list},
};

/// More known keys than this are not worth reading in a message.
const MAX_LISTED: usize = 12;

/// A key that its mapping does not have. `meant` is the known key it probably means.
pub(super) fn unknown_key(
    key: &str,
    meant: Option<&str>,
    known: &[&str],
    steps: &[PathStep],
    schema_name: &str,
) -> Diagnostic {
    let message = match name_of(steps) {
        Some(owner) => format!("unknown key `{key}` in {owner}"),
        None => format!("unknown key `{key}`"),
    };
    let fix = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.len() <= MAX_LISTED => {
            format!("remove it; the keys here are {}", quoted_list(known.iter().copied()))
        }
        None => format!("remove it; `capdeck schema {schema_name}` lists the keys"),
    };
    Diagnostic::error("unknown-key", message, fix)
}

pub(super) fn bad_name(key: &str, steps: &[PathStep]) -> Diagnostic {
    let owner = name_of(steps).unwrap_or_else(|| "this map".to_owned());
    if key == "actions" {
        let message = "`actions` cannot be the id of a child of `cliTools`";
        let fix = "rename the child; `actions` marks the form with a single group of commands";
        return Diagnostic::error("reserved-name", message, fix);
    }
    let message = format!("`{key}` is not a name that {owner} can use");
    Diagnostic::error("bad-id", message, "use 1 to 64 letters, digits, `_` or `-`")
}

pub(super) fn missing_key(key: &str, steps: &[PathStep], values: &[&Value]) -> Diagnostic {
    let message = match name_of(steps) {
        Some(owner) => format!("{owner} needs the key `{key}`"),
        None => format!("the key `{key}` is missing"),
    };
    let fix = if values.is_empty() {
        format!("add `{key}`")
    } else {
        format!(
            "add `{key}`, one of {}",
            quoted_list(values.iter().filter_map(|value| value.as_str()))
        )
    };
    Diagnostic::error("missing-key", message, fix)
}

pub(super) fn not_one_of(node: &ValueNode, steps: &[PathStep], values: &[&Value]) -> Diagnostic {
    let names: Vec<String> = values.iter().map(|value| plain(value)).collect();
    let allowed = quoted_list(names.iter().map(String::as_str));
    let Some(written) = node.text() else {
        let message = format!("{} cannot be {}", subject(steps), found(node));
        return Diagnostic::error("wrong-type", message, format!("use one of {allowed}"));
    };
    let fix = match nearest_key(written, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? The values are {allowed}"),
        None => format!("use one of {allowed}"),
    };
    let shown: String = written.chars().take(40).collect();
    Diagnostic::error("unknown-value", format!("{} cannot be `{shown}`", subject(steps)), fix)
}

pub(super) fn wrong_type(kinds: &[&str], node: &ValueNode, steps: &[PathStep]) -> Diagnostic {
    let expected: Vec<&str> = kinds.iter().map(|kind| article(kind)).collect();
    let message =
        format!("{} must be {}, found {}", subject(steps), expected.join(" or "), found(node));
    let fix = match (kinds.first().copied(), &node.content) {
        (_, NodeValue::Null) => "give it a value or remove the key",
        (Some("string"), NodeValue::Number(_) | NodeValue::Bool(_)) => "put the value in quotes",
        (Some("array"), _) => "write it as a list, one `- item` per line",
        (Some("object"), _) => "write it as a mapping, its keys on indented lines below it",
        (Some("integer" | "number"), NodeValue::Text(_)) => "write the number without quotes",
        (Some("integer"), NodeValue::Number(_)) => "use a whole number",
        (Some("boolean"), _) => "use `true` or `false`",
        _ => "change the value",
    };
    Diagnostic::error("wrong-type", message, fix)
}

/// The value as a person would name it: its key, with the key above when it is in a list or map.
pub(super) fn subject(steps: &[PathStep]) -> String {
    name_of(steps).unwrap_or_else(|| "the file".to_owned())
}

fn name_of(steps: &[PathStep]) -> Option<String> {
    let mut name = String::new();
    // Two keys place a value well enough: `repo.timeoutMs`, `setup.commands[0]`.
    let from = steps
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, step)| matches!(step, PathStep::Key(_)))
        .nth(1)
        .map_or(0, |(index, _)| index);
    for step in steps.iter().skip(from) {
        match step {
            PathStep::Key(key) if name.is_empty() => name.push_str(key),
            PathStep::Key(key) => {
                name.push('.');
                name.push_str(key);
            }
            PathStep::Index(index) => name.push_str(&format!("[{index}]")),
        }
    }
    (!name.is_empty()).then(|| format!("`{name}`"))
}

fn found(node: &ValueNode) -> &'static str {
    match &node.content {
        NodeValue::Null => "nothing",
        NodeValue::Bool(_) => "a boolean",
        NodeValue::Number(_) => "a number",
        NodeValue::Text(_) => "a string",
        NodeValue::List(_) => "a list",
        NodeValue::Map(_) => "a mapping",
    }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "string" => "a string",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "a boolean",
        "array" => "a list",
        "object" => "a mapping",
        _ => "nothing",
    }
}

pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
