//! The approval policy, and access profiles: named terms for approvals.

use capdeck_auth::inbound::{
    AccessProfile, ApprovalMode, GrantPolicy, GrantRule, OAuthScope, ProfileTerms, Scopes,
    capsule_id_of,
};
use capdeck_host::{CapsuleError, Role, find_capsule};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replace_if_given;
use crate::rest::{
    ApiError, ApiResult, JsonBody, ListPage, NoContent, PageQuery,
    RequiredAccess::{Admin, Operator},
    RestCall, RestOperation, delete, get, patch, post, put,
};

const PATH: &str = "/v1/approval-policy";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Admin, PATH, "getApprovalPolicy", "Get the approval policy").handled_by(get_policy),
        put(Admin, PATH, "putApprovalPolicy", "Replace the approval policy")
            .about("In mode `policy` the first matching rule decides, otherwise a person. Rules cannot approve the role `owner` or `registry:manage`.")
            .handled_with_body(replace_policy),
        get(Operator, "/v1/access-profiles", "listProfiles", "List access profiles")
            .handled_with_query(list_profiles),
        post(Admin, "/v1/access-profiles", "createProfile", "Create an access profile")
            .about("Approving a request with a profile narrows it to the profile. Later changes of the profile do not change grants.")
            .success(&[201])
            .problems(&[507])
            .handled_with_body(create_profile),
        patch(Admin, "/v1/access-profiles/{id}", "updateProfile", "Change an access profile")
            .about("Omitted members stay unchanged.")
            .problems(&[409])
            .handled_with_body(update_profile),
        delete(Admin, "/v1/access-profiles/{id}", "deleteProfile", "Delete an access profile")
            .handled_by(delete_profile),
    ]
}

/// How access requests are decided.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApprovalPolicy {
    mode: ApprovalMode,
    /// Evaluated in order, in mode `policy`.
    #[serde(default)]
    rules: Vec<GrantRule>,
    /// True when different people and programs share one address: one machine, one office, or a proxy that hides
    /// addresses. Then a request from the decider's own address can be approved.
    #[serde(default)]
    shared_address: bool,
}

async fn get_policy(call: RestCall) -> ApiResult<ApprovalPolicy> {
    Ok(shown_policy(call.registry()?.approval().policy()))
}

async fn replace_policy(
    call: RestCall,
    JsonBody(policy): JsonBody<ApprovalPolicy>,
) -> ApiResult<ApprovalPolicy> {
    let ApprovalPolicy { mode, mut rules, shared_address } = policy;
    // A rule is bound to the capsule that has this id now, not to a later one.
    if rules.iter().any(|rule| rule.matches.capsule.is_some()) {
        let all = call.every_capsule().await?;
        for capsule in rules.iter_mut().filter_map(|rule| rule.matches.capsule.as_mut()) {
            let found = find_capsule(&all, capsule, |one| (&one.id, &one.name));
            let ambiguous = |error| ApiError::invalid(CapsuleError::from(error).message);
            let found = found.map_err(ambiguous)?;
            let missing =
                || ApiError::invalid(format!("a rule names the unknown capsule `{capsule}`"));
            *capsule = found.ok_or_else(missing)?.key();
        }
    }
    let policy = GrantPolicy { mode, rules, shared_address };
    Ok(shown_policy(call.registry()?.approval().set_policy(&call.registry_caller(), policy).await?))
}

/// The policy with capsule ids instead of keys.
fn shown_policy(policy: GrantPolicy) -> ApprovalPolicy {
    let GrantPolicy { mode, mut rules, shared_address } = policy;
    for capsule in rules.iter_mut().filter_map(|rule| rule.matches.capsule.as_mut()) {
        *capsule = capsule_id_of(capsule).to_owned();
    }
    ApprovalPolicy { mode, rules, shared_address }
}

/// An access profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccessProfile")]
struct ProfileResponse {
    id: String,
    created_at: Timestamp,
    #[serde(flatten)]
    terms: ProfileTerms,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AccessProfileChange")]
struct ProfileChange {
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    role: Option<Role>,
    #[schemars(with = "Option<Vec<OAuthScope>>")]
    scopes: Option<Scopes>,
    uri_prefixes: Option<Vec<String>>,
    denied_prefixes: Option<Vec<String>>,
    capabilities: Option<Vec<String>>,
    tools: Option<Vec<String>>,
    denied_tools: Option<Vec<String>>,
    modes: Option<Vec<String>>,
    ttl: Option<u64>,
}

impl From<AccessProfile> for ProfileResponse {
    fn from(AccessProfile { id, created_at, terms }: AccessProfile) -> Self {
        Self { id, created_at, terms }
    }
}

async fn list_profiles(call: RestCall, paging: PageQuery) -> ApiResult<ListPage<ProfileResponse>> {
    let all =
        call.registry()?.approval().profiles().into_iter().map(ProfileResponse::from).collect();
    paging.page_of(&call, all, |profile| profile.id.clone())
}

async fn create_profile(
    call: RestCall,
    JsonBody(terms): JsonBody<ProfileTerms>,
) -> ApiResult<ProfileResponse> {
    Ok(call.registry()?.approval().create_profile(&call.registry_caller(), terms).await?.into())
}

async fn update_profile(
    call: RestCall,
    JsonBody(change): JsonBody<ProfileChange>,
) -> ApiResult<ProfileResponse> {
    let (registry, id) = (call.registry()?, call.path_parameter("id"));
    let known =
        registry.approval().profile(id).ok_or_else(|| ApiError::not_found("profile", id))?;
    let mut terms = known.terms;
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
        replace_if_given(place, given);
    }
    Ok(registry.approval().update_profile(&call.registry_caller(), id, terms).await?.into())
}

async fn delete_profile(call: RestCall) -> ApiResult<NoContent> {
    call.registry()?
        .approval()
        .remove_profile(&call.registry_caller(), call.path_parameter("id"))
        .await?;
    Ok(NoContent)
}
