//! How requests for access are decided.

use capdeck_auth::inbound;
use capdeck_host::{CapsuleError, Role, find_capsule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{grants::Source, shapes::translated};
use crate::rest::{
    call::Call,
    input::{Json, NoBody, NoQuery},
    operation::{Operation, get, put},
    problem::ApiError,
    reply::Reply,
};

const PATH: &str = "/v1/approval-policy";

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get(PATH, "getApprovalPolicy", "Look at how requests for access are decided").done_by(show),
        put(PATH, "putApprovalPolicy", "Say how requests for access are decided")
            .about("In the mode `policy` the first rule that fits decides; where none does, a person. No rule approves the role `owner` or `registry:manage`.")
            .done_by(replace),
    ]
}

/// How requests are decided.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalPolicy")]
struct Policy {
    mode: ApprovalMode,
    /// In their order; they count in the mode `policy`.
    #[serde(default)]
    rules: Vec<Rule>,
    /// Whether different people and programs reach this host from one address: one machine, one office, or a proxy that hides
    /// addresses. Then a request from the decider's own address can be approved.
    #[serde(default)]
    shared_address: bool,
}

/// Who decides.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApprovalMode {
    /// Operators.
    Human,
    /// Operators, and clients with `registry:manage` for capsules where they hold as much themselves.
    Supervisor,
    /// Rules first.
    Policy,
}

/// One rule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyRule")]
struct Rule {
    #[serde(rename = "match")]
    matches: Match,
    action: Action,
    /// The highest role that it grants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ceiling_role: Option<Role>,
    /// How long what it grants lasts, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
}

/// Which requests a rule is about. What is left out does not matter.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyMatch")]
struct Match {
    /// A pattern for the client's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    /// The id of a capsule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capsule: Option<String>,
    /// The highest role that is asked for.
    #[serde(default, rename = "role<=", skip_serializing_if = "Option::is_none")]
    max_role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    /// A network, such as `10.0.0.0/8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip_cidr: Option<String>,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PolicyAction")]
enum Action {
    Approve,
    Deny,
    Human,
}

async fn show(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<Policy>, ApiError> {
    Ok(Reply::new(shown(&call.registry()?.policy())?))
}

async fn replace(call: Call, _: NoQuery, body: Json<Policy>) -> Result<Reply<Policy>, ApiError> {
    let mut policy = body.0;
    // A rule is about the capsule that has this id now, and not about a later one.
    if policy.rules.iter().any(|rule| rule.matches.capsule.is_some()) {
        let all = call.every_capsule().await?;
        for capsule in policy.rules.iter_mut().filter_map(|rule| rule.matches.capsule.as_mut()) {
            let found = find_capsule(&all, capsule, |one| (&one.id, &one.name));
            let ambiguous = |error| ApiError::invalid(CapsuleError::from(error).message);
            let found = found.map_err(ambiguous)?;
            let missing = || {
                ApiError::invalid(format!(
                    "a rule names the capsule `{capsule}`, and there is none"
                ))
            };
            *capsule = found.ok_or_else(missing)?.key();
        }
    }
    let set = call.registry()?.set_policy(&call.registry_caller(), translated(&policy)?).await?;
    Ok(Reply::new(shown(&set)?))
}

/// The policy with the ids of capsules, as people know them.
fn shown(policy: &inbound::Policy) -> Result<Policy, ApiError> {
    let mut shown: Policy = translated(policy)?;
    for capsule in shown.rules.iter_mut().filter_map(|rule| rule.matches.capsule.as_mut()) {
        *capsule = inbound::capsule_id_of(capsule).to_owned();
    }
    Ok(shown)
}
