//! The library: capsules of other owners, and requests for access to them.

use std::collections::HashMap;

use capdeck_auth::inbound::{
    GrantRecipient, GrantTarget, NewRequest, PageRequest, RequestQuery, RequestSource,
    RequestStatus, Scopes,
};
use capdeck_host::{CapsuleVisibility, Role};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GrantRequestResponse, scopes};
use crate::rest::{
    ApiError, ApiResult, JsonBody, ListPage, PageQuery, RequiredAccess::Operator, RestCall,
    RestOperation, capsules::CapsuleItem, get, post,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Operator, "/v1/library", "listLibrary", "List the capsules of the library")
            .about("Capsules with visibility `team` or `discoverable`. Request access for an agent at `/v1/capsules/{capsule}/access-requests`.")
            .handled_with_query(list),
        post(Operator, "/v1/capsules/{capsule}/access-requests", "requestAccess", "Request access to a capsule for an agent")
            .about("The capsule must be your own or in the library; other private capsules return 404. The owner and approvers decide. If a policy rule decides, the response already has the decision.")
            .success(&[201])
            .problems(&[507])
            .handled_with_body(request_access),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct LibraryListQuery {
    /// Only capsules whose name or description contains this text.
    q: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// A capsule in the library.
#[derive(Debug, Serialize, JsonSchema)]
struct LibraryCapsule {
    id: String,
    name: String,
    description: String,
    visibility: CapsuleVisibility,
    /// The operator who owns it; null for the owner of the host.
    owner: Option<String>,
    created_at: Timestamp,
    /// Your role in it.
    role: Role,
    /// The id of your pending request.
    pending: Option<String>,
}

async fn list(call: RestCall, query: LibraryListQuery) -> ApiResult<ListPage<LibraryCapsule>> {
    let text = query.q.unwrap_or_default().to_lowercase();
    let mut capsules = call.capsules(false).await?;
    capsules.retain(|capsule: &CapsuleItem| {
        let found = |field: &str| field.to_lowercase().contains(&text);
        capsule.visibility != CapsuleVisibility::Private
            && (found(&capsule.name) || found(&capsule.description))
    });
    let mut waiting = waiting(&call);
    let page = query.paging.page_of(&call, capsules, |capsule| capsule.id.clone())?;
    Ok(page.map(|capsule| LibraryCapsule {
        pending: waiting.remove(&capsule.key()),
        id: capsule.id,
        name: capsule.name,
        description: capsule.description,
        visibility: capsule.visibility,
        owner: capsule.owner,
        created_at: capsule.created_at,
        role: capsule.role,
    }))
}

fn waiting(call: &RestCall) -> HashMap<String, String> {
    let Some(registry) = call.rest.http_state.registry() else { return HashMap::new() };
    let wanted = RequestQuery {
        status: Some(RequestStatus::Pending),
        requested_by: Some(call.id()),
        ..RequestQuery::default()
    };
    let page = PageRequest { cursor: None, limit: Some(200) };
    let Ok(found) = registry.grants().requests(&wanted, &page) else { return HashMap::new() };
    let about = |id: String, capsule: Option<&str>| Some((capsule?.to_owned(), id));
    found
        .items
        .into_iter()
        .filter_map(|request| about(request.id.clone(), request.target.capsule_id()))
        .collect()
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

async fn request_access(
    call: RestCall,
    body: JsonBody<AccessRequestBody>,
) -> ApiResult<GrantRequestResponse> {
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
    GrantRequestResponse::from_request(&call, &filed)
}
