//! What a capability file's names lead to, looked up instead of searched: a file may hold thousands of entries that refer
//! to thousands of others.

use std::{collections::HashMap, fmt};

use super::{
    CapabilityFile, ServerDeclaration, ToolDeclaration, ToolKind, plain_tool_name, without_at,
};

/// Positions of servers and tools by the names that mean them.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct FileIndex {
    servers: HashMap<String, usize>,
    /// By the name with `_` for everything that some clients cannot send.
    plain_servers: HashMap<String, Vec<usize>>,
    /// Letters of the longest name among them. No longer part of a reference can name a server.
    longest_server: usize,
    tools_by_server: HashMap<String, Vec<usize>>,
    /// Qualified names first, then bare ids.
    tools: HashMap<String, usize>,
    plain_tools: HashMap<String, usize>,
}

impl fmt::Debug for FileIndex {
    /// Says nothing: all of it is derived from the file.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FileIndex")
    }
}

impl FileIndex {
    pub(super) fn from_file(file: &CapabilityFile) -> Self {
        let mut index = Self::default();
        for (position, server) in file.servers.iter().enumerate() {
            index.servers.entry(server.id.clone()).or_insert(position);
            index.longest_server = index.longest_server.max(server.id.chars().count());
            index.plain_servers.entry(plain_tool_name(&server.id)).or_default().push(position);
        }
        for (position, tool) in file.tools.iter().enumerate() {
            if let ToolKind::Mcp(mcp) = &tool.kind {
                index.tools_by_server.entry(mcp.server.clone()).or_default().push(position);
            }
        }
        let qualified = file.tools.iter().map(ToolDeclaration::qualified_name).enumerate();
        let ids = file.tools.iter().map(|tool| tool.id.clone()).enumerate();
        for (position, name) in qualified.chain(ids) {
            index.plain_tools.entry(plain_tool_name(&name)).or_insert(position);
            index.tools.entry(name).or_insert(position);
        }
        index
    }
}

impl CapabilityFile {
    /// The tool that `requires` of a skill, a sub-agent or a caller means: the exact qualified name first, then the bare
    /// id, then either with `_` for a dot.
    pub fn tool(&self, reference: &str) -> Option<&ToolDeclaration> {
        let name = without_at(reference);
        let exact = self.index.tools.get(name);
        let position = exact.or_else(|| self.index.plain_tools.get(&plain_tool_name(name)));
        self.tools.get(*position?)
    }

    /// The server with this id, with or without a leading `@`.
    pub fn server(&self, reference: &str) -> Option<&ServerDeclaration> {
        self.servers.get(*self.index.servers.get(without_at(reference))?)
    }

    /// The file's own choice among the tools of a server; none means that the server's policy holds.
    pub fn tools_of(&self, server: &str) -> impl Iterator<Item = &ToolDeclaration> {
        let positions = self.index.tools_by_server.get(server).into_iter().flatten();
        positions.filter_map(|position| self.tools.get(*position))
    }

    /// The servers without a choice of tools that a name such as `server.tool` may mean, with what is left of it. Of `git`
    /// and `git.hub` the longer one comes first.
    pub(super) fn open_servers<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a ServerDeclaration, &'a str)> {
        let is_separator = |letter: char| !letter.is_ascii_alphanumeric() && letter != '-';
        let letters = name.char_indices().take(self.index.longest_server.saturating_add(1));
        let separators: Vec<(usize, char)> =
            letters.filter(|(_, letter)| is_separator(*letter)).collect();
        separators.into_iter().rev().flat_map(move |(at, separator)| {
            let prefix = name.get(..at).unwrap_or_default();
            let tool = name.get(at + separator.len_utf8()..).unwrap_or_default();
            let positions = self.index.plain_servers.get(&plain_tool_name(prefix));
            let servers = positions.into_iter().flatten();
            let servers = servers.filter_map(|position| self.servers.get(*position));
            servers
                .filter(|server| self.tools_of(&server.id).next().is_none())
                .map(move |server| (server, tool))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::parse_capability_file;

    #[test]
    fn a_reference_is_a_qualified_name_or_a_bare_id() {
        let text = "
tools:
  - { id: search, type: command, group: x, def: { run: { cmd: a } } }
  - { id: search, type: command, group: brave, def: { run: { cmd: a } } }
  - { id: deploy, type: command, def: { run: { cmd: a } } }
  - { id: log.all, type: command, group: git, def: { run: { cmd: a } } }
";
        let (file, found) = parse_capability_file(text, Path::new("capabilities.yaml"));
        assert_eq!(found, []);
        let file = file.unwrap();
        let find =
            |reference: &str| file.tool(reference).map(super::ToolDeclaration::qualified_name);
        for (reference, tool) in [
            ("@brave.search", "brave.search"),
            ("brave.search", "brave.search"),
            ("brave_search", "brave.search"),
            ("@brave_search", "brave.search"),
            ("search", "x.search"),
            ("@deploy", "deploy"),
            ("git.log.all", "git.log.all"),
            ("log_all", "git.log.all"),
        ] {
            assert_eq!(find(reference).as_deref(), Some(tool), "{reference}");
        }
        for reference in ["@@deploy", "brave", "", "@", "brave.", "Deploy"] {
            assert_eq!(find(reference), None, "{reference}");
        }
    }
}
