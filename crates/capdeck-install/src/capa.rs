//! What CAPA wrote into the files of a project's agents: its MCP entries, its hooks and its blocks of instructions.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    database_copy::open_copy,
    edit::{ConfigDocument, DocumentStep, EditError, keys},
    project::{ProjectInstaller, blocks_in, format_of, place_in, take_blocks},
    provider::{AgentProvider, McpFile},
};

/// The name of its entry; those of sub-agents go on with a hyphen.
const ENTRY: &str = "capa";

/// What the names of its hooks begin with.
const HOOK_PREFIX: &str = "capa:";

/// The values that CAPA keeps for one project.
#[derive(Default)]
pub struct CapaVariables {
    pub values: Vec<(String, String)>,
}

/// CAPA's database cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be read: {reason}", path.display())]
pub struct CapaDatabaseError {
    pub path: PathBuf,
    pub reason: String,
}

impl CapaVariables {
    /// Reads the database at `path`. Secrets are in the copy, so `scratch` must be the person's alone.
    pub fn read(path: &Path, project: &Path, scratch: &Path) -> Result<Self, CapaDatabaseError> {
        let failed = |reason: String| CapaDatabaseError { path: path.to_owned(), reason };
        let database = open_copy(path, scratch).map_err(failed)?;
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut query = database.prepare(
                "SELECT variable.key, variable.value FROM variables variable
                 JOIN projects project ON project.id = variable.project_id
                 WHERE project.path = ?1 AND variable.key NOT LIKE 'oauth2_client_%'
                 ORDER BY variable.key",
            )?;
            let found = query
                .query_map([project.to_string_lossy()], |row| Ok((row.get(0)?, row.get(1)?)))?;
            found.collect()
        };
        Ok(Self { values: read().map_err(|error| failed(error.to_string()))? })
    }
}

impl fmt::Debug for CapaVariables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.values.iter().map(|(name, _)| name);
        formatter.debug_list().entries(names).finish()
    }
}

/// A file with parts of CAPA, and the same without them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapaEdit {
    /// The real path.
    pub path: PathBuf,
    pub before: String,
    pub after: String,
    /// What is taken out, for people.
    pub parts: Vec<String>,
    /// Whether agents start or call something because of it.
    pub is_active: bool,
}

impl ProjectInstaller {
    /// The files of the project with parts of CAPA. A file that `capdeck install` wrote has none: its blocks look the same.
    pub fn capa_edits(&self) -> Vec<CapaEdit> {
        let mut edits: BTreeMap<PathBuf, CapaEdit> = BTreeMap::new();
        let mut put = |edit: CapaEdit| {
            edits.entry(edit.path.clone()).or_insert(edit);
        };
        for provider in AgentProvider::all() {
            let documents =
                [provider.mcp.as_ref().map(McpFile::path), provider.hooks.map(|hooks| hooks.path)];
            for name in documents.into_iter().flatten() {
                self.document_without_capa(name).into_iter().for_each(&mut put);
            }
            let instructions = provider.instructions.and_then(|name| self.text_without_capa(name));
            instructions.into_iter().for_each(&mut put);
        }
        edits.into_values().collect()
    }

    /// A file of the project that is not ours, and its text.
    fn foreign_file(&self, name: &str) -> Option<(PathBuf, String)> {
        let path = place_in(self.project(), name).ok()?;
        if self.has_written(&path) {
            return None;
        }
        let text = fs::read_to_string(&path).ok()?;
        Some((path, text))
    }

    fn text_without_capa(&self, name: &str) -> Option<CapaEdit> {
        let (path, before) = self.foreign_file(name)?;
        let ids: Vec<String> = blocks_in(&before).into_iter().map(|block| block.id).collect();
        if ids.is_empty() {
            return None;
        }
        let after = take_blocks(&before, |_| true);
        let parts = ids.iter().map(|id| format!("the block `{id}`")).collect();
        Some(CapaEdit { path, before, after, parts, is_active: false })
    }

    fn document_without_capa(&self, name: &str) -> Option<CapaEdit> {
        let (path, before) = self.foreign_file(name)?;
        // One that cannot be read is reported when it is written to.
        let mut document = ConfigDocument::parse(&before, format_of(name)).ok()?;
        let mut parts = Vec::new();
        let containers = AgentProvider::all().iter().filter_map(|provider| provider.mcp.as_ref());
        let mut containers: Vec<&str> =
            containers.filter(|mcp| mcp.path() == name).map(McpFile::servers).collect();
        containers.dedup();
        for container in containers {
            take_entries(&mut document, container, &mut parts).ok()?;
        }
        take_hooks(&mut document, &mut parts).ok()?;
        let after = document.text();
        (!parts.is_empty()).then_some(CapaEdit { path, before, after, parts, is_active: true })
    }
}

