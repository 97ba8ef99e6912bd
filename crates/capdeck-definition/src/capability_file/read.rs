//! From the text of a capability file to its model. Only a text that cannot be read at all loses the whole file.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use indexmap::IndexSet;
use serde::de::DeserializeOwned;

use super::{
    CapabilityFile, CapabilityIds, SubagentDeclaration,
    entry::EntryReader,
    hook::HookShape,
    index::FileIndex,
    names::plain_tool_name,
    plugin::PluginShape,
    references,
    server::ServerShape,
    skill::SkillShape,
    text_source::{AgentsShape, RuleShape},
    tool::ToolShape,
};
use crate::{
    DiagnosticSeverity,
    diagnostic::{FileFindings, TextPosition},
    document::{self, MapEntry, NodeValue, PathStep, ValueNode},
    schema,
    suggest::did_you_mean,
    violation,
};

/// A capability file, and what of it could not be used.
#[derive(Debug)]
pub(crate) struct ParsedCapabilityFile {
    pub(crate) file: CapabilityFile,
    /// Where the servers of the file stand, in their order.
    pub(crate) server_places: Vec<TextPosition>,
    /// Where the tools of the file stand, in their order.
    pub(crate) tool_places: Vec<TextPosition>,
    /// Ids of servers that are left out, with the reason.
    pub(crate) broken_servers: Vec<(String, String)>,
}

/// Reads the text. `None` when nothing of it can be used; the reason is the first error.
pub(crate) fn read(
    text: &str,
    path: &Path,
    findings: &mut FileFindings,
) -> Option<ParsedCapabilityFile> {
    let mut root = parse(text, path, findings)?;
    warn_about_unknown_keys(&root, findings);
    prune(&mut root);
    let mut document = CapabilityDocument::check(root, findings)?;
    let mut file = CapabilityFile {
        path: path.to_owned(),
        providers: document.value("providers"),
        options: document.value("options").unwrap_or_default(),
        servers: document.list("servers", findings, ServerShape::read, |one| Some(one.id.clone())),
        tools: document.list("tools", findings, ToolShape::read, |one| Some(one.qualified_name())),
        skills: document.list("skills", findings, SkillShape::read, |one| Some(one.id.clone())),
        rules: document.list("rules", findings, RuleShape::read, |one| Some(one.id.clone())),
        hooks: document.list("hooks", findings, HookShape::read, |one| Some(one.id.clone())),
        subagents: document
            .list("subagents", findings, SubagentDeclaration::check, |one| Some(one.id.clone())),
        agents: document
            .value::<AgentsShape>("agents")
            .map(|agents| agents.read(document.root.child("agents"), findings)),
        plugins: document.list("plugins", findings, PluginShape::read, |one| one.id.clone()),
        ids: CapabilityIds::default(),
        index: FileIndex::default(),
    };
    file.options.check(document.root.child("options"), findings);
    file.options.security.is_incomplete = document.security_is_broken;
    references::check(&mut file, &mut document, findings);
    file.ids = CapabilityIds::of(&file);
    Some(ParsedCapabilityFile {
        server_places: document.places("servers"),
        tool_places: document.places("tools"),
        broken_servers: document.broken_servers,
        file,
    })
}

/// The document while it is read: which entries are out, and where the others stand.
pub(super) struct CapabilityDocument {
    pub(super) root: ValueNode,
    broken: HashSet<(String, usize)>,
    broken_values: HashSet<String>,
    security_is_broken: bool,
    /// The positions in the document of the entries that were read, by section.
    pub(super) kept: HashMap<&'static str, Vec<usize>>,
    broken_servers: Vec<(String, String)>,
}

