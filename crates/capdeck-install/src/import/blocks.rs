//! Blocks of servers in any text: the configuration of an agent, a part of one, or what a README tells to paste.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::ClientInputs;
use crate::{
    client::{AgentClient, ClientServerEntry},
    edit::{ConfigDocument, FileFormat, SyntaxError},
};

/// The servers of one map in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerBlock {
    /// The keys that lead to it, such as `mcpServers`. Empty for a document that is nothing but servers.
    pub key: String,
    /// The folder whose project it is for, as the document names it.
    pub project: Option<String>,
    pub servers: Vec<ClientServerEntry>,
}

/// Every server that a text names.
#[derive(Debug)]
pub struct ServerBlocks {
    pub blocks: Vec<ServerBlock>,
    /// What the agent asks the person for.
    pub inputs: ClientInputs,
}

/// Why a text has no servers to import.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ServerBlocksError {
    #[error("{0}")]
    Syntax(SyntaxError),
    #[error("there is no block of MCP servers in it")]
    NoBlock,
    #[error("it is an OpenAPI document, not a list of MCP servers")]
    OpenApi,
    /// A server without the name it should have.
    #[error("it is one server without a name")]
    Unnamed { command: Option<Vec<String>>, url: Option<String> },
}

/// Keys that mean servers wherever they stand.
const SERVER_KEYS: [&str; 4] = ["mcpServers", "mcp_servers", "context_servers", "mcp.servers"];

/// Keys that mean servers where their values look like it.
const GENERAL_KEYS: [&str; 3] = ["servers", "mcp", "extensions"];

/// Keys that say how a server is reached.
const REACH_KEYS: [&str; 7] = ["command", "cmd", "url", "uri", "httpUrl", "serverUrl", "baseUrl"];

impl ServerBlocks {
    /// Finds the blocks of a text. The format is that of the file's name, else that of the text.
    pub fn parse(text: &str, file: Option<&Path>) -> Result<Self, ServerBlocksError> {
        let client = file.and_then(AgentClient::of_file).unwrap_or(AgentClient::COMMON);
        let named = file.and_then(format_of);
        let formats = named.map_or_else(|| likely_formats(text), |format| vec![format]);
        let mut first = None;
        for text in readings(text) {
            for format in &formats {
                let found = ConfigDocument::parse(&text, *format)
                    .map_err(ServerBlocksError::Syntax)
                    .and_then(|document| Self::of_value(document.value(), client));
                match found {
                    Ok(found) => return Ok(found),
                    Err(error) => first = Some(more_telling(first, error)),
                }
            }
        }
        Err(first.unwrap_or(ServerBlocksError::NoBlock))
    }

    fn of_value(root: &Value, client: &AgentClient) -> Result<Self, ServerBlocksError> {
        let mut blocks = Vec::new();
        if let Value::Object(entries) = root {
            collect(entries, "", None, client, &mut blocks);
            if blocks.is_empty() && looks_like_servers(root) {
                blocks.extend(block(root, String::new(), None, client));
            }
        }
        if blocks.is_empty() {
            return Err(no_block(root));
        }
        Ok(Self { blocks, inputs: ClientInputs::of_document(root) })
    }
}

impl AgentClient {
    /// The blocks of a document of this client: its servers, then those that only hold in one project each.
    pub fn blocks(&self, document: &ConfigDocument) -> Vec<ServerBlock> {
        let key = self.container(document).into_iter().map(|step| step.to_string());
        let key = key.collect::<Vec<_>>().join(".");
        let own = ServerBlock { key, project: None, servers: self.servers(document) };
        let mut blocks = vec![own];
        if let Some(Value::Object(projects)) = document.value().get("projects") {
            of_projects(projects, "projects", self, &mut blocks);
        }
        blocks
    }
}

/// The blocks of one map, in the order they are written.
fn collect(
    entries: &Map<String, Value>,
    path: &str,
    project: Option<&str>,
    client: &AgentClient,
    blocks: &mut Vec<ServerBlock>,
) {
    for (key, value) in entries {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let is_servers = SERVER_KEYS.contains(&key.as_str()) || key.ends_with(".mcpServers");
        if is_servers || (GENERAL_KEYS.contains(&key.as_str()) && looks_like_servers(value)) {
            blocks.extend(block(value, path, project, client));
            continue;
        }
        match (key.as_str(), value) {
            ("projects", Value::Object(projects)) => of_projects(projects, &path, client, blocks),
            ("mcp", Value::Object(inner)) => collect(inner, &path, project, client, blocks),
            _ => {}
        }
    }
}

/// Claude Code keeps servers that only one person has in one project in a map of projects.
fn of_projects(
    projects: &Map<String, Value>,
    path: &str,
    client: &AgentClient,
    blocks: &mut Vec<ServerBlock>,
) {
    for (folder, settings) in projects {
        let Some(Value::Object(servers)) = settings.get("mcpServers") else { continue };
        if !servers.is_empty() {
            let key = format!("{path}.{folder}.mcpServers");
            let servers = Value::Object(servers.clone());
            blocks.extend(block(&servers, key, Some(folder), client));
        }
    }
}

