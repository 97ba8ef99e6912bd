//! One server in the words of one client, and back.

use serde_json::{Map, Value, json};

use super::{ToolLists, embrace_variables, numbers_to_texts, timeouts};

/// How Capdeck is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchTarget {
    /// A program on stdio.
    Program { command: String, args: Vec<String> },
    /// A running host. The program is for clients that cannot speak HTTP themselves.
    Url { url: String, command: String },
}

/// A server in the form that most clients share.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFields {
    /// `command`, `args`, `env`, `cwd`, `url`, `headers`, `type`, `disabled`, `startupTimeoutMs`, `callTimeoutMs`, and
    /// `tools` with `exactly` or `except`.
    pub server: Map<String, Value>,
    /// Keys that have no meaning outside of the client.
    pub ignored: Vec<String>,
}

/// How a client writes its servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerEntryShape {
    pub(super) program: ProgramShape,
    pub(super) url: UrlShape,
    /// What it replaces with the folder that is open in it.
    pub(super) workspace: Option<&'static str>,
    /// Whether an entry must say that all tools are meant.
    pub(super) names_tools: bool,
    /// Whether `$NAME` is a variable in its files, and not only `${NAME}`.
    pub(super) has_bare_variables: bool,
    /// The key that keeps a server's tools in sight of a model that else has to search for them.
    pub(super) always_listed: Option<&'static str>,
    /// See [`super::AgentClient::unasked_calls`].
    pub(super) unasked_calls: Option<(&'static str, &'static str)>,
}

/// How a program is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramShape {
    /// `command` and `args`.
    Plain,
    /// The same, with a `type` before them.
    Typed(&'static str),
    /// One list of words, `type: local`.
    Words,
    /// Goose: `cmd`, `args`, `envs`.
    Goose,
}

/// How a remote server is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum UrlShape {
    /// The address under this key, with or without a `type`.
    Key { key: &'static str, kind: Option<&'static str> },
    /// OpenCode: `type: remote`, `url`, `enabled`.
    Remote,
    /// Goose: `uri`.
    Goose,
    /// Not at all: a program carries the messages.
    Bridge,
}

impl ServerEntryShape {
    pub(super) fn write(&self, name: &str, launch: &LaunchTarget) -> Value {
        let mut entry = self.write_launch(name, launch);
        if self.names_tools {
            entry["tools"] = json!(["*"]);
        }
        if let Some(key) = self.always_listed {
            entry[key] = json!(true);
        }
        entry
    }

    fn write_launch(&self, name: &str, launch: &LaunchTarget) -> Value {
        match launch {
            LaunchTarget::Program { command, args } => self.program.write(name, command, args),
            LaunchTarget::Url { url, command } => match self.url {
                UrlShape::Key { key, kind: Some(kind) } => json!({ "type": kind, key: url }),
                UrlShape::Key { key, kind: None } => json!({ key: url }),
                UrlShape::Remote => json!({ "type": "remote", "url": url, "enabled": true }),
                UrlShape::Goose => json!({
                    "type": "streamable_http",
                    "name": name,
                    "description": DESCRIPTION,
                    "uri": url,
                    "enabled": true,
                    "timeout": 300,
                }),
                UrlShape::Bridge => {
                    self.program.write(name, command, &["attach".to_owned(), url.clone()])
                }
            },
        }
    }

