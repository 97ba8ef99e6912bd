//! Skills: folders with a `SKILL.md` that tell an agent how something is done. The deck's own, and those of servers.
//!
//! The deck's own are read from `skills/<name>/` below the person's and the trusted project's folders; nothing in them is
//! run. A server's skill `skill://a/SKILL.md` is `skill://<capability>/a/SKILL.md` here, that of a capsule
//! `skill://capsules/<capsule>/a/SKILL.md`.

mod files;
mod served;

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, RawObject};
use serde_json::{Value, json, value::RawValue};

pub(crate) use files::OwnSkill;

use crate::{Scope, Session, ViewPolicy, raw};

/// The extension's name.
const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Where the deck's own skills are.
const OWN: &str = "skill://capdeck/";

/// What a folder looks like among resources.
const FOLDER_TYPE: &str = "inode/directory";

impl Session {
    /// Every skill this client can use: `{uri, frontmatter, resources}`.
    pub async fn skills(&self, context: &CallContext) -> Vec<Value> {
        let mut all: Vec<Value> = self.own_skills().iter().map(OwnSkill::entry).collect();
        for capability in self.skill_servers() {
            match self.served_skills(&capability, context).await {
                Ok(skills) => all.extend(skills),
                Err(error) => {
                    let id = &capability.definition.id;
                    tracing::warn!(capability = %id, %error, "its skills could not be listed");
                }
            }
        }
        all.extend(self.capsule_skills().await);
        all
    }

    /// One skill by the URI of its `SKILL.md`.
    pub async fn skill(&self, uri: &str, context: &CallContext) -> Result<Value, CallError> {
        let all = self.skills(context).await;
        let found = all.into_iter().find(|skill| skill["uri"] == uri);
        found.ok_or_else(|| not_found(format!("there is no skill `{uri}`")))
    }

    /// A file of a skill, if the URI names one; its digest is checked.
    pub(crate) async fn read_skill_file(
        &self,
        uri: &str,
        params: RawObject,
        context: &CallContext,
    ) -> Option<Result<Box<RawValue>, CallError>> {
        if uri.starts_with(OWN) {
            let found = self.own_skills().iter().find_map(|skill| skill.read(uri));
            return Some(match found {
                Some(content) => {
                    content.and_then(|content| answer(&json!({ "contents": [content] })))
                }
                None => Err(not_found(format!("there is no resource `{uri}`"))),
            });
        }
        if let Some(read) = self.read_capsule_skill(uri, context).await {
            return Some(read);
        }
        let (capability, real) = self.skill_owner(uri)?;
        Some(self.read_served_file(&capability, uri, &real, params, context).await)
    }

    /// What is directly inside a folder of a skill.
    pub async fn read_skill_folder(
        &self,
        uri: &str,
        context: &CallContext,
    ) -> Result<Vec<Value>, CallError> {
        let folder = format!("{}/", uri.trim_end_matches('/'));
        let mut children: Vec<Value> = Vec::new();
        for skill in self.skills(context).await {
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
            let message = format!("`{uri}` is no folder of a skill");
            return Err(CallError::new(ErrorCode::RequestInvalid, message));
        }
        Ok(children)
    }

    /// The deck's own skills; in a view, those that it names and the one that comes with the host.
    fn own_skills(&self) -> Vec<OwnSkill> {
        let mut all = files::read_all(&self.host);
        if let Scope::Deck(ViewPolicy { view: Some(name), .. }) = &self.scope {
            let catalog = self.host.catalog();
            let view = catalog.parts().views.get(&**name);
            let named = view.map(|view| view.skills.as_slice()).unwrap_or_default();
            all.retain(|skill| {
                skill.is_built_in() || named.iter().any(|id| skill.name() == Some(id.as_str()))
            });
        }
        if self.admission.is_some() {
            // Nobody grants a skill; those are known whose tools were granted.
            let catalog = self.catalog();
            let known = |name: &str| catalog.skills().iter().any(|skill| skill.id == name);
            all.retain(|skill| skill.is_built_in() || skill.name().is_some_and(known));
        }
        all
    }

    /// The server and its own URI behind a skill's file.
    fn skill_owner(&self, uri: &str) -> Option<(std::sync::Arc<Capability>, String)> {
        let (id, rest) = uri.strip_prefix("skill://")?.split_once('/')?;
        let capability =
            self.skill_servers().into_iter().find(|one| one.definition.id.as_str() == id)?;
        Some((capability, format!("skill://{rest}")))
    }

    /// Capabilities this client may see whose servers have skills, as far as is known.
    fn skill_servers(&self) -> Vec<std::sync::Arc<Capability>> {
        let declares = |capability: &Capability| {
            let facts = capability.discovery.as_ref()?.server.as_ref()?;
            let extensions = raw::value(facts.capabilities.get("extensions")?)?;
            Some(extensions.get(EXTENSION).is_some())
        };
        let deck = self.snapshot();
        let seen = deck.catalog().capabilities();
        let usable = seen.filter(|one| one.is_usable() && deck.may_see(one));
        usable.filter(|one| declares(one) == Some(true)).cloned().collect()
    }
}

fn not_found(message: String) -> CallError {
    CallError::new(ErrorCode::ResourceNotFound, message).hint("list the skills first")
}

fn answer(value: &Value) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
}
