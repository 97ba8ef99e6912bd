//! A server that an agent already has, as a capability of one's own.
//!
//! What looks like a secret is taken out of the fields and handed back beside them, under the name it is to have in the
//! vault.

mod blocks;
mod inputs;

use std::fmt;

use serde_json::{Map, Value, json};

use crate::{
    client::{ClientServerEntry, ServerFields},
    secrets::{has_login, looks_secret},
};

pub use self::{
    blocks::{ServerBlock, ServerBlocks, ServerBlocksError},
    inputs::{ClientInputs, MissingSecret},
};

/// A server that can be imported.
#[derive(Debug)]
pub struct ImportedServer {
    /// What it is called in the agent's file.
    pub name: String,
    /// An id made of the name.
    pub id: String,
    /// The fields of an MCP server in a capability file, without secrets.
    pub fields: Value,
    /// What it is, in one sentence.
    pub summary: String,
    /// Keys that were left out, as only the client knows what they mean.
    pub ignored: Vec<String>,
    /// What was taken out of the fields. The fields say `${vault:NAME}` instead.
    pub secrets: Vec<ImportedSecret>,
    /// What the agent asks the person for. The fields name it as they name secrets.
    pub missing: Vec<MissingSecret>,
}

impl ImportedServer {
    /// The same server under another id. Secrets keep their names, as those say what the value is for.
    #[must_use]
    pub fn with_id(self, id: String) -> Self {
        Self { id, ..self }
    }
}

/// A value for the vault.
pub struct ImportedSecret {
    pub name: String,
    pub value: String,
}

impl fmt::Debug for ImportedSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ImportedSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Makes a capability of a server, or says why there can be none.
pub fn import_server(
    server: &ClientServerEntry,
    inputs: &ClientInputs,
) -> Result<ImportedServer, String> {
    let name = server.name.clone();
    let id = id_of(&name)
        .ok_or_else(|| "its name has no letter or digit to make an id of".to_owned())?;
    let ServerFields { server, ignored } = server.server.clone()?;
    let mut entry = Value::Object(server);
    let prefix = entry_name(&id);
    let missing = inputs.fill(&mut entry, |input| format!("{prefix}_{}", entry_name(input)));
    translate(&mut entry)?;
    let Value::Object(mut entry) = entry else { return Err("it is not a map".to_owned()) };
    let mut hidden = SecretExtractor { prefix, secrets: Vec::new() };
    hidden.environment(entry.get_mut("env"));
    hidden.environment(entry.get_mut("headers"));
    hidden.arguments(entry.get_mut("args"));
    hidden.address(entry.get_mut("url"))?;
    let summary = summary(&name, &entry);
    let fields = fields(entry)?;
    Ok(ImportedServer { name, id, fields, summary, ignored, secrets: hidden.secrets, missing })
}

/// The fields as a capability file names them.
fn fields(entry: Map<String, Value>) -> Result<Value, String> {
    let mut fields = Map::new();
    for (key, value) in entry {
        match (key.as_str(), value) {
            ("type", Value::String(kind)) => {
                let transport = match kind.as_str() {
                    "stdio" => "stdio",
                    "http" | "streamable-http" | "streamableHttp" | "streamable_http" => "http",
                    "sse" => "sse",
                    other => return Err(format!("its `type` is not known: `{other}`")),
                };
                fields.insert("transport".to_owned(), json!(transport));
            }
            ("headers", Value::Object(headers)) if headers.is_empty() => {}
            ("headers", Value::Object(headers)) => {
                fields.insert("auth".to_owned(), auth(headers));
            }
            ("env", Value::Object(env)) if env.is_empty() => {}
            ("args", Value::Array(args)) if args.is_empty() => {}
            ("disabled", Value::Bool(false)) => {}
            (_, value) => {
                fields.insert(key, value);
            }
        }
    }
    Ok(Value::Object(fields))
}

/// A lone bearer token as that, anything else as headers.
fn auth(headers: Map<String, Value>) -> Value {
    let mut all = headers.iter();
    if let (Some((name, Value::String(value))), None) = (all.next(), all.next())
        && name.eq_ignore_ascii_case("authorization")
        && let Some(token) = value.strip_prefix("Bearer ")
    {
        return json!({ "type": "bearer", "token": token });
    }
    json!({ "type": "headers", "headers": headers })
}

/// Arguments may hold anything, so only the program or the host is named.
fn summary(name: &str, entry: &Map<String, Value>) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    if let Some(command) = text("command") {
        let program = command.rsplit(['/', '\\']).next().unwrap_or(command);
        return format!("Tools of the MCP server `{name}`, started with `{program}`.");
    }
    let address = text("url").unwrap_or_default();
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("Tools of the MCP server `{name}` at {host}.")
}

