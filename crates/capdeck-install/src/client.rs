//! The agents that can be connected: where each keeps its MCP servers and how it writes one.
//!
//! Facts about other programs live in one table, `client/table.rs`. Folders are passed in.

mod entry;
mod table;
mod timeouts;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use self::entry::ServerEntryShape;
use crate::edit::{ConfigDocument, DocumentStep, FileFormat, keys};

pub use self::entry::{LaunchTarget, ServerFields};

/// An agent, as far as its configuration goes.
#[derive(Debug)]
pub struct AgentClient {
    /// What it is called on the command line.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// The file of the person, if it has one.
    user: Option<ClientFilePlace>,
    /// The file of a project, if it has one.
    pub(crate) project: Option<ClientFilePlace>,
    /// The scope that is meant when none is named.
    pub default_scope: ClientScope,
    pub format: FileFormat,
    /// The keys that lead to the map of servers.
    pub(crate) container: &'static [&'static str],
    shape: ServerEntryShape,
    /// What its programs are called on the `PATH`.
    programs: &'static [&'static str],
    /// Whether it starts programs without the `PATH` of a shell.
    pub is_desktop_app: bool,
}

/// The users of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientScope {
    /// One person, in every project.
    User,
    /// One project, for everybody who works in it.
    Project,
}

/// The folders that files are found in.
#[derive(Debug, Clone)]
pub struct ClientFolders {
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home folder.
    pub config: PathBuf,
    /// Where desktop programs keep their settings: the config folder, or on a Mac `Library/Application Support`.
    pub application_data: PathBuf,
    /// The project, if there is one.
    pub project: Option<PathBuf>,
    /// The folders of the `PATH`.
    pub search_path: Vec<PathBuf>,
}

/// A file relative to a folder. Of several names the first that exists is meant, else the first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientFilePlace {
    base: ClientBaseFolder,
    pub(crate) names: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
enum ClientBaseFolder {
    Home,
    Config,
    ApplicationData,
    Project,
}

/// A server that a client's file names.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientServerEntry {
    pub name: String,
    /// What it says in a form that most clients share, or why it cannot be said in it.
    pub server: Result<ServerFields, String>,
}

impl AgentClient {
    /// Every client that is known, in the order people should see them.
    pub fn all() -> &'static [Self] {
        table::CLIENTS
    }

    /// The client of that id.
    pub fn find(id: &str) -> Option<&'static Self> {
        Self::all().iter().find(|client| client.id == id)
    }

    /// The client whose file this is, as far as its name tells.
    pub fn of_file(file: &Path) -> Option<&'static Self> {
        let names = |client: &'static Self| {
            let places = client.user.into_iter().chain(client.project);
            places.flat_map(|place| place.names)
        };
        Self::all().iter().find(|client| names(client).any(|name| file.ends_with(name)))
    }

    /// A client with files of the common form.
    pub(crate) const COMMON: &Self = &table::COMMON_CLIENT;

    /// The scopes it has a file for.
    pub fn scopes(&self) -> Vec<ClientScope> {
        let user = self.user.map(|_| ClientScope::User);
        let project = self.project.map(|_| ClientScope::Project);
        user.into_iter().chain(project).collect()
    }

    /// The file of a scope. None where the client has none, or where there is no project.
    pub fn file(&self, scope: ClientScope, folders: &ClientFolders) -> Option<PathBuf> {
        let place = match scope {
            ClientScope::User => self.user?,
            ClientScope::Project => self.project?,
        };
        let base = folders.base(place.base)?;
        let paths = || place.names.iter().map(|name| base.join(name));
        paths().find(|path| path.exists()).or_else(|| paths().next())
    }

    /// The project whose file of this client that is.
    pub(crate) fn project_of(&self, scope: ClientScope, file: &Path) -> Option<PathBuf> {
        let place = self.project.filter(|_| scope == ClientScope::Project)?;
        let name = place.names.iter().map(Path::new).find(|name| file.ends_with(name))?;
        file.ancestors().nth(name.components().count()).map(Path::to_owned)
    }

    /// Its program on the `PATH`.
    pub fn program(&self, folders: &ClientFolders) -> Option<PathBuf> {
        let search_path = &folders.search_path;
        let places = |name| search_path.iter().map(move |dir| dir.join(name));
        self.programs.iter().flat_map(places).find(|file| file.is_file())
    }

    /// Whether it looks installed: its program is on the `PATH`, or the folder of its own settings is there.
    pub fn is_installed(&self, folders: &ClientFolders) -> bool {
        if self.program(folders).is_some() {
            return true;
        }
        let Some((file, place)) = self.file(ClientScope::User, folders).zip(self.user) else {
            return false;
        };
        let base = folders.base(place.base);
        let folder = file.parent().filter(|folder| Some(*folder) != base);
        file.exists() || folder.is_some_and(Path::is_dir)
    }

    /// The keys that lead to the map of servers in this document.
    pub fn container(&self, document: &ConfigDocument) -> Vec<DocumentStep> {
        let mut path = keys(self.container);
        // OpenCode moved its servers one level down. Where the new level is used, it is where they are read.
        if self.id == "opencode" {
            let nested = keys(&["mcp", "servers"]);
            if document.get(&nested).is_some_and(|servers| servers.get("type").is_none()) {
                path = nested;
            }
        }
        path
    }

    /// The keys that lead to a server of this name.
    pub fn server_path(&self, document: &ConfigDocument, name: &str) -> Vec<DocumentStep> {
        let mut path = self.container(document);
        path.push(DocumentStep::from(name));
        path
    }

    /// How the keys are shown to people.
    pub fn key(&self) -> String {
        self.container.join(".")
    }

    /// The entry that starts or reaches Capdeck, as this client writes it.
    pub fn entry(&self, name: &str, launch: &LaunchTarget) -> Value {
        self.shape.write(name, launch)
    }

    /// The key and the value with which an entry lets all of a server's tools run without a question of the client's own,
    /// where the client cannot ask in every way that it runs.
    pub fn unasked_calls(&self) -> Option<(&'static str, &'static str)> {
        self.shape.unasked_calls
    }

    /// What it replaces with the folder that is open in it, if it knows a word for that.
    pub fn project_word(&self) -> Option<&'static str> {
        self.shape.workspace
    }

    /// One entry, in a form that all clients share.
    pub(crate) fn read(&self, entry: &Value) -> Result<ServerFields, String> {
        self.shape.read(entry)
    }

    /// Every server its document names, in a form that all clients share.
    pub fn servers(&self, document: &ConfigDocument) -> Vec<ClientServerEntry> {
        let servers = document.get(&self.container(document)).and_then(Value::as_object);
        let read = |(name, entry): (&String, &Value)| ClientServerEntry {
            name: name.clone(),
            server: self.read(entry),
        };
        servers.into_iter().flatten().map(read).collect()
    }
}

