//! Access profiles: named terms for approvals.

use capdeck_auth::inbound::{AccessProfile, ProfileTerms};
use capdeck_host::Role;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::convert;
use crate::rest::{
    call::RestCall,
    input::{JsonBody, NoBody, NoQuery},
    operation::{RestOperation, delete, get, patch, post},
    page::{ListPage, PageQuery},
    problem::ApiError,
    required_access::RequiredAccess,
    response::{NoContent, RestResponse},
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/access-profiles", "listProfiles", "List access profiles")
            .who(RequiredAccess::Operator)
            .handled_by(list),
        post("/v1/access-profiles", "createProfile", "Create an access profile")
            .about("Approving a request with a profile narrows it to the profile. Later changes of the profile do not change grants.")
            .success(&[201])
            .problems(&[507])
            .handled_by(create),
        patch("/v1/access-profiles/{id}", "updateProfile", "Change an access profile")
            .about("Omitted members stay unchanged.")
            .problems(&[409])
            .handled_by(update),
        delete("/v1/access-profiles/{id}", "deleteProfile", "Delete an access profile")
            .handled_by(remove),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Pages")]
struct ProfileListQuery {
    #[serde(flatten)]
    paging: PageQuery,
}

/// An access profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccessProfile")]
struct ProfileResponse {
    id: String,
    created_at: Timestamp,
    #[serde(flatten)]
    terms: AccessProfileTerms,
}

/// The terms of a profile. Omitted members do not narrow a request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AccessProfileTerms")]
struct AccessProfileTerms {
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

fn shown(profile: &AccessProfile) -> Result<ProfileResponse, ApiError> {
    let AccessProfile { id, created_at, terms } = profile;
    Ok(ProfileResponse { id: id.clone(), created_at: *created_at, terms: convert(terms)? })
}

async fn list(
    call: RestCall,
    query: ProfileListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<ProfileResponse>>, ApiError> {
    let all = call.registry()?.approval().profiles();
    let all = all.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    Ok(RestResponse::new(query.paging.page_of(&call, all, |profile| profile.id.clone())?))
}

async fn create(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<AccessProfileTerms>,
) -> Result<RestResponse<ProfileResponse>, ApiError> {
    let terms: ProfileTerms = convert(&body.0)?;
    let made = call.registry()?.approval().create_profile(&call.registry_caller(), terms).await?;
    Ok(RestResponse::created(shown(&made)?))
}

async fn update(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<ProfileChange>,
) -> Result<RestResponse<ProfileResponse>, ApiError> {
    let (registry, id) = (call.registry()?, call.path_parameter("id"));
    let known =
        registry.approval().profile(id).ok_or_else(|| ApiError::not_found("profile", id))?;
    let mut terms: AccessProfileTerms = convert(&known.terms)?;
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
    let terms: ProfileTerms = convert(&terms)?;
    let changed = registry.approval().update_profile(&call.registry_caller(), id, terms).await?;
    Ok(RestResponse::new(shown(&changed)?))
}

async fn remove(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<NoContent>, ApiError> {
    call.registry()?
        .approval()
        .remove_profile(&call.registry_caller(), call.path_parameter("id"))
        .await?;
    Ok(RestResponse::new(NoContent))
}
