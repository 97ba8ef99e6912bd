//! Access requests of operators for a capsule.

use capdeck_auth::inbound::{GrantRecipient, GrantTarget, NewRequest, RequestSource, Scopes};
use capdeck_host::{CapsuleVisibility, Role};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::shapes::{GrantRequestResponse, scopes};
use crate::rest::{
    call::RestCall,
    input::{JsonBody, NoQuery},
    operation::{RestOperation, post},
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        post("/v1/capsules/{capsule}/access-requests", "requestAccess", "Request access to a capsule for an agent")
            .about("The capsule must be your own or in the library; other private capsules return 404. The owner and approvers decide. If a policy rule decides, the response already has the decision.")
            .who(RequiredAccess::Operator)
            .success(&[201])
            .problems(&[507])
            .handled_by(request),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAccessRequest")]
struct AccessRequestBody {
    role: Role,
    #[schemars(length(max = 1000))]
    reason: Option<String>,
    /// The client; without one, create a connection later.
    #[schemars(length(min = 1, max = 1000))]
    client_id: Option<String>,
    /// The name of the agent.
    #[schemars(length(min = 1, max = 100))]
    client_name: Option<String>,
    /// The part of the capsule; empty means everything.
    #[serde(default)]
    uri_prefixes: Vec<String>,
    #[serde(default)]
    denied_prefixes: Vec<String>,
    /// Default: the scopes of the role.
    scopes: Option<Vec<String>>,
    /// The requested expiry.
    expires_at: Option<Timestamp>,
}

async fn request(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<AccessRequestBody>,
) -> Result<RestResponse<GrantRequestResponse>, ApiError> {
    let JsonBody(AccessRequestBody {
        role,
        reason,
        client_id,
        client_name,
        uri_prefixes,
        denied_prefixes,
        scopes: names,
        expires_at,
    }) = body;
    let operator = call
        .operator()
        .ok_or_else(|| ApiError::forbidden("only operators can request access here"))?;
    let registry = call.registry()?;
    let capsule = call.capsule().await?;
    let is_known = capsule.visibility != CapsuleVisibility::Private
        || call.is_admin()
        || registry.capsules().owner(&capsule.key()).as_deref() == Some(operator.id.as_str());
    if !is_known {
        return Err(ApiError::not_found("capsule", call.path_parameter("capsule")));
    }
    let client_name = client_name.unwrap_or_else(|| format!("an agent of {}", operator.name));
    let new = NewRequest {
        source: RequestSource::Library,
        holder: match client_id {
            Some(client_id) => {
                GrantRecipient::Client { client_id, client_name, operator: operator.id.clone() }
            }
            None => GrantRecipient::New { name: client_name, client_id: None },
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
    let filed = registry.grants().file_request(&call.registry_caller(), new).await?;
    Ok(RestResponse::created(GrantRequestResponse::of(&call, &filed)?))
}