impl CapabilityDocument {
    /// Compares the document with the schema. Unknown keys cost nothing; any other mistake costs its entry.
    fn check(root: ValueNode, findings: &mut FileFindings) -> Option<Self> {
        let violations = violation::check(&schema::CAPABILITIES, &root);
        let mut document = Self {
            root,
            broken: HashSet::new(),
            broken_values: HashSet::new(),
            security_is_broken: false,
            kept: HashMap::new(),
            broken_servers: Vec::new(),
        };
        let mut broken_items: Vec<(String, String, usize)> = Vec::new();
        violation::report(violations, findings, |found| {
            let is_harmless = found.is_merely_unknown_key();
            match found.steps.as_slice() {
                _ if is_harmless => {}
                [PathStep::Key(section), PathStep::Index(index), ..] => {
                    document.leave_out(section, *index, &found.diagnostic.message);
                }
                [PathStep::Key(block), PathStep::Key(list), PathStep::Index(index), ..] => {
                    broken_items.push((block.clone(), list.clone(), *index));
                }
                // One wrong option leaves the others as they are.
                [PathStep::Key(block), PathStep::Key(option), ..] => {
                    document.security_is_broken |= block == "options" && option == "security";
                    document.root.remove(&[block, option]);
                }
                [PathStep::Key(section), ..] => {
                    document.broken_values.insert(section.clone());
                }
                [PathStep::Index(_), ..] | [] => {}
            }
            if is_harmless || found.is_below("hooks") {
                found.diagnostic.severity = DiagnosticSeverity::Warning;
            }
        })?;
        // From the back, so that the positions still to come stay right.
        broken_items.sort();
        broken_items.dedup();
        for (block, list, index) in broken_items.into_iter().rev() {
            document.root.remove_item(&[&block, &list], index);
        }
        Some(document)
    }

