//! `servers`: MCP servers, which of their tools are offered, and values that are taken from elsewhere.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{command_line, entry::EntryReader};
use crate::{OAuthConfig, pattern::holds_reference};

#[derive(Debug, Clone, PartialEq)]
pub struct ServerDeclaration {
    /// The id as written. Where it is no capability id, the capability has a similar one.
    pub id: String,
    pub description: Option<String>,
    pub display_name: Option<String>,
    pub endpoint: ServerEndpoint,
    /// Which tools are offered when the file has no `tools` of this server.
    pub expose: ServerToolFilter,
    /// The plugin that brought the server, where another tool wrote that down.
    pub source_plugin: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ServerEndpoint {
    Stdio(LocalServer),
    Remote(RemoteServer),
}

#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    /// One program, or a whole command line when no program has that name.
    pub cmd: String,
    pub args: Vec<String>,
    pub env: IndexMap<String, DeclaredValue>,
    /// Starts at the project, which is also the default.
    pub cwd: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RemoteServer {
    pub url: String,
    pub headers: IndexMap<String, DeclaredValue>,
    /// True when the file asks not to check certificates.
    pub tls_skip_verify: bool,
    /// What is known of the sign-in; the rest is discovered.
    pub oauth: Option<Box<OAuthConfig>>,
}

/// Which tools of a server are offered, by the server's own names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerToolFilter {
    #[default]
    All,
    Except(Vec<String>),
    Exactly(Vec<String>),
    None,
}

/// One entry of `servers`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Server", deny_unknown_fields)]
pub(super) struct ServerShape {
    #[schemars(length(min = 1))]
    id: String,
    /// There is one kind.
    #[serde(default, rename = "type")]
    #[expect(dead_code, reason = "the schema checks it, and there is one kind")]
    kind: Option<ServerType>,
    def: ServerDef,
    description: Option<String>,
    display_name: Option<String>,
    /// Which tools are offered when `tools` has none of this server.
    pub(super) expose: Option<ExposeType>,
    /// Names of tools, for `except` and `exactly`.
    tools: Option<Vec<String>>,
    source_plugin: Option<String>,
    #[expect(dead_code, reason = "written by other tools, used by nothing")]
    source_plugin_server_key: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ServerType {
    Mcp,
}

/// The policies of `expose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Expose")]
pub(super) enum ExposeType {
    All,
    Except,
    Exactly,
    None,
}

/// How the server is started (`cmd`) or reached (`url`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct ServerDef {
    #[schemars(length(min = 1))]
    cmd: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: IndexMap<String, ValueShape>,
    #[schemars(length(min = 1))]
    cwd: Option<String>,
    #[schemars(length(min = 1))]
    url: Option<String>,
    #[serde(default)]
    headers: IndexMap<String, ValueShape>,
    #[serde(default)]
    tls_skip_verify: bool,
    /// What is known of the sign-in; normally it is discovered.
    oauth2: Option<serde_json::Map<String, serde_json::Value>>,
}

impl ServerShape {
    pub(super) fn read(self, entry: &mut EntryReader<'_>) -> Option<ServerDeclaration> {
        let id = self.id;
        let mut def_entry = entry.below("def");
        let def = self.def;
        if def.tls_skip_verify {
            def_entry.at_key("tlsSkipVerify").warning(
                "ignored-key",
                format!("`tlsSkipVerify` of `{id}` is refused: certificates are always checked"),
                "trust the server's certificate on this machine, for example with `SSL_CERT_FILE`",
            );
        }
        let endpoint = match (def.cmd, def.url) {
            (Some(cmd), url) => {
                if url.is_some() {
                    def_entry.at_key("url").warning(
                        "conflicting-keys",
                        format!("the server `{id}` has `cmd` and `url`, and `url` is ignored"),
                        "keep one of the two",
                    );
                }
                let env = read_values(def.env, def_entry.below("env"));
                ServerEndpoint::Stdio(LocalServer { cmd, args: def.args, env, cwd: def.cwd })
            }
            (None, Some(url)) if !holds_reference(&url) && !def_entry.check_url(&url, "url") => {
                return None;
            }
            (None, Some(url)) => ServerEndpoint::Remote(RemoteServer {
                url,
                headers: read_values(def.headers, def_entry.below("headers")),
                tls_skip_verify: def.tls_skip_verify,
                oauth: def.oauth2.map(|written| Box::new(read_oauth(&written))),
            }),
            (None, None) => {
                let message = format!("the server `{id}` has neither `cmd` nor `url`");
                let fix = "add `cmd` to start a program, or `url` to reach a server";
                def_entry.here().error("missing-key", message, fix);
                return None;
            }
        };
        Some(ServerDeclaration {
            expose: read_expose(self.expose, self.tools, &id, entry),
            id,
            description: self.description,
            display_name: self.display_name,
            endpoint,
            source_plugin: self.source_plugin,
        })
    }
}

