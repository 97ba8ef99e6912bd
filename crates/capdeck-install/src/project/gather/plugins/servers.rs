//! MCP servers of a plugin, each as a definition of the project's deck.

use std::path::Path;

use capdeck_definition::{
    ToolFilter,
    capability_file::{CapabilityFile, HookEvent, PluginDeclaration, ServerToolFilter},
};
use serde_json::{Map, Value, json};

use super::{PluginFolder, PluginParts, expand, json};
use crate::{
    frontmatter::render_field,
    project::content::{HookAction, HookContent, InstallContent, ServerDefinition},
    source::{FolderFile, inside},
};

/// Adds the servers. Returns whether there are any.
pub(super) fn add_servers(
    taken: &mut PluginParts<'_>,
    plugin: &PluginDeclaration,
    found: &PluginFolder,
    files: &[FolderFile],
    copy: &Path,
    file: &CapabilityFile,
    content: &mut InstallContent,
) -> bool {
    let block = match found.manifest.get("mcpServers") {
        Some(own @ (Value::String(_) | Value::Object(_))) => declared(found, Some(own)),
        _ => usual(files, ".mcp.json"),
    };
    let Some(block) = block else { return false };
    let servers = block.get("mcpServers").unwrap_or(&block);
    let mut has_any = false;
    for (key, server) in servers.as_object().into_iter().flatten() {
        let settings = plugin.servers.get(key);
        if settings.is_some_and(|settings| settings.expose == ServerToolFilter::None) {
            continue;
        }
        let id = settings.and_then(|settings| settings.renamed.clone());
        let id = id.unwrap_or_else(|| key.clone());
        let others = content.server_definitions.iter().map(|known| &known.id);
        let known = file.servers.iter().map(|known| &known.id).chain(others);
        if !taken.is_free("server", &id, known) {
            continue;
        }
        let expose = settings.map(|settings| &settings.expose);
        match definition(&id, server, expose, found, copy) {
            Some((text, does)) => {
                has_any = true;
                content.server_definitions.push(ServerDefinition { id, text, does });
            }
            None => taken.warn(format!("the server `{key}` has neither a command nor an address")),
        }
    }
    let known = servers.as_object();
    for key in plugin.servers.keys().filter(|key| known.is_none_or(|all| !all.contains_key(*key))) {
        let names: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        taken.warn(format!("it has no server `{key}`; it has: {}", names.join(", ")));
    }
    has_any
}

/// The definition as a file of the deck, and what it does. JSON is YAML, so values are written as JSON.
fn definition(
    id: &str,
    server: &Value,
    expose: Option<&ServerToolFilter>,
    plugin: &PluginFolder,
    copy: &Path,
) -> Option<(String, String)> {
    let text = |key: &str| server.get(key).and_then(Value::as_str);
    let mut block: Map<String, Value> = Map::new();
    let does;
    if let Some(command) = text("command") {
        block.insert("command".to_owned(), json!(argument(command, copy)));
        let list = server.get("args").and_then(Value::as_array).into_iter().flatten();
        let args: Vec<String> =
            list.filter_map(Value::as_str).map(|one| argument(one, copy)).collect();
        does = format!("starts {} {}", argument(command, copy), args.join(" "));
        block.insert("args".to_owned(), json!(args));
        let env = server.get("env").and_then(Value::as_object).into_iter().flatten();
        let env: Map<String, Value> = env
            .filter_map(|(name, value)| Some((name.clone(), json!(expand(value.as_str()?, copy)))))
            .collect();
        if !env.is_empty() {
            block.insert("env".to_owned(), Value::Object(env));
        }
        let cwd = text("cwd")
            .map_or_else(|| copy.to_string_lossy().into_owned(), |cwd| argument(cwd, copy));
        block.insert("cwd".to_owned(), json!(cwd));
    } else {
        let url = text("url")?;
        does = format!("connects to {url}");
        block.insert("url".to_owned(), json!(url));
        if let Some(headers) = server.get("headers").filter(|headers| headers.is_object()) {
            block.insert("auth".to_owned(), json!({ "type": "headers", "headers": headers }));
        }
    }
    let filter = match expose {
        Some(ServerToolFilter::Except(names)) => {
            Some(ToolFilter { except: names.clone(), exactly: None })
        }
        Some(ServerToolFilter::Exactly(names)) => {
            Some(ToolFilter { exactly: Some(names.clone()), except: Vec::new() })
        }
        Some(ServerToolFilter::All | ServerToolFilter::None) | None => None,
    };
    if let Some(filter) = filter {
        block.insert("tools".to_owned(), json!(filter));
    }
    let description = format!("The server `{id}` of the plugin `{}`", plugin.id);
    let mut lines = String::from("---\n");
    lines.push_str(&render_field("name", &json!(id)));
    lines.push_str(&render_field("description", &json!(description)));
    lines.push_str(&format!("mcpServer: {}\n---\n", Value::Object(block)));
    Some((lines, does))
}

