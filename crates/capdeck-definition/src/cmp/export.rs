//! The way back: a capability of commands as the two files of a CMP tool.

mod action;

use serde_json::{Map, Value, json};

use crate::{Backend, CmpIntent, CmpTool, Definition};

/// The longest summary a manifest may have.
const MAX_SUMMARY_LENGTH: usize = 100;

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
/// than the one it stands for.
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
                match action::convert(name, action, tools) {
                    Ok(converted) => {
                        notes.extend(converted.notes);
                        intents.push(write_intent(&converted.intent));
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
    let mut manifest = Map::new();
    let mut put = |key: &str, value: Value| drop(manifest.insert(key.to_owned(), value));
    put("domain", json!(tool.map_or(domain, |tool| tool.domain.clone())));
    let name = tool.map_or(definition.id.as_str(), |_| definition.name.as_str());
    put("name", json!(name));
    put("summary", json!(summary(&definition.description, notes)));
    put("version", json!(tool.map_or("0.1.0", |tool| tool.version.as_str())));
    if let Some(binary) = tool.and_then(|tool| tool.binary.as_ref()) {
        put("binary", json!(binary));
    }
    if let Some(requires) = tool.map(|tool| &tool.requires).filter(|all| !all.is_empty()) {
        put("requires", json!(requires));
    }
    if !tags.is_empty() {
        put("tags", json!(tags));
    }
    let wraps = match tool {
        Some(tool) => tool.wraps.clone(),
        None => only_program(definition),
    };
    if let Some(wraps) = wraps {
        put("adapter", json!(true));
        put("wraps", json!(wraps));
    }
    Value::Object(manifest)
}

/// The program that all actions run, if there is one.
fn only_program(definition: &Definition) -> Option<String> {
    let Backend::Cli(tools) = &definition.backend else { return None };
    let mut programs = tools.actions.values().map(|action| &action.command);
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
