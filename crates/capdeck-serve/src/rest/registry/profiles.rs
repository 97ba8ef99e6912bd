//! Access profiles: named terms for approvals.

use capdeck_auth::inbound::{AccessProfile, ProfileTerms};
use capdeck_host::Role;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::translated;
use crate::rest::{
    call::Call,
    input::{Json, NoBody, NoQuery},
    operation::{Operation, delete, get, patch, post},
    page::{Page, Paging},
    problem::ApiError,
    reply::{NoContent, Reply},
    who::Who,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/access-profiles", "listProfiles", "List access profiles")
            .who(Who::Operator)
            .done_by(list),
        post("/v1/access-profiles", "createProfile", "Create an access profile")
            .about("Approving a request with a profile narrows it to the profile. Later changes of the profile do not change grants.")
            .success(&[201])
            .problems(&[507])
            .done_by(create),
        patch("/v1/access-profiles/{id}", "updateProfile", "Change an access profile")
            .about("Omitted members stay unchanged.")
            .problems(&[409])
            .done_by(update),
        delete("/v1/access-profiles/{id}", "deleteProfile", "Delete an access profile")
            .done_by(remove),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Pages {
    #[serde(flatten)]
    paging: Paging,
}

/// An access profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccessProfile")]
struct Profile {
    id: String,
    created_at: Timestamp,
    #[serde(flatten)]
    terms: TermsShown,
}

/// The terms of a profile. Omitted members do not narrow a request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AccessProfileTerms")]
struct TermsShown {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// The maximum role in a capsule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<ScopeName>>,
    #[serde(default)]
    uri_prefixes: Vec<String>,
    #[serde(default)]
    denied_prefixes: Vec<String>,
    /// Patterns for capabilities of the deck.
    #[serde(default)]
    capabilities: Vec<String>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    denied_tools: Vec<String>,
    #[serde(default)]
    modes: Vec<String>,
    /// The lifetime of the grant, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
}

/// A scope by its name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum ScopeName {
    #[serde(rename = "deck:read")]
    DeckRead,
    #[serde(rename = "deck:call")]
    DeckCall,
    #[serde(rename = "capsule:read")]
    CapsuleRead,
    #[serde(rename = "capsule:append")]
    CapsuleAppend,
    #[serde(rename = "capsule:write")]
    CapsuleWrite,
    #[serde(rename = "capsule:admin")]
    CapsuleAdmin,
    #[serde(rename = "registry:manage")]
    RegistryManage,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AccessProfileChange")]
struct ProfileChange {
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    role: Option<Role>,
    scopes: Option<Vec<ScopeName>>,
    uri_prefixes: Option<Vec<String>>,
    denied_prefixes: Option<Vec<String>>,
    capabilities: Option<Vec<String>>,
    tools: Option<Vec<String>>,
    denied_tools: Option<Vec<String>>,
    modes: Option<Vec<String>>,
    ttl: Option<u64>,
}

fn shown(profile: &AccessProfile) -> Result<Profile, ApiError> {
    let AccessProfile { id, created_at, terms } = profile;
    Ok(Profile { id: id.clone(), created_at: *created_at, terms: translated(terms)? })
}

async fn list(call: Call, query: Pages, _: NoBody) -> Result<Reply<Page<Profile>>, ApiError> {
    let all = call.registry()?.profiles();
    let all = all.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    Ok(Reply::new(query.paging.cut(&call, all, |profile| profile.id.clone())?))
}

async fn create(
    call: Call,
    _: NoQuery,
    body: Json<TermsShown>,
) -> Result<Reply<Profile>, ApiError> {
    let terms: ProfileTerms = translated(&body.0)?;
    let made = call.registry()?.create_profile(&call.registry_caller(), terms).await?;
    Ok(Reply::created(shown(&made)?))
}

async fn update(
    call: Call,
    _: NoQuery,
    body: Json<ProfileChange>,
) -> Result<Reply<Profile>, ApiError> {
    let (registry, id) = (call.registry()?, call.place("id"));
    let known = registry.profile(id).ok_or_else(|| ApiError::not_found("profile", id))?;
    let mut terms: TermsShown = translated(&known.terms)?;
    let change = body.0;
    terms.name = change.name.unwrap_or(terms.name);
    terms.role = change.role.or(terms.role);
    terms.scopes = change.scopes.or(terms.scopes);
    terms.ttl = change.ttl.or(terms.ttl);
    for (place, given) in [
        (&mut terms.uri_prefixes, change.uri_prefixes),
        (&mut terms.denied_prefixes, change.denied_prefixes),
        (&mut terms.capabilities, change.capabilities),
        (&mut terms.tools, change.tools),
        (&mut terms.denied_tools, change.denied_tools),
        (&mut terms.modes, change.modes),
    ] {
        if let Some(given) = given {
            *place = given;
        }
    }
    let terms: ProfileTerms = translated(&terms)?;
    let changed = registry.update_profile(&call.registry_caller(), id, terms).await?;
    Ok(Reply::new(shown(&changed)?))
}

async fn remove(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<NoContent>, ApiError> {
    call.registry()?.remove_profile(&call.registry_caller(), call.place("id")).await?;
    Ok(Reply::new(NoContent))
}
