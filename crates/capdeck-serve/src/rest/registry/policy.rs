//! The approval policy.

use capdeck_auth::inbound;
use capdeck_host::{CapsuleError, Role, find_capsule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{grants::GrantRequestSource, shapes::convert};
use crate::rest::{
    call::RestCall,
    input::{JsonBody, NoBody, NoQuery},
    operation::{RestOperation, get, put},
    problem::ApiError,
    response::RestResponse,
};

const PATH: &str = "/v1/approval-policy";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(PATH, "getApprovalPolicy", "Get the approval policy").handled_by(show),
        put(PATH, "putApprovalPolicy", "Replace the approval policy")
            .about("In mode `policy` the first matching rule decides, otherwise a person. Rules cannot approve the role `owner` or `registry:manage`.")
            .handled_by(replace),
    ]
}

/// How access requests are decided.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalPolicy")]
struct ApprovalPolicy {
    mode: ApprovalModeName,
    /// Evaluated in order, in mode `policy`.
    #[serde(default)]
    rules: Vec<ApprovalRule>,
    /// True when different people and programs share one address: one machine, one office, or a proxy that hides
    /// addresses. Then a request from the decider's own address can be approved.
    #[serde(default)]
    shared_address: bool,
}

/// Who decides.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ApprovalMode")]
pub(super) enum ApprovalModeName {
    /// Operators.
    Human,
    /// Operators, and clients with `registry:manage` for capsules where they have at least the same access.
    Supervisor,
    /// Rules first, then operators.
    Policy,
}

/// One rule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyRule")]
struct ApprovalRule {
    #[serde(rename = "match")]
    matches: ApprovalRuleMatch,
    action: ApprovalRuleAction,
    /// The maximum role of its grants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ceiling_role: Option<Role>,
    /// The lifetime of its grants, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
}

/// Which requests a rule matches. Omitted members match everything.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyMatch")]
struct ApprovalRuleMatch {
    /// A pattern for the client id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    /// The id of a capsule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capsule: Option<String>,
    /// The highest requested role.
    #[serde(default, rename = "role<=", skip_serializing_if = "Option::is_none")]
    max_role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<GrantRequestSource>,
    /// A network, such as `10.0.0.0/8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip_cidr: Option<String>,
}

/// The action of a rule.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PolicyAction")]
enum ApprovalRuleAction {
    Approve,
    Deny,
    Human,
}

async fn show(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<ApprovalPolicy>, ApiError> {
    Ok(RestResponse::new(shown(&call.registry()?.approval().policy())?))
}

async fn replace(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<ApprovalPolicy>,
) -> Result<RestResponse<ApprovalPolicy>, ApiError> {
    let mut policy = body.0;
    // A rule is bound to the capsule that has this id now, not to a later one.
    if policy.rules.iter().any(|rule| rule.matches.capsule.is_some()) {
        let all = call.every_capsule().await?;
        for capsule in policy.rules.iter_mut().filter_map(|rule| rule.matches.capsule.as_mut()) {
            let found = find_capsule(&all, capsule, |one| (&one.id, &one.name));
            let ambiguous = |error| ApiError::invalid(CapsuleError::from(error).message);
            let found = found.map_err(ambiguous)?;
            let missing =
                || ApiError::invalid(format!("a rule names the unknown capsule `{capsule}`"));
            *capsule = found.ok_or_else(missing)?.key();
        }
    }
    let set =
        call.registry()?.approval().set_policy(&call.registry_caller(), convert(&policy)?).await?;
    Ok(RestResponse::new(shown(&set)?))
}

/// The policy with capsule ids instead of keys.
fn shown(policy: &inbound::GrantPolicy) -> Result<ApprovalPolicy, ApiError> {
    let mut shown: ApprovalPolicy = convert(policy)?;
    for capsule in shown.rules.iter_mut().filter_map(|rule| rule.matches.capsule.as_mut()) {
        *capsule = inbound::capsule_id_of(capsule).to_owned();
    }
    Ok(shown)
}