/// The policy, with the names it needs.
pub(super) fn read_expose(
    expose: Option<ExposeType>,
    tools: Option<Vec<String>>,
    id: &str,
    entry: &mut EntryReader<'_>,
) -> ServerToolFilter {
    let listed = tools.is_some();
    let names = tools.unwrap_or_default();
    let (expose, uses_names) = match expose {
        Some(ExposeType::Except) => (ServerToolFilter::Except(names), true),
        Some(ExposeType::Exactly) => (ServerToolFilter::Exactly(names), true),
        Some(ExposeType::None) => (ServerToolFilter::None, false),
        Some(ExposeType::All) | None => (ServerToolFilter::All, false),
    };
    match (uses_names, listed) {
        (true, false) => entry.at_key("expose").warning(
            "missing-key",
            format!("`expose` of `{id}` names no tools"),
            "add `tools` with the server's names of them",
        ),
        (false, true) => entry.at_key("tools").warning(
            "ignored-key",
            format!("`tools` of the server `{id}` is ignored"),
            "it goes with `expose: except` or `expose: exactly`",
        ),
        (true, true) | (false, false) => {}
    }
    expose
}

fn read_values(
    values: IndexMap<String, ValueShape>,
    mut entry: EntryReader<'_>,
) -> IndexMap<String, DeclaredValue> {
    let read = |(name, value): (String, ValueShape)| {
        let value = value.read(&name, &mut entry.below(&name))?;
        Some((name, value))
    };
    values.into_iter().filter_map(read).collect()
}

/// The sign-in in any of the spellings that are around.
fn read_oauth(written: &serde_json::Map<String, serde_json::Value>) -> OAuthConfig {
    let nested = written.get("oauth").and_then(serde_json::Value::as_object);
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| {
            written.get(*key).or_else(|| nested?.get(*key)).and_then(serde_json::Value::as_str)
        });
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let listed = written.get("scopes").or_else(|| nested?.get("scopes"));
    let mut scopes: Vec<String> = match listed {
        Some(serde_json::Value::Array(scopes)) => {
            scopes.iter().filter_map(|scope| scope.as_str().map(str::to_owned)).collect()
        }
        Some(serde_json::Value::String(scopes)) => words(scopes),
        _ => Vec::new(),
    };
    for scope in text(&["scope"]).iter().flat_map(|scope| words(scope)) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    let port = ["callbackPort", "callback_port", "CALLBACK_PORT"]
        .iter()
        .find_map(|key| written.get(*key)?.as_u64());
    let redirect = port.map(|port| format!("http://127.0.0.1:{port}/callback"));
    OAuthConfig {
        authorization_url: text(&["authorizationUrl", "authorizationEndpoint"]),
        token_url: text(&["tokenUrl", "tokenEndpoint"]),
        client_id: text(&["clientId", "client_id", "CLIENT_ID"]),
        client_secret: text(&["clientSecret", "client_secret"]),
        redirect_uri: text(&["redirectUri", "redirect_uri"]).or(redirect),
        scopes,
        ..OAuthConfig::default()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A value as declared. Nothing is looked up before a connection is opened, and nothing found is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeclaredValue {
    /// A text, in which `${Name}` is filled in.
    Text(String),
    /// A variable of the environment.
    FromEnv(String),
    /// What a program prints.
    FromCommand(Vec<String>),
    /// What a file holds; a relative path starts at the project.
    FromFile(String),
}

/// A value as written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ValueShape {
    Text(String),
    Reference(ReferenceShape),
}

/// Where a value is taken from: exactly one of these.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ValueReference", deny_unknown_fields)]
struct ReferenceShape {
    /// The name of an environment variable.
    #[schemars(length(min = 1))]
    from_env: Option<String>,
    /// A command line, or a program and its arguments; its output is the value. No shell is involved.
    from_command: Option<CommandLineShape>,
    /// A file that holds the value.
    #[schemars(length(min = 1))]
    from_file: Option<String>,
}

/// A command as a line or as a list.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "CommandShape")]
enum CommandLineShape {
    Line(String),
    List(Vec<String>),
}

impl ValueShape {
    /// The declared value, unless it says nothing or too much.
    fn read(self, key: &str, entry: &mut EntryReader<'_>) -> Option<DeclaredValue> {
        let reference = match self {
            Self::Text(text) => return Some(DeclaredValue::Text(text)),
            Self::Reference(reference) => reference,
        };
        let mut problem = |code: &str, message: String, fix: &str| {
            entry.here().error(code, message, fix);
            None
        };
        match (reference.from_env, reference.from_command, reference.from_file) {
            (Some(name), None, None) => Some(DeclaredValue::FromEnv(name)),
            (None, None, Some(path)) => Some(DeclaredValue::FromFile(path)),
            (None, Some(command), None) => {
                let words = match command {
                    CommandLineShape::List(words) => words,
                    CommandLineShape::Line(line) => match command_line::split(&line) {
                        Ok(words) => words,
                        Err(bad) => {
                            let message = format!("`fromCommand` of `{key}` {bad}");
                            return problem("bad-command", message, bad.fix());
                        }
                    },
                };
                if words.first().is_none_or(String::is_empty) {
                    let message = format!("`fromCommand` of `{key}` names no program");
                    return problem("empty-value", message, "name the program to run");
                }
                Some(DeclaredValue::FromCommand(words))
            }
            _ => problem(
                "conflicting-keys",
                format!("`{key}` needs exactly one of `fromEnv`, `fromCommand` and `fromFile`"),
                "keep one of the three",
            ),
        }
    }
}
