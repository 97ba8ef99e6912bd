//! `mcpServers` entries as other MCP clients write them: no name, no description, `headers` and `type` of their own.
//!
//! They are rewritten in place into full entries before the schema sees them, so everything after this knows one form.

use std::collections::HashSet;

use indexmap::IndexMap;
use schemars::JsonSchema;

use crate::{
    diagnostic::{FileFindings, TextPosition},
    document::{MapEntries, MapEntry, NodeValue, ValueNode},
    pattern,
    rules::{bearer_token, is_authorization},
    schema,
    suggest::did_you_mean,
    violation::BrokenEntries,
};

/// An MCP server as other clients write it. Keys of a single client are ignored.
#[derive(JsonSchema)]
#[schemars(
    rename_all = "camelCase",
    extend("not" = { "anyOf": [{ "required": ["name"] }, { "required": ["description"] }] }),
)]
#[expect(dead_code, reason = "only its schema is used; entries are rewritten, not deserialised")]
#[schemars(rename = "ClientServer")]
pub(crate) struct ClientServerBlock {
    /// Program to start.
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<IndexMap<String, String>>,
    cwd: Option<String>,
    /// Address of a remote server.
    url: Option<String>,
    http_url: Option<String>,
    server_url: Option<String>,
    /// Headers of every request.
    headers: Option<IndexMap<String, String>>,
    /// `stdio`, `http`, `streamable-http` or `sse`.
    #[schemars(extend("enum" = TRANSPORTS.map(|(name, _)| name)))]
    r#type: Option<String>,
    disabled: Option<bool>,
}

/// What clients call the transports, and what we do.
const TRANSPORTS: [(&str, &str); 6] = [
    ("stdio", "stdio"),
    ("http", "http"),
    ("sse", "sse"),
    ("streamable-http", "http"),
    ("streamableHttp", "http"),
    ("streamable_http", "http"),
];

/// Keys that mean the same in a full entry. A choice of tools is a mapping there; the lists of other clients mean other
/// things.
fn shared_keys() -> Vec<&'static str> {
    let mut keys = schema::CONFIG.keys_of("McpServerWithEntryFields");
    keys.retain(|key| !["name", "description", "tools"].contains(key));
    keys
}

/// Programs that run a package, whose name then says what the server is.
const RUNNERS: [&str; 5] = ["npx", "bunx", "pnpx", "uvx", "pipx"];

/// Rewrites every client entry under `mcpServers`. Entries that cannot be rewritten are noted as broken.
pub(crate) fn adopt(root: &mut ValueNode, findings: &mut FileFindings, broken: &mut BrokenEntries) {
    let servers = root.find_mut(&["mcpServers"]).map(|servers| &mut servers.content);
    let Some(NodeValue::Map(servers)) = servers else { return };
    let known = shared_keys();
    let mut taken: HashSet<String> = servers.keys().cloned().collect();
    for (name, mut server) in std::mem::take(servers) {
        let mut id = name.clone();
        let is_full = ["name", "description"].iter().any(|key| server.value.get(key).is_some());
        if !is_full && server.value.is_map() {
            adopt_id(&mut id, server.place, &mut taken, findings, broken);
            let mark = findings.mark();
            rewrite(&mut server.value, &name, &known, findings);
            if let Some(reason) = findings.first_error_since(mark) {
                broken.add("mcpServers", &id, reason);
            }
        }
        servers.insert(id, server);
    }
}

/// Makes an id of a name that is none, such as `My Server`.
fn adopt_id(
    name: &mut String,
    place: TextPosition,
    taken: &mut HashSet<String>,
    findings: &mut FileFindings,
    broken: &mut BrokenEntries,
) {
    if pattern::is_id(name) {
        return;
    }
    let id = pattern::id_from(name);
    if id.is_empty() || taken.contains(&id) {
        // The schema reports an illegal id; a clash is only visible here.
        if !id.is_empty() {
            let message = format!("`{name}` would get the id `{id}`, which another entry has");
            broken.add("mcpServers", name, &message);
            findings.at(place).error("duplicate-id", message, "rename one of the two");
        }
        return;
    }
    let message = format!("`{name}` is not an id and is read as `{id}`");
    findings.at(place).warning("renamed-id", message, format!("rename it to `{id}`"));
    taken.insert(id.clone());
    *name = id;
}

