//! The capabilities that a capability file's servers and commands become, and where a tool is found among them.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::{CapabilityFile, ToolDeclaration, ToolKind, without_at};
use crate::CapabilityId;

/// The id of the commands that have no group.
const UNGROUPED: &str = "commands";

/// The capability of each server and of each group of commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilityIds {
    /// By the server's id as written. Servers of plugins are here when tools are chosen of them.
    pub servers: IndexMap<String, CapabilityId>,
    /// By the group as written; `None` for commands without one.
    pub groups: IndexMap<Option<String>, CapabilityId>,
    /// The servers of plugins that tools are chosen of, by their capability.
    pub(super) of_plugins: IndexMap<CapabilityId, String>,
}

impl CapabilityIds {
    /// Gives every server and group an id that no other one has, as near to the written one as can be.
    pub(super) fn assign(file: &CapabilityFile) -> Self {
        let mut ids = Self::default();
        let mut taken = UsedIds::default();
        for server in &file.servers {
            if let Some(id) = taken.free(&server.id, "") {
                ids.servers.insert(server.id.clone(), id);
            }
        }
        // A plugin's server has no entry, but tools may be chosen of it.
        for tool in file.tools.iter().filter(|_| !file.plugins.is_empty()) {
            if let ToolKind::Mcp(mcp) = &tool.kind
                && !ids.servers.contains_key(&mcp.server)
                && let Ok(id) = CapabilityId::new(&mcp.server)
                && taken.take(id.as_str())
            {
                ids.of_plugins.insert(id.clone(), mcp.server.clone());
                ids.servers.insert(mcp.server.clone(), id);
            }
        }
        let commands = file.tools.iter().filter(|tool| matches!(tool.kind, ToolKind::Command(_)));
        for group in commands.map(|tool| &tool.group) {
            if ids.groups.contains_key(group) {
                continue;
            }
            let written = group.as_deref().unwrap_or(UNGROUPED);
            if let Some(id) = taken.free(written, "-commands") {
                ids.groups.insert(group.clone(), id);
            }
        }
        ids
    }
}

impl CapabilityFile {
    /// The capability and the tool in it that a reference means. For a server whose tools are not listed here, the
    /// name is the reference's own, and only the server knows whether there is such a tool.
    pub fn locate(&self, reference: &str) -> Option<(&CapabilityId, String)> {
        if let Some(tool) = self.tool(reference) {
            return self.capability_of(tool).map(|capability| (capability, tool.id.clone()));
        }
        let mut open = self.open_servers(without_at(reference));
        open.find_map(|(server, tool)| {
            let capability = self.ids.servers.get(&server.id)?;
            (!tool.is_empty()).then(|| (capability, tool.to_owned()))
        })
    }

    /// The capability a declared tool belongs to; `None` for a server that nothing can bring.
    pub fn capability_of(&self, tool: &ToolDeclaration) -> Option<&CapabilityId> {
        match &tool.kind {
            ToolKind::Mcp(mcp) => self.ids.servers.get(&mcp.server),
            ToolKind::Command(_) => self.ids.groups.get(&tool.group),
        }
    }
}

/// The ids that are in use, each with the number that the next one of its name begins to look at.
#[derive(Default)]
struct UsedIds(HashMap<String, usize>);

impl UsedIds {
    /// Takes an id. `false` when it is in use.
    fn take(&mut self, id: &str) -> bool {
        let is_free = !self.0.contains_key(id);
        if is_free {
            self.0.insert(id.to_owned(), 2);
        }
        is_free
    }

    fn free(&mut self, written: &str, suffix: &str) -> Option<CapabilityId> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let base: String =
            written.chars().map(|c| if legal(c) { c } else { '_' }).take(48).collect();
        let stem = format!("{base}{suffix}");
        for id in [&base, &stem] {
            if self.take(id) {
                return CapabilityId::new(id).ok();
            }
        }
        // Numbers below the one that was given last are all in use.
        let first = self.0.get(&stem).copied().unwrap_or(2);
        let (number, id) = (first..)
            .map(|number| (number, format!("{stem}_{number}")))
            .find(|(_, id)| !self.0.contains_key(id))?;
        self.0.insert(stem, number + 1);
        self.take(&id);
        CapabilityId::new(&id).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::parse_capability_file;

    #[test]
    fn names_lead_to_capabilities() {
        let text = "
servers:
  - { id: my.server, type: mcp, def: { cmd: a } }
  - { id: my_server, type: mcp, def: { cmd: b } }
  - { id: git, type: mcp, def: { cmd: c } }
  - { id: git.hub, type: mcp, def: { cmd: c } }
tools:
  - { id: find, type: mcp, def: { server: my.server, tool: x } }
  - { id: log, type: command, group: git, def: { run: { cmd: git log } } }
  - { id: lint, type: command, def: { run: { cmd: lint } } }
";
        let (file, found) = parse_capability_file(text, Path::new("capabilities.yaml"));
        assert_eq!(found, []);
        let file = file.unwrap();
        let locate = |reference: &str| {
            let found = file.locate(reference);
            found.map(|(capability, tool)| format!("{capability} {tool}"))
        };
        let table = [
            ("@my.server.find", Some("my_server find")),
            ("find", Some("my_server find")),
            ("my_server_find", Some("my_server find")),
            ("git.log", Some("git-commands log")),
            ("log", Some("git-commands log")),
            ("@lint", Some("commands lint")),
            ("git.search", Some("git search")),
            ("git.hub.search", Some("git_hub search")),
            ("git_hub_search", Some("git_hub search")),
            ("git", None),
            ("nothing", None),
        ];
        for (reference, expected) in table {
            assert_eq!(locate(reference).as_deref(), expected, "{reference}");
        }
        assert_eq!(file.ids.servers["my_server"].as_str(), "my_server_2");
    }
}
