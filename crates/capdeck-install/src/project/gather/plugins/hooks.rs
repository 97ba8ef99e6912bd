//! Hooks of a plugin, in the shape of the agent it was written for.

use std::path::Path;

use capdeck_definition::capa::HookEvent;
use serde_json::{Map, Value};

use super::{PluginFolder, Taken, expand, folder::json};
use crate::{
    project::content::{Content, HookAction, HookContent},
    source::{FolderFile, inside},
};

/// Adds the hooks, those of the other agent's manifest too. Returns whether there are any.
pub(super) fn add_hooks(
    taken: &mut Taken<'_>,
    plugin: &PluginFolder,
    files: &[FolderFile],
    copy: &Path,
    content: &mut Content,
) -> bool {
    let usual = || {
        let usual = files.iter().find(|file| file.path == "hooks/hooks.json");
        usual.and_then(|file| serde_json::from_slice(&file.content).ok())
    };
    let own = declared(plugin, &plugin.manifest).or_else(usual).map(|own| (own, plugin.provider));
    let sibling = plugin.sibling.as_ref().and_then(|(manifest, provider)| {
        // Both manifests may name one file, which is then of the first one's kind.
        let is_same = manifest.get("hooks") == plugin.manifest.get("hooks");
        declared(plugin, manifest).filter(|_| !is_same).map(|hooks| (hooks, *provider))
    });
    let mut count = 0;
    for (hooks, provider) in own.into_iter().chain(sibling) {
        match hooks.get("hooks").unwrap_or(&hooks).as_object() {
            Some(events) => {
                let of = HooksOf { plugin, provider, copy };
                of.add(events, taken, content, &mut count);
            }
            None => taken.warn("its hooks cannot be read"),
        }
    }
    count > 0
}

/// The hooks that a manifest names or holds.
fn declared(plugin: &PluginFolder, manifest: &Map<String, Value>) -> Option<Value> {
    match manifest.get("hooks")? {
        Value::String(path) => {
            inside(&plugin.path, path.trim_start_matches("./")).ok().and_then(|path| json(&path))
        }
        object @ Value::Object(_) => Some(object.clone()),
        _ => None,
    }
}

/// Hooks of a plugin for one agent.
struct HooksOf<'a> {
    plugin: &'a PluginFolder,
    provider: &'static str,
    copy: &'a Path,
}

impl HooksOf<'_> {
    fn add(
        &self,
        events: &Map<String, Value>,
        taken: &mut Taken<'_>,
        content: &mut Content,
        count: &mut usize,
    ) {
        for (event, entries) in events {
            for entry in entries.as_array().into_iter().flatten() {
                let matcher = ["matcher", "pattern"].iter().find_map(|key| entry.get(*key));
                let matcher = matcher.and_then(Value::as_str).filter(|text| !text.is_empty());
                // Claude groups hooks by matcher, Cursor lists them as they are.
                let hooks = match entry.get("hooks").and_then(Value::as_array) {
                    Some(hooks) => hooks.iter().collect(),
                    None => vec![entry],
                };
                for hook in hooks {
                    *count += 1;
                    match self.action(hook) {
                        Some(action) => {
                            content.hooks.push(self.hook(event, hook, action, matcher, *count));
                        }
                        None => taken.warn(format!(
                            "a hook at `{event}` does nothing that can be taken over"
                        )),
                    }
                }
            }
        }
    }

    fn action(&self, hook: &Value) -> Option<HookAction> {
        let text = |key: &str| hook.get(key).and_then(Value::as_str);
        match (text("command"), text("prompt")) {
            (Some(command), _) => Some(HookAction::Command(expand(command, self.copy))),
            (None, Some(prompt)) => Some(HookAction::Prompt(prompt.to_owned())),
            (None, None) => None,
        }
    }

    fn hook(
        &self,
        event: &str,
        hook: &Value,
        action: HookAction,
        matcher: Option<&str>,
        number: usize,
    ) -> HookContent {
        let hint = event.to_ascii_lowercase();
        HookContent {
            id: format!("plugin-{}-{hint}-{number}", self.plugin.id),
            event: HookEvent::Native {
                provider: self.provider.to_owned(),
                event: event.to_owned(),
            },
            action,
            matcher: matcher.map(str::to_owned),
            timeout_seconds: hook.get("timeout").and_then(Value::as_u64),
            fail_closed: hook.get("failClosed").and_then(Value::as_bool),
            providers: Some(vec![self.provider.to_owned()]),
        }
    }
}
