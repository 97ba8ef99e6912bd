//! Asking for access to a capsule.

use capdeck_auth::inbound::{GrantTarget, Holder, NewRequest, RequestSource, Scopes};
use capdeck_host::{Role, Visibility};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::shapes::{RequestShown, scopes};
use crate::rest::{
    call::Call,
    input::{Json, NoQuery},
    operation::{Operation, post},
    problem::ApiError,
    reply::Reply,
    who::Who,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        post("/v1/capsules/{capsule}/access-requests", "requestAccess", "Ask for access to a capsule for an agent")
            .about("The capsule must be one that you find in the library, or your own; a private one of somebody else is answered like one that does not exist. Its owner and approvers decide. Where the policy decides, the answer is decided already.")
            .who(Who::Operator)
            .success(&[201])
            .problems(&[507])
            .done_by(request),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAccessRequest")]
struct AccessRequestBody {
    role: Role,
    #[schemars(length(max = 1000))]
    reason: Option<String>,
    /// The client that it is for; without one, a connection is made for it later.
    #[schemars(length(min = 1, max = 1000))]
    client_id: Option<String>,
    /// What the agent is called.
    #[schemars(length(min = 1, max = 100))]
    client_name: Option<String>,
    /// The part of the capsule; everything when empty.
    #[serde(default)]
    uri_prefixes: Vec<String>,
    #[serde(default)]
    denied_prefixes: Vec<String>,
    /// What the role needs when nobody says.
    scopes: Option<Vec<String>>,
    /// Until when it is wanted.
    expires_at: Option<Timestamp>,
}

async fn request(
    call: Call,
    _: NoQuery,
    body: Json<AccessRequestBody>,
) -> Result<Reply<RequestShown>, ApiError> {
    let Json(AccessRequestBody {
        role,
        reason,
        client_id,
        client_name,
        uri_prefixes,
        denied_prefixes,
        scopes: names,
        expires_at,
    }) = body;
    let operator = call.operator().ok_or_else(|| ApiError::forbidden("only operators ask here"))?;
    let registry = call.registry()?;
    let capsule = call.capsule().await?;
    let is_known = capsule.visibility != Visibility::Private
        || call.is_admin()
        || registry.capsule_owner(&capsule.key()).as_deref() == Some(operator.id.as_str());
    if !is_known {
        return Err(ApiError::not_found("capsule", call.place("capsule")));
    }
    let client_name = client_name.unwrap_or_else(|| format!("an agent of {}", operator.name));
    let new = NewRequest {
        source: RequestSource::Library,
        holder: match client_id {
            Some(client_id) => {
                Holder::Client { client_id, client_name, operator: operator.id.clone() }
            }
            None => Holder::New { name: client_name, client_id: None },
        },
        requested_by: operator.id,
        target: GrantTarget::Capsule {
            capsule: capsule.key(),
            role,
            uri_prefixes,
            denied_prefixes,
        },
        scopes: match names {
            Some(names) => scopes(&names)?,
            None => Scopes::of_role(role),
        },
        reason,
        wanted_until: expires_at,
    };
    let filed = registry.file_request(&call.registry_caller(), new).await?;
    Ok(Reply::created(RequestShown::of(&call, &filed)?))
}
