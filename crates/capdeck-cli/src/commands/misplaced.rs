//! An argument that another command takes: `add`, `import` and `get` send it there.

use std::path::Path;

use capdeck_install::{AgentClient, ServerBlocks, ServerBlocksError};

use crate::{
    errors::CommandFailure,
    plain_text::{command_line, one_line},
};

/// What an argument is, and the command that takes it.
#[derive(Debug, PartialEq)]
pub(super) struct MisplacedSource {
    what: &'static str,
    pub(super) command: String,
}

/// Programs that people begin the command line of a server with.
const LAUNCHERS: [&str; 13] = [
    "npx", "uvx", "bunx", "bun", "pnpm", "docker", "podman", "go", "deno", "node", "python",
    "python3", "uv",
];

impl MisplacedSource {
    /// Recognises an argument. Files are looked for from `here`.
    pub(super) fn recognise(text: &str, here: &Path) -> Option<Self> {
        let word = command_line([text]);
        let source = |what: &'static str, command: String| Some(Self { what, command });
        if AgentClient::find(text).is_some() {
            return source("an agent", format!("capdeck import {word}"));
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return Self::of_address(scheme, rest, &word);
        }
        let file = here.join(text);
        if file.is_dir() {
            return source("a folder", format!("capdeck get {word}"));
        }
        if file.is_file() {
            let text = std::fs::read_to_string(&file).ok()?;
            return match ServerBlocks::parse(&text, Some(&file)) {
                Ok(_) => source("a file with MCP servers", format!("capdeck import {word}")),
                Err(ServerBlocksError::OpenApi) => {
                    source("an OpenAPI document", format!("capdeck add openapi ID --spec {word}"))
                }
                Err(_) => None,
            };
        }
        if LAUNCHERS.contains(&text) {
            return source("a program", format!("capdeck add mcp ID -- {word} …"));
        }
        let is_plain = |part: &str| !part.is_empty() && !part.starts_with(['.', '~', '-']);
        let name = text.split(['#', '@']).next().unwrap_or_default();
        let is_repository = name.split('/').count() == 2
            && name.split('/').all(is_plain)
            && ![".json", ".jsonc", ".toml", ".yaml", ".yml"].iter().any(|end| name.ends_with(end));
        if is_repository {
            return source("a repository", format!("capdeck get {word}"));
        }
        None
    }

    fn of_address(scheme: &str, rest: &str, word: &str) -> Option<Self> {
        let address = rest.split(['?', '#']).next().unwrap_or_default();
        let is_host =
            |host: &str| address.strip_prefix(host).is_some_and(|path| path.contains('/'));
        let (what, command) = if !matches!(scheme, "http" | "https")
            || address.ends_with(".git")
            || ["github.com/", "gitlab.com/", "codeberg.org/"].iter().any(|host| is_host(host))
        {
            ("a repository", format!("capdeck get {word}"))
        } else if [".json", ".yaml", ".yml"].iter().any(|end| address.ends_with(end)) {
            ("the address of a document", format!("capdeck add openapi ID --spec {word}"))
        } else if address.ends_with("/graphql") {
            ("the address of a GraphQL API", format!("capdeck add graphql ID --url {word}"))
        } else if ["/mcp", "/sse", "/mcp/", "/sse/"].iter().any(|end| address.ends_with(end)) {
            ("the address of an MCP server", format!("capdeck add mcp ID --url {word}"))
        } else {
            return None;
        };
        Some(Self { what, command })
    }

    /// Whether the command is the one that was typed.
    pub(super) fn is_for(&self, command: &str) -> bool {
        self.command.strip_prefix("capdeck ").is_some_and(|rest| rest.starts_with(command))
    }

    /// `accepted`: what the command takes instead.
    pub(super) fn into_failure(self, text: &str, accepted: &str) -> CommandFailure {
        let message = format!("`{}` is {}, not {accepted}", one_line(text), self.what);
        CommandFailure::usage(message).hint(format!("use: {}", self.command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_sent_to_the_command_that_takes_them() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("mcp.json", "{\"mcpServers\": {}}");
        write("api.yaml", "openapi: 3.1.0\n");
        write("notes.txt", "nothing");
        std::fs::create_dir(dir.path().join("deck")).unwrap();
        for (text, command) in [
            ("cursor", Some("capdeck import cursor")),
            ("mcp.json", Some("capdeck import mcp.json")),
            ("api.yaml", Some("capdeck add openapi ID --spec api.yaml")),
            ("deck", Some("capdeck get deck")),
            ("owner/repo", Some("capdeck get owner/repo")),
            ("owner/repo@v1", Some("capdeck get owner/repo@v1")),
            ("npx", Some("capdeck add mcp ID -- npx …")),
            ("https://github.com/owner/repo", Some("capdeck get https://github.com/owner/repo")),
            ("ssh://git@host/x", Some("capdeck get ssh://git@host/x")),
            (
                "https://x.test/v1/openapi.json",
                Some("capdeck add openapi ID --spec https://x.test/v1/openapi.json"),
            ),
            ("https://x.test/mcp", Some("capdeck add mcp ID --url https://x.test/mcp")),
            ("https://x.test/deck", None),
            ("notes.txt", None),
            ("./missing/x.json", None),
            ("dir/missing.json", None),
            ("time", None),
        ] {
            let found = MisplacedSource::recognise(text, dir.path());
            assert_eq!(found.map(|found| found.command).as_deref(), command, "{text}");
        }
    }
}
