//! Skills of the deck and of servers: folders with a `SKILL.md` for agents. Nothing in them is run.
//!
//! A server's skill `skill://a/SKILL.md` is `skill://<capability>/a/SKILL.md` here, that of a
//! capsule `skill://capsules/<capsule>/a/SKILL.md`.

mod files;

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, RawMembers};
use serde_json::{Value, json};

pub(crate) use files::DeckSkill;

use self::files::digest;
use crate::{
    RequestContext, SessionScope, ViewPolicy, deck_snapshot::DeckSnapshot, forward::forward, raw,
};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

const DECK_SKILL_PREFIX: &str = "skill://capdeck/";

const FOLDER_TYPE: &str = "inode/directory";

/// No honest server has more pages of skills.
const MAX_PAGES: usize = 100;

/// Every skill this client can use: `{uri, frontmatter, resources}`.
pub async fn list(request: &RequestContext<'_>) -> Vec<Value> {
    let mut all: Vec<Value> = own_skills(&request.deck).iter().map(DeckSkill::entry).collect();
    for capability in skill_servers(&request.deck) {
        match served_skills(request, &capability).await {
            Ok(skills) => all.extend(skills),
            Err(error) => {
                let id = &capability.definition.id;
                tracing::warn!(capability = %id, %error, "its skills could not be listed");
            }
        }
    }
    if let Some(entries) = request.deck.entries() {
        all.extend(entries.skills().await);
    }
    all
}

/// One skill by the URI of its `SKILL.md`.
pub async fn get(request: &RequestContext<'_>, uri: &str) -> Result<Value, CallError> {
    let all = list(request).await;
    let found = all.into_iter().find(|skill| skill["uri"] == uri);
    found.ok_or_else(|| not_found(format!("there is no skill `{uri}`")))
}

/// A file of a skill, if the URI names one; its digest is checked.
pub(crate) async fn read_file(
    request: &RequestContext<'_>,
    uri: &str,
    params: RawMembers,
) -> Option<raw::Answer> {
    if uri.starts_with(DECK_SKILL_PREFIX) {
        let found = own_skills(&request.deck).iter().find_map(|skill| skill.read(uri));
        return Some(match found {
            Some(content) => {
                content.and_then(|content| raw::text(&json!({ "contents": [content] })))
            }
            None => Err(not_found(format!("there is no resource `{uri}`"))),
        });
    }
    if let Some(entries) = request.deck.entries()
        && let Some(read) = entries.read_skill(uri, request.call).await
    {
        return Some(read);
    }
    let (capability, real) = skill_owner(&request.deck, uri)?;
    Some(read_served_file(request, &capability, uri, &real, params).await)
}

/// The direct children of a folder of a skill.
pub async fn read_folder(request: &RequestContext<'_>, uri: &str) -> Result<Vec<Value>, CallError> {
    let folder = format!("{}/", uri.trim_end_matches('/'));
    let mut children: Vec<Value> = Vec::new();
    for skill in list(request).await {
        let files = skill["resources"].as_array().cloned().unwrap_or_default();
        for file in files.iter().filter_map(|file| file["uri"].as_str()) {
            let Some(rest) = file.strip_prefix(&folder) else { continue };
            let child = match rest.split_once('/') {
                Some((name, _)) => {
                    json!({ "uri": format!("{folder}{name}"), "name": name, "mimeType": FOLDER_TYPE })
                }
                None => {
                    json!({ "uri": file, "name": rest, "mimeType": files::media_type(rest) })
                }
            };
            if !children.contains(&child) {
                children.push(child);
            }
        }
    }
    if children.is_empty() {
        let message = format!("`{uri}` is not a folder of a skill");
        return Err(CallError::invalid_request(message));
    }
    Ok(children)
}

fn own_skills(deck: &DeckSnapshot<'_>) -> Vec<DeckSkill> {
    let mut all = files::read_all(&deck.session().host);
    if let SessionScope::Deck(ViewPolicy { view: Some(name), .. }) = deck.scope() {
        let named = deck.skills_of_view(name);
        all.retain(|skill| {
            skill.is_built_in() || named.iter().any(|id| skill.name() == Some(id.as_str()))
        });
    }
    if deck.session().access.is_some() {
        // Skills have no grants of their own; a client sees those whose tools were granted.
        let known = |name: &str| deck.catalog().skills().iter().any(|skill| skill.id == name);
        all.retain(|skill| skill.is_built_in() || skill.name().is_some_and(known));
    }
    all
}

fn skill_owner(deck: &DeckSnapshot<'_>, uri: &str) -> Option<(Arc<Capability>, String)> {
    let (id, rest) = uri.strip_prefix("skill://")?.split_once('/')?;
    let capability =
        skill_servers(deck).into_iter().find(|one| one.definition.id.as_str() == id)?;
    Some((capability, format!("skill://{rest}")))
}