fn rewrite(server: &mut ValueNode, name: &str, known: &[&str], findings: &mut FileFindings) {
    let place = server.place;
    let NodeValue::Map(written) = &mut server.content else { return };
    let mut entries = MapEntries::default();
    for (key, mut entry) in std::mem::take(written) {
        plain_references(&mut entry.value);
        let adopted = match key.as_str() {
            "type" => transport(entry, findings).map(|entry| ("transport", entry)),
            "headers" => auth(entry).map(|entry| ("auth", entry)),
            "httpUrl" | "serverUrl" => Some(("url", entry)),
            "enabled" | "isActive" => {
                let NodeValue::Bool(is_on) = entry.value.content else { continue };
                entry.value.content = NodeValue::Bool(!is_on);
                Some(("disabled", entry))
            }
            "tools" if entry.value.is_map() => Some(("tools", entry)),
            key if known.contains(&key) => Some((key, entry)),
            key => {
                let otherwise = "remove it, or leave it for the other client";
                let fix = did_you_mean(key, known.iter().copied(), otherwise);
                let message = format!("`{key}` in `{name}` is ignored");
                findings.at(entry.place).warning("ignored-key", message, fix);
                None
            }
        };
        entries.extend(adopted.map(|(key, entry)| (key.to_owned(), entry)));
    }
    let shown: String = name.chars().take(80).collect();
    let described = description(&entries, name);
    *written = [text_entry("name", &shown, place), text_entry("description", &described, place)]
        .into_iter()
        .chain(entries)
        .collect();
}

fn transport(mut entry: MapEntry, findings: &mut FileFindings) -> Option<MapEntry> {
    let known = |name: &str| TRANSPORTS.iter().find(|(written, _)| *written == name);
    match entry.value.text().map(known) {
        // Not a text: the schema says so under the key it becomes.
        None => Some(entry),
        Some(Some((_, transport))) => {
            entry.value = text_node(transport, entry.value.place);
            Some(entry)
        }
        Some(None) => {
            let message = "`type` is not a transport that is known here";
            let fix = "use `stdio`, `http`, `streamable-http` or `sse`";
            findings.at(entry.value.place).error("unknown-value", message, fix);
            None
        }
    }
}

/// A lone bearer token becomes `bearer`; anything else stays a set of headers.
fn auth(entry: MapEntry) -> Option<MapEntry> {
    let place = entry.value.place;
    let headers = entry.value.entries();
    if headers.is_empty() && entry.value.is_map() {
        return None;
    }
    // A value that is not text is reported by the schema.
    let bearer =
        headers.iter().filter(|(name, _)| is_authorization(name)).find_map(|(_, header)| {
            let token = bearer_token(header.value.text()?)?;
            Some(text_node(token, header.value.place))
        });
    let fields = match bearer {
        Some(value) if headers.len() == 1 => {
            [text_entry("type", "bearer", place), ("token".to_owned(), MapEntry { place, value })]
        }
        _ => [
            text_entry("type", "headers", place),
            ("headers".to_owned(), MapEntry { place: entry.place, value: entry.value }),
        ],
    };
    let value = ValueNode { content: NodeValue::Map(fields.into()), place };
    Some(MapEntry { place: entry.place, value })
}

/// What a server is, as far as its entry tells. Arguments may hold secrets, so only a package name is shown.
fn description(entries: &MapEntries, name: &str) -> String {
    let value = |key: &str| entries.get(key).map(|entry| &entry.value);
    if let Some(host) = value("url").and_then(ValueNode::text).and_then(host_of) {
        return format!("MCP server `{name}` at {host}");
    }
    let Some(command) = value("command").and_then(ValueNode::text) else {
        return format!("MCP server `{name}`");
    };
    let program = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let package = match value("args").map(|args| &args.content) {
        Some(NodeValue::List(args)) if RUNNERS.contains(&program) => args
            .iter()
            .filter_map(ValueNode::text)
            .find(|arg| !arg.starts_with('-') && *arg != "run"),
        _ => None,
    };
    match package {
        Some(package) => format!("MCP server `{name}`, the package {package} run by {program}"),
        None => format!("MCP server `{name}`, started with {program}"),
    }
}

fn host_of(address: &str) -> Option<String> {
    url::Url::parse(address).ok()?.host_str().map(str::to_owned)
}

/// `${env:NAME}` is how some clients write `${NAME}`.
fn plain_references(node: &mut ValueNode) {
    match &mut node.content {
        NodeValue::Text(text) if text.contains("${env:") => *text = text.replace("${env:", "${"),
        NodeValue::List(items) => items.iter_mut().for_each(plain_references),
        NodeValue::Map(entries) => {
            entries.values_mut().for_each(|entry| plain_references(&mut entry.value));
        }
        NodeValue::Text(_) | NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) => {}
    }
}

fn text_entry(key: &str, text: &str, place: TextPosition) -> (String, MapEntry) {
    (key.to_owned(), MapEntry { place, value: text_node(text, place) })
}

fn text_node(text: &str, place: TextPosition) -> ValueNode {
    ValueNode { content: NodeValue::Text(text.to_owned()), place }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::schema::CONFIG;

    /// A field that is forgotten here would be dropped from entries that have it.
    #[test]
    fn every_field_of_a_full_entry_is_known() {
        let entry = CONFIG
            .schema
            .pointer("/$defs/McpServerWithEntryFields/properties")
            .and_then(serde_json::Value::as_object)
            .unwrap();
        let fields: BTreeSet<&str> = entry.keys().map(String::as_str).collect();
        let made = ["name", "description", "tools"];
        let known: BTreeSet<&str> = shared_keys().into_iter().chain(made).collect();
        assert_eq!(fields, known);
    }
}
