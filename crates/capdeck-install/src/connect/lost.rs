//! What an entry says that a new one in its place would not: the limits of an agent, and what people added by hand.

use serde_json::Value;

/// Keys that say how Capdeck is reached or shown. Another value there limits nothing.
const REACH_KEYS: [&str; 16] = [
    "command",
    "cmd",
    "args",
    "type",
    "url",
    "httpUrl",
    "serverUrl",
    "uri",
    "name",
    "description",
    "timeout",
    "envs",
    "env_vars",
    // These give the agent more, not less.
    "alwaysLoad",
    "alwaysLoadTools",
    "default_tools_approval_mode",
];

/// Flags of the old entry that the new one has not, or with another value, and keys that were added or changed by hand.
pub(super) fn lost(old: &Value, new: &Value) -> Vec<String> {
    let kept = flags(&words(new));
    // A running host has a deck and a project of its own.
    let is_moot = |flag: &String| {
        address(new).is_some() && (flag.starts_with("--project") || flag.starts_with("--config"))
    };
    let flags = flags(&words(old)).into_iter();
    let mut lost: Vec<String> =
        flags.filter(|flag| !kept.contains(flag) && !is_moot(flag)).collect();
    let entries = old.as_object().into_iter().flatten();
    let is_changed = |(key, value): &(&String, &Value)| {
        !REACH_KEYS.contains(&key.as_str()) && new.get(key.as_str()) != Some(*value)
    };
    lost.extend(entries.filter(is_changed).map(|(key, value)| match value {
        Value::Bool(_) | Value::Number(_) => format!("{key}: {value}"),
        _ => key.clone(),
    }));
    if let (Some(envs), None) = (filled(old, "envs"), filled(new, "envs")) {
        lost.push(envs);
    }
    if let Some(path) = limited_path(old).filter(|path| limited_path(new).as_ref() != Some(path)) {
        lost.push(path);
    }
    lost
}

/// The words after the program.
fn words(entry: &Value) -> Vec<&str> {
    let list = match entry.get("command").or_else(|| entry.get("cmd")) {
        Some(Value::Array(words)) => words.get(1..),
        _ => entry.get("args").and_then(Value::as_array).map(Vec::as_slice),
    };
    list.unwrap_or_default().iter().filter_map(Value::as_str).collect()
}

/// Every flag with its value, as `--view reviewer`.
fn flags(words: &[&str]) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => flags.push(format!("{flag} {value}")),
            _ if word.starts_with('-') => flags.push((*word).to_owned()),
            _ => {
                if let Some(flag) = flags.last_mut().filter(|flag| !flag.contains(' ')) {
                    *flag = format!("{flag} {word}");
                }
            }
        }
    }
    flags
}

/// A map that is not empty, by its key.
fn filled(entry: &Value, key: &str) -> Option<String> {
    let is_filled = entry.get(key)?.as_object().is_some_and(|map| !map.is_empty());
    is_filled.then(|| key.to_owned())
}

/// The address of a running host.
fn address(entry: &Value) -> Option<&str> {
    let keys = ["url", "httpUrl", "serverUrl", "uri"];
    let own = keys.iter().find_map(|key| entry.get(*key)?.as_str());
    own.or_else(|| words(entry).into_iter().find(|word| word.contains("://")))
}

/// The part of an address that names a view or one server.
fn limited_path(entry: &Value) -> Option<String> {
    let path = address(entry)?.split_once("://")?.1.split_once('/')?.1;
    (path.starts_with("views/") || path.starts_with("servers/")).then(|| format!("/{path}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_and_hand_made_keys_are_named() {
        let plain = json!({ "command": "capdeck", "args": ["serve"] });
        let entry = |args: Value| json!({ "command": "capdeck", "args": args });
        for (old, new, expected) in [
            (plain.clone(), plain.clone(), vec![]),
            (json!({ "command": "/old/capdeck", "args": ["serve"] }), plain.clone(), vec![]),
            (plain.clone(), entry(json!(["serve", "--view", "a"])), vec![]),
            (entry(json!(["serve", "--view", "a"])), plain.clone(), vec!["--view a"]),
            (entry(json!(["serve", "--view=a"])), entry(json!(["serve", "--view", "a"])), vec![]),
            (
                entry(json!(["serve", "--only", "a", "--exposure", "search"])),
                entry(json!(["serve", "--exposure", "direct"])),
                vec!["--only a", "--exposure search"],
            ),
            (
                json!({ "command": ["capdeck", "serve", "-q"], "enabled": false }),
                json!({ "command": ["capdeck", "serve"], "enabled": true }),
                vec!["-q", "enabled: false"],
            ),
            (
                json!({ "command": "capdeck", "args": ["serve"], "env": { "A": "1" }, "disabled": true }),
                plain.clone(),
                vec!["env", "disabled: true"],
            ),
            (
                json!({ "url": "http://h/views/a/mcp" }),
                json!({ "url": "http://h/mcp" }),
                vec!["/views/a/mcp"],
            ),
            (
                entry(json!(["attach", "http://h/servers/a/mcp"])),
                plain.clone(),
                vec!["/servers/a/mcp"],
            ),
            (
                json!({ "cmd": "capdeck", "envs": {} }),
                json!({ "cmd": "capdeck", "envs": {} }),
                vec![],
            ),
            (
                json!({ "cmd": "capdeck", "envs": { "A": "1" } }),
                json!({ "cmd": "capdeck" }),
                vec!["envs"],
            ),
        ] {
            assert_eq!(lost(&old, &new), expected, "{old}");
        }
    }
}
