//! Hooks of a plugin, in the shape of the agent it was written for.

use std::path::Path;

use capdeck_definition::capa::HookEvent;
use serde_json::Value;

use super::{PluginFolder, Taken, expand, folder::json};
use crate::{
    project::content::{Content, HookAction, HookContent},
    source::{FolderFile, inside},
};

/// Adds the hooks. Returns whether there are any.
pub(super) fn add_hooks(
    taken: &mut Taken<'_>,
    plugin: &PluginFolder,
    files: &[FolderFile],
    copy: &Path,
    content: &mut Content,
) -> bool {
    let declared = match plugin.manifest.get("hooks") {
        Some(Value::String(path)) => {
            inside(&plugin.path, path.trim_start_matches("./")).ok().and_then(|path| json(&path))
        }
        Some(object @ Value::Object(_)) => Some(object.clone()),
        _ => {
            let usual = files.iter().find(|file| file.path == "hooks/hooks.json");
            usual.and_then(|file| serde_json::from_slice(&file.content).ok())
        }
    };
    let Some(declared) = declared else { return false };
    let events = declared.get("hooks").unwrap_or(&declared);
    let Some(events) = events.as_object() else {
        taken.warn("its hooks cannot be read");
        return false;
    };
    let mut count = 0;
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
                count += 1;
                let text = |key: &str| hook.get(key).and_then(Value::as_str);
                let action = match (text("command"), text("prompt")) {
                    (Some(command), _) => HookAction::Command(expand(command, copy)),
                    (None, Some(prompt)) => HookAction::Prompt(prompt.to_owned()),
                    (None, None) => {
                        taken.warn(format!(
                            "a hook at `{event}` does nothing that can be taken over"
                        ));
                        continue;
                    }
                };
                let hint = event.to_ascii_lowercase();
                content.hooks.push(HookContent {
                    id: format!("plugin-{}-{hint}-{count}", plugin.id),
                    event: HookEvent::Native {
                        provider: plugin.provider.to_owned(),
                        event: event.clone(),
                    },
                    action,
                    matcher: matcher.map(str::to_owned),
                    timeout_seconds: hook.get("timeout").and_then(Value::as_u64),
                    fail_closed: hook.get("failClosed").and_then(Value::as_bool),
                    providers: Some(vec![plugin.provider.to_owned()]),
                });
            }
        }
    }
    count > 0
}