impl ClientScope {
    /// The word for it on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl ClientFolders {
    fn base(&self, base: ClientBaseFolder) -> Option<&Path> {
        match base {
            ClientBaseFolder::Home => Some(&self.home),
            ClientBaseFolder::Config => Some(&self.config),
            ClientBaseFolder::ApplicationData => Some(&self.application_data),
            ClientBaseFolder::Project => self.project.as_deref(),
        }
    }
}

/// Keys for the only tools that are used.
const ONLY: [&str; 4] = ["enabled_tools", "includeTools", "available_tools", "tools"];

/// Keys for tools that are not used.
const NOT: [&str; 3] = ["disabled_tools", "excludeTools", "disabledTools"];

#[derive(Debug, Default)]
struct ToolLists {
    only: Option<Vec<String>>,
    not: Vec<String>,
}

impl ToolLists {
    /// Takes a key that is such a list. False for every other key.
    fn take(&mut self, key: &str, value: &Value) -> bool {
        let Some(names) = names(value) else { return false };
        // Goose writes an empty list for all of them, Copilot a star. An empty list of others is not understood here.
        let is_all =
            names.iter().any(|name| name == "*") || (key == "available_tools" && names.is_empty());
        match (NOT.contains(&key), ONLY.contains(&key)) {
            (true, _) => self.not.extend(names),
            (_, true) if is_all => {}
            (_, true) if !names.is_empty() => self.only = Some(names),
            _ => return false,
        }
        true
    }

    /// The choice as a capability file has it. None where every tool is used.
    fn choice(self) -> Option<Value> {
        let Self { only, not } = self;
        let mut choice = Map::new();
        choice.extend(only.map(|only| ("exactly".to_owned(), json!(only))));
        if !not.is_empty() {
            choice.insert("except".to_owned(), json!(not));
        }
        (!choice.is_empty()).then_some(Value::Object(choice))
    }
}

/// The names in a list of texts. Gemini CLI writes some with what they are called with, as in `shell(git)`.
fn names(value: &Value) -> Option<Vec<String>> {
    let name = |item: &Value| item.as_str()?.split('(').next().map(str::to_owned);
    value.as_array()?.iter().map(name).collect()
}

/// Numbers and truth values as texts: programs are given nothing else, and people leave the quotes out.
fn numbers_to_texts(value: &mut Value) {
    let text = |one: &mut Value| {
        if one.is_number() || one.is_boolean() {
            *one = Value::String(one.to_string());
        }
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(text),
        Value::Object(entries) => entries.values_mut().for_each(text),
        _ => {}
    }
}

/// `$NAME` as `${NAME}`, everywhere below a value.
fn embrace_variables(value: &mut Value) {
    match value {
        Value::String(text) => *text = embraced(text),
        Value::Array(items) => items.iter_mut().for_each(embrace_variables),
        Value::Object(entries) => entries.values_mut().for_each(embrace_variables),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn embraced(text: &str) -> String {
    let mut parts = text.split('$');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, rest) = part.split_at(part.find(|c| !is_part(c)).unwrap_or(part.len()));
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            written.push_str(&format!("${{{name}}}{rest}"));
        } else {
            written.push_str(&format!("${part}"));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::embraced;

    #[test]
    fn bare_names_get_braces_and_nothing_else_changes() {
        for (text, written) in [
            ("$KEY", "${KEY}"),
            ("Bearer $A_1-$B", "Bearer ${A_1}-${B}"),
            ("${KEY}", "${KEY}"),
            ("US$5 $", "US$5 $"),
            ("plain", "plain"),
        ] {
            assert_eq!(embraced(text), written);
        }
    }
}
