//! From the text of a capability file to its model. Only a text that cannot be read at all loses the whole file.

use std::{collections::HashSet, path::Path};

use indexmap::IndexSet;
use serde::de::DeserializeOwned;

use super::{
    CapabilityFile, CapabilityFileOptions, CapabilityIds, SubagentDeclaration,
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
    /// The positions of the file's servers, in their order.
    pub(crate) server_places: Vec<TextPosition>,
    /// The positions of the file's tools, in their order.
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
    let broken = BrokenParts::take_from(&mut root, findings)?;
    let mut reader = SectionReader { root: &root, broken, findings };
    let servers = reader.list("servers", ServerShape::read, |one| Some(one.id.clone()));
    let tools = reader.list("tools", ToolShape::read, |one| Some(one.qualified_name()));
    let skills = reader.list("skills", SkillShape::read, |one| Some(one.id.clone()));
    let rules = reader.list("rules", RuleShape::read, |one| Some(one.id.clone()));
    let hooks = reader.list("hooks", HookShape::read, |one| Some(one.id.clone()));
    let subagents =
        reader.list("subagents", SubagentDeclaration::check, |one| Some(one.id.clone()));
    let agents = reader.value::<AgentsShape>("agents");
    let agents = agents.map(|agents| agents.read(root.child("agents"), reader.findings));
    let plugins = entries(reader.list("plugins", PluginShape::read, |one| one.id.clone()));
    let mut options: CapabilityFileOptions = reader.value("options").unwrap_or_default();
    options.check(root.child("options"), reader.findings);
    options.security.is_incomplete = reader.broken.has_security;
    let tools = references::with_servers(tools, &plugins, &root, reader.findings);
    let (servers, server_nodes): (_, Vec<_>) = servers.into_iter().unzip();
    let (tools, tool_nodes): (_, Vec<_>) = tools.into_iter().unzip();
    let (skills, skill_nodes) = skills.into_iter().unzip();
    let (subagents, subagent_nodes) = subagents.into_iter().unzip();
    let mut file = CapabilityFile {
        path: path.to_owned(),
        providers: reader.value("providers"),
        options,
        servers,
        tools,
        skills,
        rules: entries(rules),
        hooks: entries(hooks),
        subagents,
        agents,
        plugins,
        ..CapabilityFile::default()
    };
    file.index = FileIndex::from_file(&file);
    let id_places =
        |nodes: &[&ValueNode]| nodes.iter().map(|node| node.child("id").place).collect();
    let server_places = id_places(&server_nodes);
    let tool_places = id_places(&tool_nodes);
    let nodes =
        EntryNodes { servers: server_nodes, skills: skill_nodes, subagents: subagent_nodes };
    references::check(&file, &nodes, &root, reader.findings);
    file.ids = CapabilityIds::assign(&file);
    let broken_servers = reader.broken.servers;
    Some(ParsedCapabilityFile { file, server_places, tool_places, broken_servers })
}

/// The positions of the entries that refer to others, in their order.
pub(super) struct EntryNodes<'a> {
    pub(super) servers: Vec<&'a ValueNode>,
    pub(super) skills: Vec<&'a ValueNode>,
    pub(super) subagents: Vec<&'a ValueNode>,
}

fn entries<T>(located: Vec<(T, &ValueNode)>) -> Vec<T> {
    located.into_iter().map(|(entry, _)| entry).collect()
}

/// What the schema refuses of a document.
#[derive(Default)]
struct BrokenParts {
    /// By section and position.
    entries: HashSet<(String, usize)>,
    values: HashSet<String>,
    has_security: bool,
    /// Ids of servers, with the reason.
    servers: Vec<(String, String)>,
}

