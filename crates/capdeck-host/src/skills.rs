//! Skills of the deck and of servers: folders with a `SKILL.md` for agents. Nothing in them is run.
//!
//! A server's skill `skill://a/SKILL.md` is `skill://<capability>/a/SKILL.md` here, that of a
//! capsule `skill://capsules/<capsule>/a/SKILL.md`.

mod files;
mod served;

use std::sync::Arc;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, RawMembers};
use serde_json::{Value, json};

pub(crate) use files::DeckSkill;

use crate::{RequestContext, SessionScope, ViewPolicy, deck_snapshot::DeckSnapshot, raw};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

const DECK_SKILL_PREFIX: &str = "skill://capdeck/";

const FOLDER_TYPE: &str = "inode/directory";

/// Every skill this client can use: `{uri, frontmatter, resources}`.
pub async fn list(request: &RequestContext<'_>) -> Vec<Value> {
    let mut all: Vec<Value> = own_skills(&request.deck).iter().map(DeckSkill::entry).collect();
    for capability in skill_servers(&request.deck) {
        match served::served_skills(request, &capability).await {
            Ok(skills) => all.extend(skills),
            Err(error) => {
                let id = &capability.definition.id;
                tracing::warn!(capability = %id, %error, "its skills could not be listed");
            }
        }
    }
    if let Some(entries) = request.session().entries() {
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
    if let Some(entries) = request.session().entries()
        && let Some(read) = entries.read_skill(uri, request.call).await
    {
        return Some(read);
    }
    let (capability, real) = skill_owner(&request.deck, uri)?;
    Some(served::read_served_file(request, &capability, uri, &real, params).await)
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
        let catalog = deck.session().host.catalog();
        let view = catalog.parts().views.get(&**name);
        let named = view.map(|view| view.skills.as_slice()).unwrap_or_default();
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