/// `My Server` becomes `My-Server`.
pub(crate) fn id_of(name: &str) -> Option<String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let spaced: String = name.chars().map(|c| if is_legal(c) { c } else { ' ' }).collect();
    let joined = spaced.split_whitespace().collect::<Vec<_>>().join("-");
    let id: String = joined.chars().take(64).collect();
    id.contains(|c: char| c.is_ascii_alphanumeric()).then_some(id)
}

#[cfg(test)]
mod tests;

/// The secrets of one server, as they are found.
struct SecretExtractor {
    prefix: String,
    secrets: Vec<ImportedSecret>,
}

impl SecretExtractor {
    /// Named values: variables and headers.
    fn environment(&mut self, values: Option<&mut Value>) {
        let Some(Value::Object(entries)) = values else { return };
        for (name, value) in entries {
            let Value::String(text) = value else { continue };
            let (scheme, secret) = match text.strip_prefix("Bearer ") {
                Some(token) => ("Bearer ", token),
                None => ("", text.as_str()),
            };
            if looks_secret(name, secret) {
                *text = format!("{scheme}{}", self.keep(name, secret));
            }
        }
    }

    /// Words of a command line: `--token=VALUE`, `--token VALUE`, or a value that gives itself away.
    fn arguments(&mut self, words: Option<&mut Value>) {
        let Some(Value::Array(words)) = words else { return };
        let mut flag = String::new();
        for word in words {
            let Value::String(text) = word else { continue };
            let before = std::mem::take(&mut flag);
            if let Some((name, value)) = text.split_once('=').filter(|_| text.starts_with('-')) {
                if looks_secret(name.trim_start_matches('-'), value) {
                    *text = format!("{name}={}", self.keep(name, value));
                }
            } else if text.starts_with('-') {
                flag = text.trim_start_matches('-').to_owned();
            } else if looks_secret(&before, text) {
                *text = self.keep(if before.is_empty() { "ARGUMENT" } else { &before }, text);
            }
        }
    }

    /// The values of an address's query. A login in it cannot be named from elsewhere.
    fn address(&mut self, address: Option<&mut Value>) -> Result<(), String> {
        let Some(Value::String(address)) = address else { return Ok(()) };
        if has_login(address) {
            return Err("its address holds a password; give that in a header".to_owned());
        }
        let Some((place, query)) = address.split_once('?') else { return Ok(()) };
        let query: Vec<String> = query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) if looks_secret(name, value) => {
                    format!("{name}={}", self.keep(name, value))
                }
                _ => pair.to_owned(),
            })
            .collect();
        *address = format!("{place}?{}", query.join("&"));
        Ok(())
    }

    fn keep(&mut self, name: &str, value: &str) -> String {
        let wanted = format!("{}_{}", self.prefix, entry_name(name));
        let taken = |name: &String| self.secrets.iter().any(|secret| secret.name == *name);
        let numbered = (2..).map(|count| format!("{wanted}_{count}"));
        let name = std::iter::once(wanted.clone())
            .chain(numbered)
            .find(|name| !taken(name))
            .unwrap_or(wanted);
        let reference = format!("${{vault:{name}}}");
        self.secrets.push(ImportedSecret { name, value: value.to_owned() });
        reference
    }
}

/// A name as the vault allows it.
fn entry_name(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = text.trim_start_matches('-').chars().map(letter).collect();
    name.chars().take(60).collect()
}

/// What only the client that reads the file can fill in.
const ONLY_THERE: [&str; 4] = ["${command:", "${workspaceFolder", "${file", "${config:"];

/// Rewrites every text below a value; says what cannot be rewritten.
fn translate(value: &mut Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            if let Some(found) = ONLY_THERE.iter().find(|word| text.contains(**word)) {
                let word = found.trim_start_matches("${").trim_end_matches(':');
                return Err(format!("it uses `{word}`, which only the client knows"));
            }
            if text.contains("${env:") {
                *text = text.replace("${env:", "${");
            }
            // OpenCode's form, without a dollar sign.
            while let Some(name) = between(text, "{env:", "}") {
                *text = text.replace(&format!("{{env:{name}}}"), &format!("${{{name}}}"));
            }
            if text.contains("{file:") {
                return Err("it reads a file into its configuration".to_owned());
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(translate),
        Value::Object(entries) => entries.values_mut().try_for_each(translate),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn between(text: &str, open: &str, close: &str) -> Option<String> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inside, _)| inside.to_owned())
}
