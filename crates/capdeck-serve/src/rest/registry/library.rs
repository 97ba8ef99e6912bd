//! The library: capsules of other owners.

use std::collections::HashMap;

use capdeck_auth::inbound::{PageRequest, RequestQuery, RequestStatus};
use capdeck_host::{CapsuleVisibility, Role};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rest::{
    call::RestCall,
    capsules::CapsuleItem,
    input::NoBody,
    operation::{RestOperation, get},
    page::{ListPage, PageQuery},
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/library", "listLibrary", "List the capsules of the library")
            .about("Capsules with visibility `team` or `discoverable`. Request access for an agent at `/v1/capsules/{capsule}/access-requests`.")
            .who(RequiredAccess::Operator)
            .handled_by(list),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListLibrary")]
struct LibraryListQuery {
    /// Only capsules whose name or description contains this text.
    q: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// A capsule in the library.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LibraryCapsule")]
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

async fn list(
    call: RestCall,
    query: LibraryListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<LibraryCapsule>>, ApiError> {
    let text = query.q.unwrap_or_default().to_lowercase();
    let mut capsules = call.capsules(false).await?;
    capsules.retain(|capsule: &CapsuleItem| {
        let found = |field: &str| field.to_lowercase().contains(&text);
        capsule.visibility != CapsuleVisibility::Private
            && (found(&capsule.name) || found(&capsule.description))
    });
    let mut waiting = waiting(&call);
    let page = query.paging.page_of(&call, capsules, |capsule| capsule.id.clone())?;
    Ok(RestResponse::new(page.map(|capsule| LibraryCapsule {
        pending: waiting.remove(&capsule.key()),
        id: capsule.id,
        name: capsule.name,
        description: capsule.description,
        visibility: capsule.visibility,
        owner: capsule.owner,
        created_at: capsule.created_at,
        role: capsule.role,
    })))
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