impl BrokenParts {
    /// Compares the document with the schema and takes broken options out of it. Unknown keys cost nothing; any other
    /// mistake costs its entry.
    fn take_from(root: &mut ValueNode, findings: &mut FileFindings) -> Option<Self> {
        let violations = violation::check(&schema::CAPABILITIES, root);
        let mut broken = Self::default();
        let mut broken_items: Vec<(String, String, usize)> = Vec::new();
        violation::report(violations, findings, |found| {
            let is_harmless = found.is_merely_unknown_key();
            match found.steps.as_slice() {
                _ if is_harmless => {}
                [PathStep::Key(section), PathStep::Index(index), ..] => {
                    broken.add(section, *index, root, &found.diagnostic.message);
                }
                [PathStep::Key(block), PathStep::Key(list), PathStep::Index(index), ..] => {
                    broken_items.push((block.clone(), list.clone(), *index));
                }
                // One wrong option leaves the others as they are.
                [PathStep::Key(block), PathStep::Key(option), ..] => {
                    broken.has_security |= block == "options" && option == "security";
                    root.remove(&[block, option]);
                }
                [PathStep::Key(section), ..] => {
                    broken.values.insert(section.clone());
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
            root.remove_item(&[&block, &list], index);
        }
        Some(broken)
    }

    fn add(&mut self, section: &str, index: usize, root: &ValueNode, reason: &str) {
        if self.entries.insert((section.to_owned(), index)) && section == "servers" {
            let id = root.child(section).item(index).child("id").text();
            self.servers.push((id.unwrap_or("?").to_owned(), reason.to_owned()));
        }
    }
}

/// The document while its sections are read.
struct SectionReader<'a> {
    root: &'a ValueNode,
    broken: BrokenParts,
    findings: &'a mut FileFindings,
}

impl<'a> SectionReader<'a> {
    /// Reads the entries of a section, with their nodes. One that is broken, or has the name of another, is left out
    /// with its problem reported.
    fn list<S: DeserializeOwned, T>(
        &mut self,
        section: &str,
        read: impl Fn(S, &mut EntryReader<'_>) -> Option<T>,
        name: impl Fn(&T) -> Option<String>,
    ) -> Vec<(T, &'a ValueNode)> {
        let NodeValue::List(items) = &self.root.child(section).content else { return Vec::new() };
        let mut located = Vec::new();
        let mut taken = HashSet::new();
        let noun = match section {
            "subagents" => "sub-agent",
            plural => plural.trim_end_matches('s'),
        };
        for (index, item) in items.iter().enumerate() {
            if self.broken.entries.contains(&(section.to_owned(), index)) {
                continue;
            }
            let mark = self.findings.mark();
            let entry = match serde_json::from_value::<S>(item.to_json()) {
                Ok(shape) => {
                    let id = item.get("id").and_then(ValueNode::text);
                    let what =
                        id.map_or_else(|| format!("a {noun}"), |id| format!("the {noun} `{id}`"));
                    read(
                        shape,
                        &mut EntryReader { what: &what, node: item, findings: self.findings },
                    )
                }
                Err(_) => {
                    self.findings.add(schema::CAPABILITIES.unreadable().at(item.place));
                    None
                }
            };
            // Broken hooks never stop anything.
            if section == "hooks" {
                self.findings.soften_since(mark);
            }
            let entry = match (entry, self.findings.first_error_since(mark)) {
                (Some(entry), None) => entry,
                (_, reason) => {
                    self.broken.add(section, index, self.root, reason.unwrap_or_default());
                    continue;
                }
            };
            // Names of tools that some clients send alike are the same name.
            let plain = |name: &String| match section {
                "tools" => plain_tool_name(name),
                _ => name.clone(),
            };
            if let Some(name) = name(&entry).filter(|name| !taken.insert(plain(name))) {
                let message = format!("`{section}` has `{name}` twice, and the first one is used");
                let fix = "rename or remove one of the two";
                self.findings.at(item.child("id").place).error("duplicate-id", message, fix);
                if section == "hooks" {
                    self.findings.soften_since(mark);
                }
                continue;
            }
            located.push((entry, item));
        }
        located
    }

    /// A value that is no list of entries.
    fn value<S: DeserializeOwned>(&self, key: &str) -> Option<S> {
        if self.broken.values.contains(key) {
            return None;
        }
        serde_json::from_value(self.root.get(key)?.to_json()).ok()
    }
}

/// Every id written in a section, of broken entries too, so that a reference to one is not called dangling.
pub(super) fn written_ids(root: &ValueNode, section: &str) -> IndexSet<String> {
    let NodeValue::List(items) = &root.child(section).content else { return IndexSet::new() };
    items.iter().filter_map(|item| item.get("id")?.text().map(str::to_owned)).collect()
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
    for (key, entry) in root.entries().iter().filter(|(key, _)| !key.starts_with('$')) {
        if keys.contains(&key.as_str()) {
            continue;
        }
        let otherwise = format!("remove it; the keys are {}", keys.join(", "));
        let fix = did_you_mean(key, keys.iter().copied(), otherwise);
        let message = format!("unknown key `{key}`, which is ignored");
        findings.at(entry.place).warning("unknown-key", message, fix);
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
            let is_data = |key: &String| DATA.contains(&key.as_str());
            let is_null = |entry: &MapEntry| matches!(entry.value.content, NodeValue::Null);
            entries.retain(|key, entry| is_data(key) || !is_null(entry));
            for (key, entry) in entries.iter_mut().filter(|(key, _)| !is_data(key)) {
                match &mut entry.value.content {
                    NodeValue::Map(inner) if TEXTS.contains(&key.as_str()) => {
                        inner.values_mut().for_each(|entry| into_text(&mut entry.value));
                    }
                    NodeValue::List(items) if TEXTS.contains(&key.as_str()) => {
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
