//! Approvals of calls.

use capdeck_host::{Approval, ApprovalDuration, ApprovalError, ApprovalState, ApprovalStore};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery, OptionalJsonBody},
    operation::{RestOperation, delete, get, post},
    page::{ListPage, PageQuery},
    problem::ApiError,
    response::{NoContent, RestResponse},
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/approvals", "listApprovals", "List pending and standing approvals")
            .handled_by(list),
        post("/v1/deck/approvals/{id}/approve", "approveCall", "Approve a pending call")
            .about("The client can repeat the same call once within ten minutes; with `always`, every client can call the tool until its definition changes.")
            .handled_by(approve),
        delete("/v1/deck/approvals/{id}", "revokeApproval", "Withdraw an approval, or deny a pending call")
            .handled_by(revoke),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListApprovals")]
struct ApprovalListQuery {
    /// Only approvals in this state.
    state: Option<ApprovalState>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CallApprovalOptions")]
struct CallApprovalOptions {
    /// Approve the tool until its definition changes, instead of this call once.
    #[serde(default)]
    always: bool,
}

async fn list(
    call: RestCall,
    query: ApprovalListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<Approval>>, ApiError> {
    let mut all = with_store(&call, ApprovalStore::list).await?;
    all.retain(|approval| query.state.is_none_or(|state| approval.state == state));
    Ok(RestResponse::new(query.paging.page_of(&call, all, |approval| approval.id.clone())?))
}

async fn approve(
    call: RestCall,
    _: NoQuery,
    body: OptionalJsonBody<CallApprovalOptions>,
) -> Result<RestResponse<Approval>, ApiError> {
    let hold = if body.0.always { ApprovalDuration::Always } else { ApprovalDuration::Once };
    let id = call.path_parameter("id").to_owned();
    let approved = with_store(&call, move |store, now| store.approve(&id, hold, now)).await?;
    call.record_decision("call.approve", &approved.id).await;
    Ok(RestResponse::new(approved))
}

async fn revoke(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<NoContent>, ApiError> {
    let id = call.path_parameter("id").to_owned();
    let revoked = with_store(&call, move |store, now| store.revoke(&id, now)).await?;
    call.record_decision("call.revoke", &revoked.id).await;
    Ok(RestResponse::new(NoContent))
}

/// On a blocking thread: the disk or another process may be slow.
async fn with_store<T: Send + 'static>(
    call: &RestCall,
    work: impl FnOnce(&ApprovalStore, Timestamp) -> Result<T, ApprovalError> + Send + 'static,
) -> Result<T, ApiError> {
    let store = call.rest.host.approvals();
    let done = tokio::task::spawn_blocking(move || work(&store, Timestamp::now())).await;
    let done = done.map_err(|error| ApiError::internal("cannot read the approvals", &error))?;
    done.map_err(|error| match error {
        ApprovalError::Unknown { id } => ApiError::not_found("approval", &id),
        ApprovalError::NoDefinition { .. } => {
            ApiError::new(StatusCode::CONFLICT, "conflict", error.to_string())
        }
        ApprovalError::Storage { .. } => ApiError::storage("cannot use the approvals", &error),
    })
}
