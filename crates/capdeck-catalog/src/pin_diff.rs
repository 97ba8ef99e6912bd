//! What changed between pinned definitions and those a backend sends now, by kind.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{CapabilityPins, RawMembers, Tool, canonical, pin::nameless_digest};

/// Two definitions at least this alike, one gone and one new, are one tool with another name.
const MIN_RENAME_SIMILARITY: f64 = 0.75;
/// More pairs than this are not compared for likeness.
const MAX_COMPARED_PAIRS: usize = 10_000;
/// Letters of a description that are compared.
const MAX_COMPARED_LETTERS: usize = 400;

/// Differences listed per part.
const MAX_DIFFERENCES: usize = 100;

/// One difference between the pins and what is offered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum PinChange {
    /// A tool that was not there when the capability was pinned.
    Added { tool: String },
    /// A pinned tool that is no longer offered.
    Removed { tool: String },
    /// A pinned tool under another name, perhaps with other changes.
    Renamed { tool: String, from: String, changes: Vec<DefinitionChange> },
    /// A tool whose definition is not the pinned one.
    Changed { tool: String, changes: Vec<DefinitionChange> },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "part", rename_all = "camelCase")]
pub enum DefinitionChange {
    Title { before: Option<String>, after: Option<String> },
    Description { before: Option<String>, after: Option<String> },
    InputSchema { members: Vec<MemberChange> },
    OutputSchema { members: Vec<MemberChange> },
    Annotations { members: Vec<MemberChange> },
}

impl PinChange {
    /// The tool it is about, under its present name.
    pub fn tool(&self) -> &str {
        match self {
            Self::Added { tool }
            | Self::Removed { tool }
            | Self::Renamed { tool, .. }
            | Self::Changed { tool, .. } => tool,
        }
    }

    /// The kind of change, in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Added { .. } => "added",
            Self::Removed { .. } => "removed",
            Self::Renamed { .. } => "renamed",
            Self::Changed { .. } => "changed",
        }
    }
}

impl DefinitionChange {
    /// The member of the definition it is about.
    pub fn part(&self) -> &'static str {
        match self {
            Self::Title { .. } => "title",
            Self::Description { .. } => "description",
            Self::InputSchema { .. } => "inputSchema",
            Self::OutputSchema { .. } => "outputSchema",
            Self::Annotations { .. } => "annotations",
        }
    }
}

/// Compares all tools; the changes come in the order of the tools, those that are gone last.
pub(crate) fn compare(book: &CapabilityPins, tools: &[Arc<Tool>]) -> Vec<PinChange> {
    let offered: BTreeMap<&str, &Arc<Tool>> =
        tools.iter().map(|tool| (tool.name(), tool)).collect();
    let mut gone: BTreeMap<&str, &RawMembers> = book
        .tools
        .iter()
        .filter(|(name, _)| !offered.contains_key(name.as_str()))
        .map(|(name, pin)| (name.as_str(), &pin.definition))
        .collect();
    let mut renamed = renames(book, &offered, &mut gone);
    let mut changes = Vec::new();
    for (name, tool) in offered {
        let tool_name = name.to_owned();
        match book.tools.get(name) {
            Some(pin) if pin.fits(tool) => {}
            Some(pin) => changes.push(PinChange::Changed {
                tool: tool_name,
                changes: definition_changes(&pin.definition, tool.raw()),
            }),
            None => changes.push(match renamed.remove(name) {
                Some((from, before)) => PinChange::Renamed {
                    tool: tool_name,
                    from: from.to_owned(),
                    changes: definition_changes(before, tool.raw()),
                },
                None => PinChange::Added { tool: tool_name },
            }),
        }
    }
    changes.extend(gone.into_keys().map(|tool| PinChange::Removed { tool: tool.to_owned() }));
    changes
}

/// New names of pinned tools, taken out of `gone`: first by the very same definition, then by likeness.
fn renames<'a>(
    book: &CapabilityPins,
    offered: &BTreeMap<&'a str, &'a Arc<Tool>>,
    gone: &mut BTreeMap<&'a str, &'a RawMembers>,
) -> BTreeMap<&'a str, (&'a str, &'a RawMembers)> {
    let new: Vec<(&str, &Arc<Tool>)> = offered
        .iter()
        .filter(|(name, _)| !book.tools.contains_key(**name))
        .map(|(name, tool)| (*name, *tool))
        .collect();
    let mut renamed = BTreeMap::new();
    let mut by_digest: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, definition) in gone.iter() {
        by_digest.entry(nameless_digest(definition)).or_default().push(name);
    }
    for (name, tool) in &new {
        let same = by_digest.get_mut(&nameless_digest(tool.raw())).and_then(Vec::pop);
        if let Some(definition) = same.and_then(|from| gone.remove(from)) {
            renamed.insert(*name, (same.unwrap_or_default(), definition));
        }
    }
    let left: Vec<_> = new.iter().filter(|(name, _)| !renamed.contains_key(name)).collect();
    if left.len().saturating_mul(gone.len()) > MAX_COMPARED_PAIRS {
        return renamed;
    }
    let mut pairs: Vec<(f64, &str, &str)> = Vec::new();
    for (name, tool) in left {
        for (from, definition) in gone.iter() {
            let likeness = likeness(from, definition, name, tool.raw());
            if likeness >= MIN_RENAME_SIMILARITY {
                pairs.push((likeness, *name, *from));
            }
        }
    }
    pairs.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (_, name, from) in pairs {
        if !renamed.contains_key(name)
            && let Some(definition) = gone.remove(from)
        {
            renamed.insert(name, (from, definition));
        }
    }
    renamed
}