/// A file of the plugin is named by a path that begins with `./`; a program's bare name is looked for on the PATH.
fn argument(text: &str, copy: &Path) -> String {
    match text.strip_prefix("./") {
        Some(path) => copy.join(path).to_string_lossy().into_owned(),
        None => expand(text, copy),
    }
}

/// Adds the hooks, those of the other agent's manifest too. Returns whether there are any.
pub(super) fn add_hooks(
    taken: &mut PluginParts<'_>,
    plugin: &PluginFolder,
    files: &[FolderFile],
    copy: &Path,
    content: &mut InstallContent,
) -> bool {
    let own = declared(plugin, plugin.manifest.get("hooks"));
    let own = own.or_else(|| usual(files, "hooks/hooks.json")).map(|own| (own, plugin.provider));
    let sibling = plugin.sibling.as_ref().and_then(|(manifest, provider)| {
        // Both manifests may name one file, which is then of the first one's kind.
        let is_same = manifest.get("hooks") == plugin.manifest.get("hooks");
        declared(plugin, manifest.get("hooks")).filter(|_| !is_same).map(|hooks| (hooks, *provider))
    });
    let mut count = 0;
    for (hooks, provider) in own.into_iter().chain(sibling) {
        let Some(events) = hooks.get("hooks").unwrap_or(&hooks).as_object() else {
            taken.warn("its hooks cannot be read");
            continue;
        };
        for (event, matcher, hook) in hooks_of(events) {
            count += 1;
            let text = |key: &str| hook.get(key).and_then(Value::as_str);
            let action = match (text("command"), text("prompt")) {
                (Some(command), _) => HookAction::Command(expand(command, copy)),
                (None, Some(prompt)) => HookAction::Prompt(prompt.to_owned()),
                (None, None) => {
                    taken.warn(format!(
                        "a hook at `{event}` has no command and no prompt, so it is ignored"
                    ));
                    continue;
                }
            };
            let provider = provider.to_owned();
            content.hooks.push(HookContent {
                id: format!("plugin-{}-{}-{count}", plugin.id, event.to_ascii_lowercase()),
                event: HookEvent::Native { provider: provider.clone(), event: event.to_owned() },
                action,
                matcher: matcher.map(str::to_owned),
                timeout_seconds: hook.get("timeout").and_then(Value::as_u64),
                fail_closed: hook.get("failClosed").and_then(Value::as_bool),
                providers: Some(vec![provider]),
            });
        }
    }
    count > 0
}

/// Each hook with its event and its matcher.
fn hooks_of(events: &Map<String, Value>) -> Vec<(&str, Option<&str>, &Value)> {
    let mut found = Vec::new();
    for (event, entries) in events {
        for entry in entries.as_array().into_iter().flatten() {
            let matcher = ["matcher", "pattern"].iter().find_map(|key| entry.get(*key));
            let matcher = matcher.and_then(Value::as_str).filter(|text| !text.is_empty());
            // Claude groups hooks by matcher, Cursor lists them as they are.
            let hooks = match entry.get("hooks").and_then(Value::as_array) {
                Some(hooks) => hooks.as_slice(),
                None => std::slice::from_ref(entry),
            };
            found.extend(hooks.iter().map(|hook| (event.as_str(), matcher, hook)));
        }
    }
    found
}

/// What a manifest holds under a key, or in the file that it names there.
fn declared(plugin: &PluginFolder, value: Option<&Value>) -> Option<Value> {
    match value? {
        Value::String(path) => json(&inside(&plugin.path, path.trim_start_matches("./")).ok()?),
        object @ Value::Object(_) => Some(object.clone()),
        _ => None,
    }
}

/// What a plugin's file of a usual name holds.
fn usual(files: &[FolderFile], path: &str) -> Option<Value> {
    serde_json::from_slice(&files.iter().find(|file| file.path == path)?.content).ok()
}