/// Takes the entries out that lead to its server, and what they are denied by.
fn take_entries(
    document: &mut ConfigDocument,
    container: &str,
    parts: &mut Vec<String>,
) -> Result<(), EditError> {
    let servers = document.get(&keys(&[container])).and_then(Value::as_object);
    let is_address =
        |value: &Value| ["url", "httpUrl", "serverUrl"].iter().any(|key| value.get(*key).is_some());
    let is_theirs = |(name, value): &(&String, &Value)| {
        let is_named = *name == ENTRY || name.starts_with("capa-");
        is_named && is_address(value)
    };
    let names: Vec<String> =
        servers.into_iter().flatten().filter(is_theirs).map(|(name, _)| name.clone()).collect();
    for name in names {
        document.remove(&keys(&[container, &name]))?;
        parts.push(format!("the MCP entry `{name}`"));
    }
    if document.remove(&keys(&["permission", "capa-*_*"]))? {
        parts.push("the permission `capa-*_*`".to_owned());
    }
    Ok(())
}

/// Takes the hooks out that have a name of its own, from the end, so that positions stay true.
fn take_hooks(document: &mut ConfigDocument, parts: &mut Vec<String>) -> Result<(), EditError> {
    let events = document.get(&keys(&["hooks"])).and_then(Value::as_object);
    let events: Vec<String> =
        events.into_iter().flatten().map(|(event, _)| event.clone()).collect();
    for event in events {
        let list = keys(&["hooks", &event]);
        let count = document.get(&list).and_then(Value::as_array).map_or(0, Vec::len);
        let before = parts.len();
        for index in (0..count).rev() {
            let mut item = list.clone();
            item.push(DocumentStep::Index(index));
            let mut inner = item.clone();
            inner.push(DocumentStep::from("hooks"));
            match document.get(&inner) {
                Some(Value::Array(_)) => {
                    let taken = document.remove_items(&inner, is_hook)?;
                    parts.extend((0..taken).map(|_| format!("a hook of `{event}`")));
                    let is_empty =
                        document.get(&inner).and_then(Value::as_array).is_some_and(Vec::is_empty);
                    if taken > 0 && is_empty {
                        document.remove(&item)?;
                    }
                }
                _ if document.get(&item).is_some_and(is_hook) => {
                    document.remove(&item)?;
                    parts.push(format!("a hook of `{event}`"));
                }
                _ => {}
            }
        }
        let is_empty = document.get(&list).and_then(Value::as_array).is_some_and(Vec::is_empty);
        if is_empty && parts.len() > before {
            document.remove(&list)?;
        }
    }
    Ok(())
}

fn is_hook(item: &Value) -> bool {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    text("name").starts_with(HOOK_PREFIX) || text("command").starts_with("capa activity-ingest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::FileFormat;

    fn without(text: &str, format: FileFormat) -> (String, Vec<String>) {
        let mut document = ConfigDocument::parse(text, format).unwrap();
        let mut parts = Vec::new();
        for container in ["mcpServers", "mcp_servers", "mcp"] {
            take_entries(&mut document, container, &mut parts).unwrap();
        }
        take_hooks(&mut document, &mut parts).unwrap();
        (document.text(), parts)
    }

    #[test]
    fn entries_and_hooks_go_and_everything_else_stays() {
        let text = r#"{
  // mine
  "mcpServers": {
    "capa": { "type": "http", "url": "http://127.0.0.1:5912/p-1234/mcp" },
    "capa-web": { "url": "http://127.0.0.1:5912/p-1234/agents/web/mcp" },
    "capable": { "url": "https://capable.example/mcp" },
    "other": { "command": "other" }
  },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [
        { "type": "command", "command": "./mine.sh" },
        { "type": "command", "command": "/home/me/.capa/hooks/p/guard", "name": "capa:guard" }
      ] },
      { "matcher": "", "hooks": [{ "type": "command", "command": "capa activity-ingest --event x", "name": "capa:capa-sys-activity-x" }] }
    ],
    "Stop": [{ "matcher": "", "hooks": [{ "command": "x", "name": "capa:stop" }] }]
  }
}
"#;
        let (after, parts) = without(text, FileFormat::Json);
        assert_eq!(parts.len(), 5, "{parts:?}");
        assert!(!after.contains("capa:") && !after.contains("5912"), "{after}");
        for kept in ["// mine", "\"capable\"", "\"other\"", "./mine.sh"] {
            assert!(after.contains(kept), "{kept} in {after}");
        }
        assert!(!after.contains("Stop"), "{after}");
    }

    #[test]
    fn flat_lists_and_toml_are_understood() {
        let cursor = r#"{ "version": 1, "hooks": { "stop": [{ "command": "a" }, { "command": "b", "name": "capa:b" }] } }"#;
        let (after, parts) = without(cursor, FileFormat::Json);
        assert_eq!(parts, ["a hook of `stop`"]);
        assert!(after.contains("\"a\"") && !after.contains("capa"), "{after}");

        let codex = "model = \"x\" # keep\n\n[mcp_servers.capa]\nurl = \"http://127.0.0.1:5912/p/mcp\"\n\n[mcp_servers.other]\ncommand = \"o\"\n";
        let (after, parts) = without(codex, FileFormat::Toml);
        assert_eq!(parts, ["the MCP entry `capa`"]);
        assert!(after.contains("# keep") && after.contains("other"), "{after}");
        assert!(!after.contains("capa"), "{after}");
    }

    #[test]
    fn a_file_without_its_parts_stays_as_it_is() {
        for text in ["{}", "{ \"mcpServers\": { \"capa\": { \"command\": \"mine\" } } }", ""] {
            let (after, parts) = without(text, FileFormat::Json);
            assert_eq!((after.as_str(), parts), (text, Vec::new()));
        }
    }
}