    /// The entry in the form that most clients share.
    pub(super) fn read(&self, entry: &Value) -> Result<ServerFields, String> {
        let Value::Object(entry) = entry else { return Err("it is not a map".to_owned()) };
        let kind = entry.get("type").and_then(Value::as_str);
        if matches!(self.program, ProgramShape::Goose)
            && !matches!(kind, Some("stdio" | "streamable_http" | "sse"))
        {
            return Err("it is part of the client itself".to_owned());
        }
        let mut server = Map::new();
        let mut headers = Map::new();
        let mut variables = Map::new();
        let mut ignored = Vec::new();
        let mut tools = ToolLists::default();
        for (key, value) in entry {
            let is_words = matches!(self.program, ProgramShape::Words);
            if value.is_null()
                || tools.take(key, value)
                || timeouts::take(key, value, is_words, &mut server)
            {
                continue;
            }
            let (key, value) = match (key.as_str(), value) {
                ("cmd", _) => ("command", value.clone()),
                ("envs" | "environment", _) => ("env", value.clone()),
                ("uri" | "httpUrl" | "serverUrl", _) => ("url", value.clone()),
                ("headers" | "http_headers", Value::Object(written)) => {
                    headers.extend(written.clone());
                    continue;
                }
                ("env_http_headers", Value::Object(written)) => {
                    let variable =
                        |value: &Value| value.as_str().map(|name| format!("${{{name}}}"));
                    headers.extend(written.iter().filter_map(|(name, value)| {
                        Some((name.clone(), Value::from(variable(value)?)))
                    }));
                    continue;
                }
                // Codex passes variables of these names on.
                ("env_vars", Value::Array(names)) => {
                    let names = names.iter().filter_map(Value::as_str);
                    variables
                        .extend(names.map(|name| (name.to_owned(), json!(format!("${{{name}}}")))));
                    continue;
                }
                ("type" | "transport", Value::String(kind)) => match kind.as_str() {
                    // What these say is said by `command` and `url`.
                    "local" | "remote" => continue,
                    other => ("type", json!(other)),
                },
                ("command", Value::Array(words)) => {
                    let mut words = words.iter().cloned();
                    server.insert("command".to_owned(), words.next().unwrap_or_default());
                    ("args", words.collect())
                }
                // An older form of Zed's.
                ("command", Value::Object(command)) => {
                    let path = command.get("path").cloned().unwrap_or_default();
                    server.insert("command".to_owned(), path);
                    for key in ["args", "env"] {
                        if let Some(value) = command.get(key) {
                            server.insert(key.to_owned(), value.clone());
                        }
                    }
                    continue;
                }
                ("command" | "args" | "env" | "cwd" | "url" | "disabled", _) => {
                    (key.as_str(), value.clone())
                }
                ("enabled" | "isActive", Value::Bool(on)) => ("disabled", json!(!on)),
                ("bearer_token_env_var", Value::String(variable)) => {
                    headers.insert(
                        "Authorization".to_owned(),
                        json!(format!("Bearer ${{{variable}}}")),
                    );
                    continue;
                }
                (key, _) => {
                    if !DESCRIPTIVE_KEYS.contains(&key) {
                        ignored.push(key.to_owned());
                    }
                    continue;
                }
            };
            server.insert(key.to_owned(), value);
        }
        if !variables.is_empty() {
            let env = server.entry("env").or_insert_with(|| json!({}));
            if let Value::Object(env) = env {
                // What is written out wins.
                variables.append(env);
                *env = variables;
            }
        }
        if !headers.is_empty() {
            server.insert("headers".to_owned(), Value::Object(headers));
        }
        server.extend(tools.choice().map(|choice| ("tools".to_owned(), choice)));
        for key in ["env", "args"] {
            server.get_mut(key).into_iter().for_each(numbers_to_texts);
        }
        if self.has_bare_variables {
            server.values_mut().for_each(embrace_variables);
        }
        let is = |key: &str| server.get(key).is_some_and(Value::is_string);
        match (is("command"), is("url")) {
            (false, false) => Err("it names neither a program nor an address".to_owned()),
            (true, true) => Err("it names both a program and an address".to_owned()),
            _ => Ok(ServerFields { server, ignored }),
        }
    }
}

/// Keys that say nothing about how a server is reached.
const DESCRIPTIVE_KEYS: [&str; 7] = [
    "name",
    "description",
    "display_name",
    "bundled",
    "source",
    // How a client shows tools to its model.
    "alwaysLoad",
    "alwaysLoadTools",
];

const DESCRIPTION: &str = "Your capabilities, by Capdeck";

impl ProgramShape {
    fn write(self, name: &str, command: &str, args: &[String]) -> Value {
        match self {
            Self::Plain => json!({ "command": command, "args": args }),
            Self::Typed(kind) => json!({ "type": kind, "command": command, "args": args }),
            Self::Words => {
                let words: Vec<&str> =
                    std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
                json!({ "type": "local", "command": words, "enabled": true })
            }
            Self::Goose => json!({
                "type": "stdio",
                "name": name,
                "description": DESCRIPTION,
                "cmd": command,
                "args": args,
                "envs": {},
                "enabled": true,
                "timeout": 300,
            }),
        }
    }
}
