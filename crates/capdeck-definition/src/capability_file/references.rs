//! What entries say about each other: tools of servers, tools of skills, skills and tools of sub-agents.

use indexmap::IndexSet;

use super::{
    CapabilityFile, PluginDeclaration, ServerToolFilter, SkillKind, ToolDeclaration, ToolKind,
    names::without_at,
    read::{EntryNodes, written_ids},
};
use crate::{
    diagnostic::FileFindings,
    document::ValueNode,
    suggest::{MAX_CANDIDATES, did_you_mean},
};

/// Checks every reference; one that dangles is a warning.
pub(super) fn check(
    file: &CapabilityFile,
    nodes: &EntryNodes<'_>,
    root: &ValueNode,
    findings: &mut FileFindings,
) {
    let known = KnownNames {
        file,
        tools: written_ids(root, "tools"),
        skills: written_ids(root, "skills"),
        tool_names: file
            .tools
            .iter()
            .take(MAX_CANDIDATES)
            .flat_map(|tool| [tool.qualified_name(), tool.id.clone()])
            .collect(),
        has_open_server: file
            .servers
            .iter()
            .any(|server| file.tools_of(&server.id).next().is_none()),
    };
    for (server, node) in file.servers.iter().zip(&nodes.servers) {
        // Tools of a server in the file switch its policy off.
        if node.get("expose").is_some() && file.tools_of(&server.id).next().is_some() {
            let id = &server.id;
            let message = format!("`expose` of `{id}` is ignored, because `tools` has tools of it");
            let fix = "remove `expose`, or the entries of `tools`";
            findings.at(node.key_place("expose")).warning("ignored-key", message, fix);
        }
    }
    for (skill, node) in file.skills.iter().zip(&nodes.skills) {
        let def = node.child("def");
        let what = format!("the skill `{}` requires", skill.id);
        check_tool_references(&known, &skill.requires, &what, def.child("requires"), findings);
        if skill.kind == SkillKind::Plugin && file.plugins.is_empty() {
            findings.at(node.child("type").place).warning(
                "unknown-reference",
                format!("the skill `{}` comes from a plugin, and the file has none", skill.id),
                "add the plugin to `plugins`, or change `type`",
            );
        }
    }
    for (subagent, node) in file.subagents.iter().zip(&nodes.subagents) {
        let what = format!("the sub-agent `{}` uses", subagent.id);
        check_tool_references(&known, &subagent.tools, &what, node.child("tools"), findings);
        for (index, skill) in subagent.skills.iter().enumerate() {
            if known.skills.contains(skill) || !file.plugins.is_empty() {
                continue;
            }
            let id = &subagent.id;
            let message =
                format!("the sub-agent `{id}` uses the skill `{skill}`, which is not there");
            let skills = known.skills.iter().map(String::as_str);
            let fix = did_you_mean(skill, skills, "add it to `skills`, or remove it here");
            let place = node.child("skills").item(index).place;
            findings.at(place).warning("unknown-reference", message, fix);
        }
    }
}

/// The tools whose server is there, or may come from a plugin. Others are left out with an error.
pub(super) fn with_servers<'a>(
    mut tools: Vec<(ToolDeclaration, &'a ValueNode)>,
    plugins: &[PluginDeclaration],
    root: &ValueNode,
    findings: &mut FileFindings,
) -> Vec<(ToolDeclaration, &'a ValueNode)> {
    let mut known = written_ids(root, "servers");
    for (key, server) in plugins.iter().flat_map(|plugin| &plugin.servers) {
        known.insert(server.renamed.clone().unwrap_or_else(|| key.clone()));
    }
    tools.retain(|(tool, node)| {
        let ToolKind::Mcp(mcp) = &tool.kind else { return true };
        if known.contains(&mcp.server) {
            return true;
        }
        let message =
            format!("the tool `{}` is of the server `{}`, which is not there", tool.id, mcp.server);
        let fix =
            did_you_mean(&mcp.server, known.iter().map(String::as_str), "add it to `servers`");
        let found = findings.at(node.child("def").child("server").place);
        if plugins.is_empty() {
            found.error("unknown-reference", message, fix);
        } else {
            let message = format!("{message} unless a plugin brings it");
            found.warning("unknown-reference", message, fix);
        }
        !plugins.is_empty()
    });
    tools
}

impl CapabilityFile {
    /// The tools that no skill requires and no sub-agent uses, by their qualified names.
    pub fn unrequired_tools(&self) -> Vec<String> {
        let of_skills = self.skills.iter().flat_map(|skill| &skill.requires);
        let references: Vec<&String> =
            of_skills.chain(self.subagents.iter().flat_map(|one| &one.tools)).collect();
        let is_required = |tool: &ToolDeclaration| {
            let name = tool.qualified_name();
            references.iter().any(|reference| {
                let is_it = self.tool(reference).is_some_and(|one| one.qualified_name() == name);
                let is_of_server =
                    |mcp: &str| self.server(reference).is_some_and(|one| one.id == mcp);
                is_it || matches!(&tool.kind, ToolKind::Mcp(mcp) if is_of_server(&mcp.server))
            })
        };
        let unrequired = self.tools.iter().filter(|tool| !is_required(tool));
        unrequired.map(ToolDeclaration::qualified_name).collect()
    }
}

/// The names that references are compared with.
struct KnownNames<'a> {
    file: &'a CapabilityFile,
    /// Ids as written, of broken entries too.
    tools: IndexSet<String>,
    skills: IndexSet<String>,
    /// What a mistyped reference may mean.
    tool_names: Vec<String>,
    /// Whether a server offers tools that the file does not list.
    has_open_server: bool,
}

fn check_tool_references(
    known: &KnownNames<'_>,
    references: &[String],
    what: &str,
    node: &ValueNode,
    findings: &mut FileFindings,
) {
    for (index, reference) in references.iter().enumerate() {
        if known.may_resolve(reference) {
            continue;
        }
        let names = known.tool_names.iter().map(String::as_str);
        let otherwise = "add the tool to `tools`, or remove the reference";
        let fix = did_you_mean(without_at(reference), names, otherwise);
        let message = format!("{what} `{reference}`, and there is no such tool");
        findings.at(node.item(index).place).warning("unknown-reference", message, fix);
    }
}

impl KnownNames<'_> {
    /// Whether a reference names something, as far as the file alone can tell.
    fn may_resolve(&self, reference: &str) -> bool {
        let (file, name) = (self.file, without_at(reference));
        let is_declared = file.tool(reference).is_some() || file.server(reference).is_some();
        // A broken entry has its own message already.
        let last = name.rsplit('.').next().unwrap_or(name);
        if is_declared || self.tools.contains(name) || self.tools.contains(last) {
            return true;
        }
        match name.split_once('.') {
            Some((prefix, _)) => {
                file.open_servers(name).any(|(server, tool)| server.expose.allows(tool))
                    || (!file.plugins.is_empty() && file.server(prefix).is_none())
            }
            // What servers and plugins call their tools is not known yet.
            None => self.has_open_server || !file.plugins.is_empty(),
        }
    }
}

impl ServerToolFilter {
    /// Whether the policy offers the tool that the server calls so.
    pub fn allows(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == tool);
        match self {
            Self::All => true,
            Self::Except(names) => !named(names),
            Self::Exactly(names) => named(names),
            Self::None => false,
        }
    }
}
