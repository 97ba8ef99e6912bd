//! Capsules as a whole: listed, made, changed, taken away.

use capdeck_host::{
    CapsuleUpdate, CapsuleVisibility, CreateCapsuleRequest, DeleteCapsuleRequest, OverviewRequest,
    OverviewResponse, PurgeCapsuleRequest, sha256_hex,
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    create::run_to_completion,
    shapes::{CapsuleDetails, CapsuleItem},
};
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
        get("/v1/capsules", "listCapsules", "List the capsules that you reach")
            .who(RequiredAccess::Anyone)
            .handled_by(list),
        post("/v1/capsules", "createCapsule", "Make a capsule")
            .about("It belongs to the operator who makes it. Its id is made from its name and never changes.")
            .who(RequiredAccess::Operator)
            .success(&[201])
            .handled_by(create),
        get("/v1/capsules/{capsule}", "getCapsule", "Look at one capsule")
            .who(RequiredAccess::Anyone)
            .success(&[200, 304])
            .handled_by(show),
        patch("/v1/capsules/{capsule}", "updateCapsule", "Rename a capsule, describe it, or change who may find it")
            .about("`private`: only those who were let in know of it. `team`: every operator finds it in the library and reads it. `discoverable`: agents that are signed in find its name and description, too.")
            .who(RequiredAccess::Operator)
            .problems(&[409])
            .handled_by(update),
        delete("/v1/capsules/{capsule}", "deleteCapsule", "Take a capsule away")
            .about("Its files are moved aside in the data folder and can be put back by hand. With `purge` they are removed for good, with every version, the memory, the signals and the capsule's own log. For a capsule that was taken away before, an admin gives its id and `purge`: what was kept of it is removed.")
            .who(RequiredAccess::Operator)
            .handled_by(remove),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListCapsules")]
struct CapsuleListQuery {
    /// Only capsules that may be found like this.
    visibility: Option<CapsuleVisibility>,
    /// Only capsules whose name or description has this text.
    q: Option<String>,
    /// Count the entries, which opens every capsule.
    counts: Option<bool>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewCapsule {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    #[schemars(length(max = 1000))]
    description: Option<String>,
    visibility: Option<CapsuleVisibility>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CapsuleChange")]
struct CapsuleChangeBody {
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    #[schemars(length(max = 1000))]
    description: Option<String>,
    visibility: Option<CapsuleVisibility>,
    /// The operator it belongs to from now on. For admins.
    #[schemars(length(min = 1, max = 100))]
    owner: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "RemoveCapsule")]
struct CapsuleDeleteQuery {
    /// Remove it for good. There is no other value than yes: leave it out to keep the files aside.
    purge: Option<PurgeFlag>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(rename = "Purge")]
enum PurgeFlag {
    #[serde(rename = "1")]
    One,
    #[serde(rename = "true")]
    True,
}

async fn list(
    call: RestCall,
    query: CapsuleListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<CapsuleItem>>, ApiError> {
    let text = query.q.unwrap_or_default().to_lowercase();
    let fits = |capsule: &CapsuleItem| {
        let found = |field: &str| field.to_lowercase().contains(&text);
        query.visibility.is_none_or(|wanted| capsule.visibility == wanted)
            && (found(&capsule.name) || found(&capsule.description))
    };
    let mut capsules = call.capsules(query.counts.unwrap_or(false)).await?;
    capsules.retain(fits);
    Ok(RestResponse::new(query.paging.page_of(&call, capsules, |capsule| capsule.id.clone())?))
}

async fn create(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<NewCapsule>,
) -> Result<RestResponse<CapsuleItem>, ApiError> {
    let JsonBody(NewCapsule { name, description, visibility }) = body;
    let create = CreateCapsuleRequest { name, description, visibility };
    run_to_completion(async move {
        let (capsule, ()) = call.make_capsule(create, async |_, _| Ok(())).await?;
        Ok(RestResponse::created(capsule))
    })
    .await
}

async fn show(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<CapsuleDetails>, ApiError> {
    let capsule = call.capsule().await?;
    let OverviewResponse { schemes, recent, .. } = call.ask_for(OverviewRequest).await?;
    let whole = CapsuleDetails { capsule, schemes, recent };
    let tag = format!("\"{}\"", sha256_hex(serde_json::to_string(&whole).unwrap_or_default()));
    let reply = if call.has_current(&tag) {
        RestResponse::new(whole).status(StatusCode::NOT_MODIFIED)
    } else {
        RestResponse::new(whole)
    };
    Ok(reply.tag(&tag))
}

async fn update(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<CapsuleChangeBody>,
) -> Result<RestResponse<CapsuleItem>, ApiError> {
    let JsonBody(CapsuleChangeBody { name, description, visibility, owner }) = body;
    let capsule = call.owned_capsule("change").await?;
    if owner.is_some() {
        RequiredAccess::Admin.admit_call(&call)?;
    }
    if let Some(owner) = &owner
        && call.registry()?.operators().get(owner).is_none()
    {
        return Err(ApiError::not_found("operator", owner));
    }
    let names = call.names().await?;
    run_to_completion(async move {
        let key = capsule.key();
        let update = CapsuleUpdate { name, description, visibility };
        let changed = call.ask_knowing(names, Some(&key), update).await?;
        if let Some(owner) = &owner
            && let Err(error) = change_owner(&call, &key, owner).await
        {
            let back = CapsuleUpdate {
                name: Some(capsule.name),
                description: Some(capsule.description),
                visibility: Some(capsule.visibility),
            };
            call.ask_as_host(Some(&key), back).await?;
            return Err(error);
        }
        Ok(RestResponse::new(call.owned_by_caller(changed)))
    })
    .await
}

/// Gives a capsule to another operator. What its owner before shared ends with their right to share it.
async fn change_owner(call: &RestCall, key: &str, owner: &str) -> Result<(), ApiError> {
    let caller = call.registry_caller();
    call.registry()?.capsules().set_owner(&caller, key, Some(owner)).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(())
}

async fn remove(
    call: RestCall,
    query: CapsuleDeleteQuery,
    _: NoBody,
) -> Result<RestResponse<NoContent>, ApiError> {
    let is_purge = matches!(query.purge, Some(PurgeFlag::One | PurgeFlag::True));
    let action = if is_purge { "purge" } else { "delete" };
    let (called, key) = match call.owned_capsule(action).await {
        Ok(capsule) => (capsule.key(), Some(capsule.key())),
        // What was deleted before has no owner.
        Err(error) if error.status == StatusCode::NOT_FOUND => {
            let id = call.path_parameter("capsule");
            if !is_purge || !call.is_admin() {
                return Err(error);
            }
            (id.to_owned(), None)
        }
        Err(error) => return Err(error),
    };
    run_to_completion(async move {
        if is_purge {
            call.ask_as_host(Some(&called), PurgeCapsuleRequest).await?;
        } else {
            call.ask_as_host(Some(&called), DeleteCapsuleRequest).await?;
        }
        if let (Some(registry), Some(key)) = (call.rest.http_state.registry(), key) {
            registry.capsules().forget(&call.registry_caller(), &key).await?;
        }
        Ok(RestResponse::new(NoContent))
    })
    .await
}