/// A map of servers by name, or a list of servers that say their names.
fn block(
    value: &Value,
    key: String,
    project: Option<&str>,
    client: &AgentClient,
) -> Option<ServerBlock> {
    let entry = |name: &str, entry: &Value| ClientServerEntry {
        name: name.to_owned(),
        server: client_of(client, entry).read(entry),
    };
    let servers = match value {
        Value::Object(entries) => entries.iter().map(|(name, one)| entry(name, one)).collect(),
        Value::Array(items) => {
            items.iter().filter_map(|item| Some(entry(item.get("name")?.as_str()?, item))).collect()
        }
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    Some(ServerBlock { key, project: project.map(str::to_owned), servers })
}

/// Goose's entries have words of their own.
fn client_of<'a>(client: &'a AgentClient, entry: &Value) -> &'a AgentClient {
    let is_goose = entry.get("cmd").is_some() || entry.get("bundled").is_some();
    AgentClient::find("goose").filter(|_| is_goose).unwrap_or(client)
}

fn looks_like_servers(value: &Value) -> bool {
    let Value::Object(entries) = value else { return false };
    let is_server = |entry: &Value| REACH_KEYS.iter().any(|key| entry.get(*key).is_some());
    let is_closed = |entry: &Value| entry.is_object() && !entry["type"].is_null();
    !entries.is_empty()
        && entries.values().all(Value::is_object)
        && entries.values().any(|entry| is_server(entry) || is_closed(entry))
}

fn no_block(root: &Value) -> ServerBlocksError {
    if root.get("openapi").is_some() || root.get("swagger").is_some() {
        return ServerBlocksError::OpenApi;
    }
    let url =
        ["url", "httpUrl", "serverUrl", "uri"].iter().find_map(|key| root.get(*key)?.as_str());
    let words = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let command = match root.get("command") {
        Some(Value::String(program)) => {
            let args = root.get("args").and_then(words).unwrap_or_default();
            Some(std::iter::once(program.clone()).chain(args).collect())
        }
        Some(list) => words(list),
        None => None,
    };
    if command.is_none() && url.is_none() {
        return ServerBlocksError::NoBlock;
    }
    ServerBlocksError::Unnamed { command, url: url.map(str::to_owned) }
}

/// The error that says most: that a text is something else says more than that it is not of one format.
fn more_telling(known: Option<ServerBlocksError>, error: ServerBlocksError) -> ServerBlocksError {
    let says_much = |error: &ServerBlocksError| {
        matches!(error, ServerBlocksError::OpenApi | ServerBlocksError::Unnamed { .. })
    };
    match known {
        Some(known) if !says_much(&error) => known,
        _ => error,
    }
}

fn format_of(file: &Path) -> Option<FileFormat> {
    match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" | "jsonc" | "json5" => Some(FileFormat::Json),
        "toml" => Some(FileFormat::Toml),
        "yaml" | "yml" => Some(FileFormat::Yaml),
        _ => None,
    }
}

/// The formats that a text may have, the likeliest first.
fn likely_formats(text: &str) -> Vec<FileFormat> {
    let body = fenced(text).unwrap_or_else(|| text.to_owned());
    let lines = body.lines().map(str::trim_start);
    let mut written = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '`']));
    let first = written.next().unwrap_or_default();
    if first.starts_with(['{', '"']) || first.starts_with("//") || first.starts_with("/*") {
        return vec![FileFormat::Json];
    }
    let is_toml = |line: &str| line.starts_with('[') || line.contains(" = ");
    if is_toml(first) {
        return vec![FileFormat::Toml, FileFormat::Yaml];
    }
    vec![FileFormat::Yaml, FileFormat::Toml]
}

/// The text, and what is meant by one that was copied from a page: without the fence around it, and with the braces that
/// were left out. Lines stay where they are.
fn readings(text: &str) -> Vec<String> {
    let body = fenced(text);
    let bare = body.as_deref().unwrap_or(text);
    let braced = bare.trim_start().starts_with('"').then(|| {
        let inner = bare.trim_end().trim_end_matches(',');
        format!("{{{inner}\n}}")
    });
    let whole = body.is_none().then(|| text.to_owned());
    // With its braces a part of a map is whole, and without them its error is about the missing ones.
    braced.into_iter().chain(whole).chain(body).collect()
}

/// The first fenced block of a Markdown text, with empty lines for what is before it.
fn fenced(text: &str) -> Option<String> {
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    let first = text.lines().position(is_fence)?;
    let inside = text.lines().skip(first + 1).take_while(|line| !is_fence(line));
    let before = std::iter::repeat_n("", first + 1);
    Some(before.chain(inside).collect::<Vec<_>>().join("\n"))
}

impl ServerBlocksError {
    /// The place in the text, where there is one.
    pub fn place(&self) -> Option<Value> {
        match self {
            Self::Syntax(error) => Some(json!({ "line": error.line, "column": error.column })),
            Self::NoBlock | Self::OpenApi | Self::Unnamed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
