//! How an agent's own configuration names an MCP server.

use serde_json::{Map, Value, json};

/// A configuration file with MCP servers, and the shape of one entry.
#[derive(Debug, PartialEq, Eq)]
pub struct McpFile {
    pub path: &'static str,
    /// The key that holds the servers.
    pub servers: &'static str,
    pub(super) shape: Shape,
    /// Whether a sub-agent can have a server that the main agent does not use.
    pub has_subagent_entries: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `{url}` and `{command, args}`.
    Plain,
    /// `{httpUrl}` and `{command, args}`.
    HttpUrl,
    /// With a `type`: this one for an address, `stdio` for a program.
    Typed(&'static str),
    /// With a `type` for an address only.
    TypedAddress(&'static str),
    /// `{type, url, enabled}` and `{type, command: [program, …], enabled}`.
    OpenCode,
}

/// What an entry leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryTarget {
    /// A program that speaks MCP on its standard streams.
    Program { command: String, args: Vec<String> },
    /// A running host.
    Address(String),
}

impl McpFile {
    /// Whether the file is TOML. All others are JSON, with comments where people wrote some.
    pub fn is_toml(&self) -> bool {
        self.path.ends_with(".toml")
    }

    /// The entry as this agent reads it.
    pub fn entry(&self, target: &EntryTarget) -> Value {
        let mut entry = Map::new();
        let kind = match (self.shape, target) {
            (Shape::Plain | Shape::HttpUrl, _)
            | (Shape::TypedAddress(_), EntryTarget::Program { .. }) => None,
            (Shape::Typed(kind) | Shape::TypedAddress(kind), EntryTarget::Address(_)) => Some(kind),
            (Shape::Typed(_), EntryTarget::Program { .. }) => Some("stdio"),
            (Shape::OpenCode, EntryTarget::Address(_)) => Some("remote"),
            (Shape::OpenCode, EntryTarget::Program { .. }) => Some("local"),
        };
        if let Some(kind) = kind {
            entry.insert("type".to_owned(), json!(kind));
        }
        match target {
            EntryTarget::Address(url) => {
                let key = if self.shape == Shape::HttpUrl { "httpUrl" } else { "url" };
                entry.insert(key.to_owned(), json!(url));
            }
            EntryTarget::Program { command, args } if self.shape == Shape::OpenCode => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                entry.insert("command".to_owned(), json!(words));
            }
            EntryTarget::Program { command, args } => {
                entry.insert("command".to_owned(), json!(command));
                entry.insert("args".to_owned(), json!(args));
            }
        }
        if self.shape == Shape::OpenCode {
            entry.insert("enabled".to_owned(), json!(true));
        }
        Value::Object(entry)
    }
}

#[cfg(test)]
mod tests {
    use crate::provider::Provider;

    use super::*;

    #[test]
    fn each_agent_gets_the_shape_it_reads() {
        let program =
            EntryTarget::Program { command: "capdeck".to_owned(), args: vec!["serve".to_owned()] };
        let address = EntryTarget::Address("http://127.0.0.1:7717/mcp".to_owned());
        let url = "http://127.0.0.1:7717/mcp";
        let table = [
            (
                "claude-code",
                json!({"type": "http", "url": url}),
                json!({"type": "stdio", "command": "capdeck", "args": ["serve"]}),
            ),
            ("cursor", json!({"url": url}), json!({"command": "capdeck", "args": ["serve"]})),
            (
                "gemini-cli",
                json!({"httpUrl": url}),
                json!({"command": "capdeck", "args": ["serve"]}),
            ),
            (
                "roo",
                json!({"type": "streamable-http", "url": url}),
                json!({"command": "capdeck", "args": ["serve"]}),
            ),
            (
                "opencode",
                json!({"type": "remote", "url": url, "enabled": true}),
                json!({"type": "local", "command": ["capdeck", "serve"], "enabled": true}),
            ),
        ];
        for (id, by_address, by_program) in table {
            let file = Provider::find(id).unwrap().mcp.as_ref().unwrap();
            assert_eq!(file.entry(&address), by_address, "{id}");
            assert_eq!(file.entry(&program), by_program, "{id}");
        }
    }
}
