//! The skills extension: one small skill with a folder in it, and a digest of every file.

use capdeck_mcp::RpcError;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::call::{FixtureCall, FixtureResult};

/// The extension's name.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";

const FOLDER: &str = "skill://tidy-notes";
const NAME: &str = "tidy-notes";
const DESCRIPTION: &str = "Sorts loose notes into one page with headings";

/// Path below the skill's folder, media type and text of every file.
const FILES: [(&str, &str, &str); 3] = [
    (
        "SKILL.md",
        "text/markdown",
        "---\nname: tidy-notes\ndescription: Sorts loose notes into one page with headings\nlicense: MIT\n---\n\n\
         # Tidy notes\n\nRead `references/headings.md`, then group the notes under its headings.\n",
    ),
    (
        "references/headings.md",
        "text/markdown",
        "# Headings\n\n- Decisions\n- Questions\n- To do\n",
    ),
    ("examples.txt", "text/plain", "buy milk -> To do\nwho signs? -> Questions\n"),
];

/// `skills/list`.
pub(super) fn list(call: &FixtureCall<'_>) -> Value {
    cacheable(json!({ "skills": [entry()] }), call)
}

/// The skill, as lists show it.
fn entry() -> Value {
    let resources: Vec<Value> = FILES
        .iter()
        .map(|(path, _, text)| {
            json!({ "uri": format!("{FOLDER}/{path}"), "digest": digest(text), "size": text.len() })
        })
        .collect();
    json!({
        "uri": format!("{FOLDER}/SKILL.md"),
        "frontmatter": { "name": NAME, "description": DESCRIPTION, "license": "MIT" },
        "resources": resources,
    })
}

/// `skills/get`.
pub(super) fn get(call: &FixtureCall<'_>) -> FixtureResult {
    let entry = entry();
    if call.params["uri"] == entry["uri"] {
        Ok(cacheable(json!({ "skill": entry }), call))
    } else {
        Err(RpcError::invalid_params(format!("{} is no skill", call.params["uri"])))
    }
}

/// The skill's main file among the resources; the others are found from it.
pub(super) fn resources() -> impl Iterator<Item = Value> {
    std::iter::once(json!({
        "uri": format!("{FOLDER}/SKILL.md"),
        "name": NAME,
        "description": DESCRIPTION,
        "mimeType": "text/markdown",
    }))
}

/// A file of the skill, as `resources/read` shows it.
pub(super) fn read_file(uri: &str) -> Option<Value> {
    let path = uri.strip_prefix(FOLDER)?.strip_prefix('/')?;
    let (_, media_type, text) = FILES.iter().find(|(file, ..)| *file == path)?;
    Some(json!({ "uri": uri, "mimeType": media_type, "text": text }))
}

/// `resources/directory/read`: what is directly inside a folder of the skill.
pub(super) fn read_directory(call: &FixtureCall<'_>) -> FixtureResult {
    let uri = call.params["uri"].as_str().unwrap_or_default().trim_end_matches('/');
    let no_folder = || RpcError::invalid_params(format!("`{uri}` is no folder"));
    let below = uri.strip_prefix(FOLDER).ok_or_else(no_folder)?;
    let prefix = if below.is_empty() {
        String::new()
    } else {
        format!("{}/", below.trim_start_matches('/'))
    };
    let mut children: Vec<Value> = Vec::new();
    for (path, media_type, _) in FILES {
        let Some(rest) = path.strip_prefix(&prefix) else { continue };
        let child = match rest.split_once('/') {
            Some((folder, _)) => {
                json!({ "uri": format!("{uri}/{folder}"), "name": folder, "mimeType": "inode/directory" })
            }
            None => json!({ "uri": format!("{uri}/{rest}"), "name": rest, "mimeType": media_type }),
        };
        if !children.contains(&child) {
            children.push(child);
        }
    }
    if children.is_empty() { Err(no_folder()) } else { Ok(json!({ "resources": children })) }
}

/// Says how long a modern client may keep this.
fn cacheable(mut result: Value, call: &FixtureCall<'_>) -> Value {
    if call.is_modern {
        result["ttlMs"] = 60_000.into();
        result["cacheScope"] = "public".into();
    }
    result
}

fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