    /// Reads the entries of a section. One that is broken, or has the name of another, is left out with its problem told.
    fn list<S: DeserializeOwned, T>(
        &mut self,
        section: &'static str,
        findings: &mut FileFindings,
        read: impl Fn(S, &mut EntryReader<'_>) -> Option<T>,
        name: impl Fn(&T) -> Option<String>,
    ) -> Vec<T> {
        let NodeValue::List(items) = self.root.child(section).content.clone() else {
            return Vec::new();
        };
        let (mut entries, mut kept): (Vec<T>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut taken = HashSet::new();
        let noun = match section {
            "subagents" => "sub-agent",
            plural => plural.trim_end_matches('s'),
        };
        for (index, item) in items.iter().enumerate() {
            if self.broken.contains(&(section.to_owned(), index)) {
                continue;
            }
            let mark = findings.mark();
            let entry = match serde_json::from_value::<S>(item.to_json()) {
                Ok(shape) => {
                    let id = item.get("id").and_then(ValueNode::text);
                    let what =
                        id.map_or_else(|| format!("a {noun}"), |id| format!("the {noun} `{id}`"));
                    read(shape, &mut EntryReader { what: &what, node: item, findings })
                }
                Err(_) => {
                    findings.add(schema::CAPABILITIES.unreadable().at(item.place));
                    None
                }
            };
            // Broken hooks never stop anything.
            if section == "hooks" {
                findings.soften_since(mark);
            }
            let entry = match (entry, findings.first_error_since(mark)) {
                (Some(entry), None) => entry,
                (_, reason) => {
                    let reason = reason.unwrap_or_default().to_owned();
                    self.leave_out(section, index, &reason);
                    continue;
                }
            };
            // Names of tools that some clients send alike are the same name.
            let plain = |name: &String| match section {
                "tools" => plain_tool_name(name),
                _ => name.clone(),
            };
            if let Some(name) = name(&entry).filter(|name| !taken.insert(plain(name))) {
                findings.at(item.child("id").place).error(
                    "duplicate-id",
                    format!("`{section}` has `{name}` twice, and the first one is used"),
                    "rename or remove one of the two",
                );
                if section == "hooks" {
                    findings.soften_since(mark);
                }
                continue;
            }
            entries.push(entry);
            kept.push(index);
        }
        self.kept.insert(section, kept);
        entries
    }

    /// The entry of a section that was read as number `index`.
    pub(super) fn entry(&self, section: &str, index: usize) -> &ValueNode {
        let list = self.root.child(section);
        let position = self.kept.get(section).and_then(|kept| kept.get(index));
        position.map_or(list, |position| list.item(*position))
    }

    fn places(&self, section: &str) -> Vec<TextPosition> {
        let list = self.root.child(section);
        let kept = self.kept.get(section).map(Vec::as_slice).unwrap_or_default();
        kept.iter().map(|position| list.item(*position).child("id").place).collect()
    }

    /// A value that is no list of entries.
    fn value<S: DeserializeOwned>(&self, key: &str) -> Option<S> {
        if self.broken_values.contains(key) {
            return None;
        }
        serde_json::from_value(self.root.get(key)?.to_json()).ok()
    }

    fn leave_out(&mut self, section: &str, index: usize, reason: &str) {
        if self.broken.insert((section.to_owned(), index)) && section == "servers" {
            let id = self.root.child(section).item(index).child("id").text();
            self.broken_servers.push((id.unwrap_or("?").to_owned(), reason.to_owned()));
        }
    }

    /// Every id written in a section, of broken entries too, so that a reference to one is not called dangling.
    pub(super) fn written_ids(&self, section: &str) -> IndexSet<String> {
        let NodeValue::List(items) = &self.root.child(section).content else {
            return IndexSet::new();
        };
        items.iter().filter_map(|item| item.get("id")?.text().map(str::to_owned)).collect()
    }
}

fn parse(text: &str, path: &Path, findings: &mut FileFindings) -> Option<ValueNode> {
    let root = document::parse(text, path).map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    if root.is_map() {
        return Some(root);
    }
    findings.at(TextPosition { line: 1, column: 1 }).error(
        "wrong-type",
        "a capability file must be a mapping, and this one is not",
        "write keys such as `servers` and `tools` at the top level",
    );
    None
}

fn warn_about_unknown_keys(root: &ValueNode, findings: &mut FileFindings) {
    let mut keys = schema::CAPABILITIES.keys();
    keys.retain(|key| !key.starts_with('$'));
    for entry in root.entries().iter().filter(|entry| !entry.key.starts_with('$')) {
        if keys.contains(&entry.key.as_str()) {
            continue;
        }
        let otherwise = format!("remove it; the keys are {}", keys.join(", "));
        let fix = did_you_mean(&entry.key, keys.iter().copied(), otherwise);
        findings.at(entry.place).warning(
            "unknown-key",
            format!("unknown key `{}`, which is ignored", entry.key),
            fix,
        );
    }
}

/// Below these keys every value is the author's own data.
const DATA: [&str; 2] = ["default", "defaults"];
/// Maps and lists of texts, in which YAML makes numbers and booleans of some.
const TEXTS: [&str; 3] = ["env", "headers", "args"];

/// Takes out what real files write loosely and every reader accepts: `null` for nothing. Bare numbers and booleans among
/// texts become texts.
fn prune(node: &mut ValueNode) {
    match &mut node.content {
        NodeValue::Map(entries) => {
            let is_data = |entry: &MapEntry| DATA.contains(&entry.key.as_str());
            entries
                .retain(|entry| is_data(entry) || !matches!(entry.value.content, NodeValue::Null));
            for entry in entries.iter_mut().filter(|entry| !is_data(entry)) {
                match &mut entry.value.content {
                    NodeValue::Map(inner) if TEXTS.contains(&entry.key.as_str()) => {
                        inner.iter_mut().for_each(|entry| into_text(&mut entry.value));
                    }
                    NodeValue::List(items) if TEXTS.contains(&entry.key.as_str()) => {
                        items.iter_mut().for_each(into_text);
                    }
                    _ => {}
                }
                prune(&mut entry.value);
            }
        }
        NodeValue::List(items) => items.iter_mut().for_each(prune),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::Text(_) => {}
    }
}

fn into_text(node: &mut ValueNode) {
    match &node.content {
        NodeValue::Bool(value) => node.content = NodeValue::Text(value.to_string()),
        NodeValue::Number(number) => node.content = NodeValue::Text(number.to_string()),
        NodeValue::Null | NodeValue::Text(_) | NodeValue::List(_) | NodeValue::Map(_) => {}
    }
}