/// How alike two definitions are, from 0 to 1: by what they say, what they take and what they are called.
fn likeness(from: &str, before: &RawMembers, name: &str, after: &RawMembers) -> f64 {
    let description = |definition: &RawMembers| -> String {
        text(definition, "description")
            .unwrap_or_default()
            .chars()
            .take(MAX_COMPARED_LETTERS)
            .collect()
    };
    let (one, other) = (description(before), description(after));
    let said = if one.is_empty() && other.is_empty() {
        0.0
    } else {
        strsim::normalized_levenshtein(&one, &other)
    };
    let (one, other) = (parameters(before), parameters(after));
    let shared = one.iter().filter(|name| other.contains(name)).count();
    let all = one.len() + other.len() - shared;
    #[expect(clippy::cast_precision_loss, reason = "a tool has few parameters")]
    let taken = if all == 0 { 0.5 } else { shared as f64 / all as f64 };
    0.5 * said + 0.3 * taken + 0.2 * strsim::normalized_levenshtein(from, name)
}

fn parameters(definition: &RawMembers) -> Vec<String> {
    let schema = value(definition, "inputSchema");
    let properties = schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

fn definition_changes(before: &RawMembers, after: &RawMembers) -> Vec<DefinitionChange> {
    let mut changes = Vec::new();
    let texts = |key: &str| {
        let (one, other) = (text(before, key), text(after, key));
        (one != other).then_some((one, other))
    };
    if let Some((before, after)) = texts("title") {
        changes.push(DefinitionChange::Title { before, after });
    }
    if let Some((before, after)) = texts("description") {
        changes.push(DefinitionChange::Description { before, after });
    }
    let parts = |key: &str| {
        let part = |definition: &'_ RawMembers| definition.get(key).cloned();
        let members = compare_members(part(before).as_deref(), part(after).as_deref());
        (!members.is_empty()).then_some(members)
    };
    if let Some(members) = parts("inputSchema") {
        changes.push(DefinitionChange::InputSchema { members });
    }
    if let Some(members) = parts("outputSchema") {
        changes.push(DefinitionChange::OutputSchema { members });
    }
    if let Some(members) = parts("annotations") {
        changes.push(DefinitionChange::Annotations { members });
    }
    changes
}

fn text(definition: &RawMembers, key: &str) -> Option<String> {
    value(definition, key)?.as_str().map(str::to_owned)
}

fn value(definition: &RawMembers, key: &str) -> Option<Value> {
    serde_json::from_str(definition.get(key)?.get()).ok()
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemberChange {
    /// The way to it, such as `properties.path.type`; empty for the whole part.
    pub path: String,
    pub kind: MemberChangeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberChangeKind {
    Added,
    Removed,
    Changed,
}

/// Compares two parts of definitions; nothing when they say the same.
fn compare_members(before: Option<&RawValue>, after: Option<&RawValue>) -> Vec<MemberChange> {
    if before.map(canonical) == after.map(canonical) {
        return Vec::new();
    }
    let value = |text: Option<&RawValue>| -> Option<Value> {
        text.and_then(|text| serde_json::from_str(text.get()).ok())
    };
    let (before, after) = (value(before), value(after));
    let mut changes = Vec::new();
    walk("", before.as_ref(), after.as_ref(), &mut changes);
    if changes.is_empty() {
        // Only the spelling of a number differs, which some readers take for another number.
        changes.push(MemberChange {
            path: String::new(),
            kind: MemberChangeKind::Changed,
            before,
            after,
        });
    }
    changes
}

fn walk(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut Vec<MemberChange>,
) {
    if before == after || changes.len() >= MAX_DIFFERENCES {
        return;
    }
    if let (Some(Value::Object(one)), Some(Value::Object(other))) = (before, after) {
        let new = other.keys().filter(|key| !one.contains_key(*key));
        for key in one.keys().chain(new) {
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            walk(&below, one.get(key), other.get(key), changes);
        }
        return;
    }
    let kind = match (before, after) {
        (None, _) => MemberChangeKind::Added,
        (_, None) => MemberChangeKind::Removed,
        _ => MemberChangeKind::Changed,
    };
    changes.push(MemberChange {
        path: path.to_owned(),
        kind,
        before: before.cloned(),
        after: after.cloned(),
    });
}
