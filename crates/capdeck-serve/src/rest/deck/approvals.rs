//! Approvals of calls.

use capdeck_host::{Approval, ApprovalError, ApprovalState, ApprovalStore, Hold};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::Call,
    input::{MaybeJson, NoBody, NoQuery},
    operation::{Operation, delete, get, post},
    page::{Page, Paging},
    problem::ApiError,
    reply::{NoContent, Reply},
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/deck/approvals", "listApprovals", "List pending and standing approvals")
            .done_by(list),
        post("/v1/deck/approvals/{id}/approve", "approveCall", "Approve a pending call")
            .about("The client can repeat the same call once within ten minutes; with `always`, every client can call the tool until its definition changes.")
            .done_by(approve),
        delete("/v1/deck/approvals/{id}", "revokeApproval", "Withdraw an approval, or deny a pending call")
            .done_by(revoke),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListApprovals {
    /// Only approvals in this state.
    state: Option<ApprovalState>,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CallApprovalOptions")]
struct Approve {
    /// Approve the tool until its definition changes, instead of this call once.
    #[serde(default)]
    always: bool,
}

async fn list(
    call: Call,
    query: ListApprovals,
    _: NoBody,
) -> Result<Reply<Page<Approval>>, ApiError> {
    let mut all = with_store(&call, ApprovalStore::list).await?;
    all.retain(|approval| query.state.is_none_or(|state| approval.state == state));
    Ok(Reply::new(query.paging.cut(&call, all, |approval| approval.id.clone())?))
}

async fn approve(
    call: Call,
    _: NoQuery,
    body: MaybeJson<Approve>,
) -> Result<Reply<Approval>, ApiError> {
    let hold = if body.0.always { Hold::Always } else { Hold::Once };
    let id = call.place("id").to_owned();
    let approved = with_store(&call, move |store, now| store.approve(&id, hold, now)).await?;
    call.note("call.approve", &approved.id).await;
    Ok(Reply::new(approved))
}

async fn revoke(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<NoContent>, ApiError> {
    let id = call.place("id").to_owned();
    let revoked = with_store(&call, move |store, now| store.revoke(&id, now)).await?;
    call.note("call.revoke", &revoked.id).await;
    Ok(Reply::new(NoContent))
}

/// On a blocking thread: the disk or another process may be slow.
async fn with_store<T: Send + 'static>(
    call: &Call,
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
