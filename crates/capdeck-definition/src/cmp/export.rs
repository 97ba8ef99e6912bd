//! The way back: a capability of commands as the two files of a CMP tool.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::{
    ALLOW_LEADING_DASH, Backend, CliAction, CliOutputType, CliTools, CmpIntent, CmpParam, CmpTool,
    CmpType, CommandTemplate, Definition,
    cmp::{MAX_SUMMARY_LENGTH, intent::tool_name},
    pattern::holds_reference,
    shape::cmp_files::ManifestFile,
};

/// The two files of a CMP tool.
#[derive(Debug, Clone, PartialEq)]
pub struct CmpExport {
    pub manifest: Value,
    pub capability: Value,
    /// What the files say differently than the capability does.
    pub notes: Vec<String>,
}

/// A capability that the format cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("`{id}` is no capability of commands, but `{kind}`")]
    NoCommands { id: String, kind: &'static str },
    #[error("`{id}` cannot be written as a CMP tool: {}", problems.join("; "))]
    Inexpressible { id: String, problems: Vec<String> },
}

/// Writes a capability in CMP's form. What cannot be said there is refused, so that no command is exported that does less
/// than the original.
pub fn export_cmp(definition: &Definition) -> Result<CmpExport, ExportError> {
    let mut notes = Vec::new();
    let (tool, intents) = match &definition.backend {
        Backend::Cmp(tool) => {
            let intents = tool.intents.values().map(write_intent).collect();
            (Some(tool), intents)
        }
        Backend::Cli(tools) => {
            let mut problems = Vec::new();
            let mut intents = Vec::new();
            for (name, action) in &tools.actions {
                match convert(name, action, tools) {
                    Ok((intent, differences)) => {
                        notes.extend(differences);
                        intents.push(write_intent(&intent));
                    }
                    Err(found) => problems.extend(found),
                }
            }
            if !problems.is_empty() {
                let id = definition.id.to_string();
                return Err(ExportError::Inexpressible { id, problems });
            }
            (None, intents)
        }
        other => {
            let id = definition.id.to_string();
            return Err(ExportError::NoCommands { id, kind: other.kind().as_str() });
        }
    };
    let manifest = write_manifest(definition, tool, &mut notes);
    let capability = json!({ "intents": Value::Array(intents) });
    Ok(CmpExport { manifest, capability, notes })
}

fn write_manifest(
    definition: &Definition,
    tool: Option<&CmpTool>,
    notes: &mut Vec<String>,
) -> Value {
    let (domain, tags) = match definition.tags.split_first() {
        Some((domain, tags)) => (domain.clone(), tags.to_vec()),
        None => ("cli".to_owned(), Vec::new()),
    };
    let wraps = match tool {
        Some(tool) => tool.wraps.clone(),
        None => only_program(definition),
    };
    let mut manifest = json!(ManifestFile {
        domain: tool.map_or(domain, |tool| tool.domain.clone()),
        name: tool.map_or(definition.id.as_str(), |_| definition.name.as_str()).to_owned(),
        summary: summary(&definition.description, notes),
        version: tool.map_or("0.1.0", |tool| tool.version.as_str()).to_owned(),
        binary: tool.and_then(|tool| tool.binary.clone()),
        requires: tool.map(|tool| tool.requires.clone()).unwrap_or_default(),
        tags,
        adapter: wraps.is_some().then_some(true),
        wraps,
    });
    if let Some(members) = manifest.as_object_mut() {
        members.retain(|_, value| !value.is_null() && *value != json!([]));
    }
    manifest
}

/// The program that all actions run, if there is one.
fn only_program(definition: &Definition) -> Option<String> {
    let Backend::Cli(tools) = &definition.backend else { return None };
    let mut programs = tools.actions.values().map(|action| &action.program.command);
    let first = programs.next()?;
    programs.all(|program| program == first).then(|| first.clone())
}

fn summary(description: &str, notes: &mut Vec<String>) -> String {
    let line = description.trim().lines().next().unwrap_or_default().trim();
    if line.chars().count() <= MAX_SUMMARY_LENGTH {
        return line.to_owned();
    }
    notes.push(format!("the summary is cut to {MAX_SUMMARY_LENGTH} characters"));
    let cut: String = line.chars().take(MAX_SUMMARY_LENGTH - 1).collect();
    // Between words where there is one near.
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    format!("{}…", whole.trim_end_matches([',', ';', ':']))
}

/// An intent as a file has it, with nothing said that is so anyway.
fn write_intent(intent: &CmpIntent) -> Value {
    let mut written = json!(intent);
    leave_out(&mut written, &[("confirm", false), ("destructive", false), ("idempotent", true)]);
    let params = written.get_mut("params").and_then(Value::as_object_mut);
    for param in params.into_iter().flat_map(|params| params.values_mut()) {
        // That a value may begin with `-` is ours to say.
        leave_out(param, &[("required", false), ("allowLeadingDash", true)]);
    }
    written
}

/// Takes out the members that have these values.
fn leave_out(written: &mut Value, defaults: &[(&str, bool)]) {
    let Some(members) = written.as_object_mut() else { return };
    members
        .retain(|key, value| !defaults.iter().any(|(name, known)| key == name && *value == *known));
}

/// Converts an action to an intent, with what it says differently, or tells everything about it that the format cannot say.
fn convert(
    name: &str,
    action: &CliAction,
    tools: &CliTools,
) -> Result<(CmpIntent, Vec<String>), Vec<String>> {
    let mut problems = Vec::new();
    let mut problem = |what: String| problems.push(format!("`{name}` {what}"));
    if action.program.cwd.is_some() || tools.cwd.is_some() {
        problem("runs in a folder of its own (`cwd`)".to_owned());
    }
    let mut words: Vec<String> = Vec::new();
    let variables: IndexMap<&String, &String> =
        tools.env.iter().chain(&action.program.env).collect();
    if !variables.is_empty() {
        words.push("env".to_owned());
        words.extend(variables.iter().map(|(key, value)| format!("{key}={value}")));
    }
    words.push(action.program.command.clone());
    words.extend(action.program.args.iter().cloned());
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
        params.entry(used.to_owned()).or_insert_with(CmpParam::undeclared);
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
    Ok((intent, notes))
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
    let schema = action.schemas.input_schema.as_ref().unwrap_or(&empty);
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
    let schema = action.schemas.output_schema.as_ref()?.get("properties")?.get("json")?;
    (is_json && schema.is_object()).then(|| schema.clone())
}