fn skill_servers(deck: &DeckSnapshot<'_>) -> Vec<Arc<Capability>> {
    let declares = |capability: &Capability| {
        let facts = capability.discovery.as_ref()?.server.as_ref()?;
        let extensions: RawMembers = raw::get(&facts.capabilities, "extensions")?;
        Some(extensions.contains_key(EXTENSION))
    };
    let seen = deck.catalog().capabilities();
    let usable = seen.filter(|one| one.is_usable() && deck.may_see(one));
    usable.filter(|one| declares(one) == Some(true)).cloned().collect()
}

fn not_found(message: String) -> CallError {
    CallError::new(ErrorCode::ResourceNotFound, message).hint("list the skills first")
}

/// Skips skills outside of `skill://`, which have no name in the deck.
async fn served_skills(
    request: &RequestContext<'_>,
    capability: &Capability,
) -> Result<Vec<Value>, CallError> {
    let id = capability.definition.id.as_str();
    let (mut skills, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let params = cursor.take().map(|cursor: Value| raw::object([("cursor", cursor)]));
        let page = forward(request, id, "skills/list", params).await?;
        let page = raw::value(&page).unwrap_or_default();
        let listed = page.get("skills").and_then(Value::as_array).into_iter().flatten();
        skills.extend(listed.filter_map(|skill| renamed(id, skill)));
        match page.get("nextCursor").filter(|cursor| cursor.is_string()) {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    Ok(skills)
}

/// Reads a file of a server's skill and verifies the digest of its manifest.
async fn read_served_file(
    request: &RequestContext<'_>,
    capability: &Capability,
    uri: &str,
    real: &str,
    mut params: RawMembers,
) -> raw::Answer {
    let id = capability.definition.id.as_str();
    let skills = served_skills(request, capability).await?;
    let manifests = skills.iter().filter_map(|skill| skill["resources"].as_array());
    let promised = manifests.flatten().find(|file| file["uri"] == uri);
    raw::set(&mut params, "uri", real);
    let result = forward(request, id, "resources/read", Some(params)).await?;
    let Some(mut value) = raw::value(&result).filter(|value| value["contents"].is_array()) else {
        // Not a file yet: the server asks something first.
        return Ok(result);
    };
    for content in value["contents"].as_array_mut().into_iter().flatten() {
        if content["uri"] != real {
            continue;
        }
        if let Some(promised) = promised
            && !keeps(content, promised)
        {
            return Err(CallError::new(
                ErrorCode::DownstreamResourceError,
                format!(
                    "`{uri}` does not match the manifest of `{id}`: its digest or size differs"
                ),
            )
            .hint("list the skills again; if the error remains, do not use this skill"));
        }
        content["uri"] = json!(uri);
    }
    raw::text(&value)
}

fn renamed(id: &str, skill: &Value) -> Option<Value> {
    let mut skill = skill.clone();
    let uri = deck_uri(id, skill["uri"].as_str()?)?;
    skill["uri"] = json!(uri);
    for file in skill["resources"].as_array_mut().into_iter().flatten() {
        let uri = deck_uri(id, file["uri"].as_str()?)?;
        file["uri"] = json!(uri);
    }
    Some(skill)
}

fn deck_uri(id: &str, uri: &str) -> Option<String> {
    Some(format!("skill://{id}/{}", uri.strip_prefix("skill://")?))
}

fn keeps(content: &Value, promised: &Value) -> bool {
    let bytes = match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(blob)) => BASE64_STANDARD.decode(blob).unwrap_or_default(),
        (None, None) => return false,
    };
    promised["digest"] == digest(&bytes) && promised["size"] == bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_skill_gets_the_capabilitys_name_in_front() {
        let skill = json!({"uri": "skill://a/SKILL.md", "x": 1,
            "resources": [{"uri": "skill://a/SKILL.md", "size": 1}]});
        assert_eq!(
            renamed("fake", &skill).unwrap(),
            json!({"uri": "skill://fake/a/SKILL.md", "x": 1,
                "resources": [{"uri": "skill://fake/a/SKILL.md", "size": 1}]})
        );
        assert_eq!(renamed("fake", &json!({"uri": "file:///a/SKILL.md"})), None);
        let dynamic = json!({"uri": "skill://a/SKILL.md", "resources": "dynamic"});
        assert_eq!(renamed("fake", &dynamic).unwrap()["resources"], "dynamic");
    }

    #[test]
    fn a_file_must_be_what_was_promised() {
        let promised = json!({"digest": digest(b"abc"), "size": 3});
        assert!(keeps(&json!({"text": "abc"}), &promised));
        assert!(keeps(&json!({"blob": "YWJj"}), &promised));
        for wrong in [json!({"text": "abd"}), json!({"blob": "YWJk"}), json!({})] {
            assert!(!keeps(&wrong, &promised), "{wrong}");
        }
        let short = json!({"digest": digest(b"abc"), "size": 2});
        assert!(!keeps(&json!({"text": "abc"}), &short));
    }
}
