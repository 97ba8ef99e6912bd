//! A server that an agent already has, as a capability of one's own.
//!
//! What looks like a secret is taken out of the fields and handed back beside them, under the name it is to have in the
//! vault.

mod hide;
mod references;

use std::fmt;

use serde_json::{Map, Value, json};

use self::{hide::Hidden, references::translate};
use crate::client::{ClientServer, ServerFields};

/// A server that can be taken over.
#[derive(Debug)]
pub struct Taken {
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
    pub secrets: Vec<TakenSecret>,
}

/// A value for the vault.
pub struct TakenSecret {
    pub name: String,
    pub value: String,
}

impl fmt::Debug for TakenSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TakenSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Makes a capability of a server, or says why there can be none.
pub fn take_server(server: &ClientServer) -> Result<Taken, String> {
    let name = server.name.clone();
    let id = id_of(&name)
        .ok_or_else(|| "its name has no letter or digit to make an id of".to_owned())?;
    let ServerFields { server, ignored } = server.server.clone()?;
    let mut entry = Value::Object(server);
    translate(&mut entry)?;
    let Value::Object(mut entry) = entry else { return Err("it is not a map".to_owned()) };
    let mut hidden = Hidden::new(&id);
    hidden.environment(entry.get_mut("env"));
    hidden.environment(entry.get_mut("headers"));
    hidden.arguments(entry.get_mut("args"));
    hidden.address(entry.get_mut("url"))?;
    let summary = summary(&name, &entry);
    let fields = fields(entry)?;
    Ok(Taken { name, id, fields, summary, ignored, secrets: hidden.into_secrets() })
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
fn id_of(name: &str) -> Option<String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let spaced: String = name.chars().map(|c| if is_legal(c) { c } else { ' ' }).collect();
    let joined = spaced.split_whitespace().collect::<Vec<_>>().join("-");
    let id: String = joined.chars().take(64).collect();
    id.contains(|c: char| c.is_ascii_alphanumeric()).then_some(id)
}

#[cfg(test)]
mod tests;
