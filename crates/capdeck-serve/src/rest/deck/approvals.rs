//! Approvals of calls, and of changed tool definitions that are pinned.

use std::sync::Arc;

use capdeck_auth::inbound::EventSubject;
use capdeck_host::{
    Approval, ApprovalDuration, ApprovalError, ApprovalState, ApprovalStore, Capability, Host,
    PinItem, PinMode, PinReview, approve_tools, known_capability, offered_tools, pin_changes,
    pin_items,
};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rest::{
    ApiError, ApiResult, JsonObject, ListPage, NoContent, OptionalJsonBody, PageQuery,
    RequiredAccess::Admin, RestCall, RestOperation, delete, get, post, run_blocking,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Admin, "/v1/deck/approvals", "listApprovals", "List pending and standing approvals")
            .handled_with_query(list_approvals),
        post(Admin, "/v1/deck/approvals/{id}/approve", "approveCall", "Approve a pending call")
            .about("The client can repeat the same call once within ten minutes; with `always`, every client can call the tool until its definition changes.")
            .handled_with_body(approve_call),
        delete(Admin, "/v1/deck/approvals/{id}", "revokeApproval", "Withdraw an approval, or deny a pending call")
            .handled_by(revoke_approval),
        get(Admin, "/v1/deck/pins", "listPins", "List tools with the state of their pins")
            .problems(&[404])
            .handled_with_query(list_pins),
        get(
            Admin,
            "/v1/deck/pins/{capability}/diff",
            "getPinDiff",
            "Get the changes of a capability's tools since they were pinned",
        )
        .about("The members of `capdeck pins diff --json`. Hidden characters are escaped.")
        .handled_with_query(diff_pins),
        post(
            Admin,
            "/v1/deck/pins/{capability}/approve",
            "approvePins",
            "Approve the current definitions of a capability",
        )
        .about("Held tools become available again.")
        .handled_with_body(approve_pins),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ApprovalListQuery {
    /// Only approvals in this state.
    state: Option<ApprovalState>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallApprovalOptions {
    /// Approve the tool until its definition changes, instead of this call once.
    #[serde(default)]
    always: bool,
}

async fn list_approvals(call: RestCall, query: ApprovalListQuery) -> ApiResult<ListPage<Approval>> {
    let mut all = with_store(&call, ApprovalStore::list).await?;
    all.retain(|approval| query.state.is_none_or(|state| approval.state == state));
    query.paging.page_of(&call, all, |approval| approval.id.clone())
}

async fn approve_call(
    call: RestCall,
    body: OptionalJsonBody<CallApprovalOptions>,
) -> ApiResult<Approval> {
    let hold = if body.0.always { ApprovalDuration::Always } else { ApprovalDuration::Once };
    let id = call.path_parameter("id").to_owned();
    let approved = with_store(&call, move |store, now| store.approve(&id, hold, now)).await?;
    record_decision(&call, "call.approve", &approved.id).await;
    Ok(approved)
}

async fn revoke_approval(call: RestCall) -> ApiResult<NoContent> {
    let id = call.path_parameter("id").to_owned();
    let revoked = with_store(&call, move |store, now| store.revoke(&id, now)).await?;
    record_decision(&call, "call.revoke", &revoked.id).await;
    Ok(NoContent)
}

/// Records a decision about the deck in the registry's audit. The registry records its own decisions.
async fn record_decision(call: &RestCall, action: &'static str, about: &str) {
    if let Some(registry) = call.rest.http_state.registry() {
        let subject = EventSubject { id: Some(about.to_owned()), ..EventSubject::default() };
        registry.record(&call.registry_caller(), action, subject, None).await;
    }
}

/// On a blocking thread: the disk or another process may be slow.
async fn with_store<T: Send + 'static>(
    call: &RestCall,
    work: impl FnOnce(&ApprovalStore, Timestamp) -> Result<T, ApprovalError> + Send + 'static,
) -> ApiResult<T> {
    let store = ApprovalStore::new(&call.rest.host.settings().state_dir);
    run_blocking("cannot read the approvals", move || {
        work(&store, Timestamp::now()).map_err(|error| match error {
            ApprovalError::Unknown { id } => ApiError::not_found("approval", &id),
            ApprovalError::NoDefinition { .. } => {
                ApiError::new(StatusCode::CONFLICT, "conflict", error.to_string())
            }
            ApprovalError::Storage { .. } => ApiError::storage("cannot use the approvals", &error),
        })
    })
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PinListQuery {
    /// Only this capability.
    capability: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PinDiffQuery {
    /// Only this tool.
    tool: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinApprovalOptions {
    /// Only this tool.
    tool: Option<String>,
}

/// The result of an approval.
#[derive(Debug, Serialize, JsonSchema)]
struct PinApprovalResult {
    id: String,
    tool: Option<String>,
    /// The number of approved tools.
    approved: usize,
}

async fn list_pins(call: RestCall, query: PinListQuery) -> ApiResult<ListPage<PinItem>> {
    let host = &call.rest.host;
    let items = match &query.capability {
        Some(id) => items_of(host, vec![known_capability(host, id)?]).await?,
        None => items_of(host, watched(host)).await?,
    };
    let key = |item: &PinItem| format!("{}/{}", item.capability, item.tool);
    query.paging.page_of(&call, items, key)
}

/// The number of changed definitions and definitions with hidden text.
pub(in crate::rest) async fn waiting_pins(host: &Host) -> ApiResult<usize> {
    let wants_a_look = |item: &PinItem| {
        let is_settled = matches!(item.status, "pinned" | "unpinned");
        !is_settled || item.held.is_some() || !item.hidden_text.is_empty()
    };
    Ok(items_of(host, watched(host)).await?.iter().filter(|item| wants_a_look(item)).count())
}

fn watched(host: &Host) -> Vec<Arc<Capability>> {
    let catalog = host.catalog();
    catalog.capabilities().filter(|one| one.pins != PinMode::Off).cloned().collect()
}

async fn items_of(host: &Host, capabilities: Vec<Arc<Capability>>) -> ApiResult<Vec<PinItem>> {
    let host = host.clone();
    let items = run_blocking("cannot read the pins", move || {
        let items = capabilities.iter().map(|capability| {
            let offered = offered_tools(&host, capability);
            Ok(pin_items(capability, offered.as_ref(), &review(&host, capability)?))
        });
        items.collect::<ApiResult<Vec<_>>>()
    })
    .await?;
    Ok(items.into_iter().flatten().collect())
}

async fn diff_pins(call: RestCall, query: PinDiffQuery) -> ApiResult<ListPage<JsonObject>> {
    let host = call.rest.host.clone();
    let id = call.path_parameter("capability").to_owned();
    let capability = known_capability(&host, &id)?;
    let changes = run_blocking("cannot read the pins", move || {
        let review = review(&host, &capability)?;
        Ok(pin_changes(&id, &review, query.tool.as_deref()))
    })
    .await?;
    Ok(ListPage::whole(changes.into_iter().map(JsonObject).collect()))
}

async fn approve_pins(
    call: RestCall,
    body: OptionalJsonBody<PinApprovalOptions>,
) -> ApiResult<PinApprovalResult> {
    let host = call.rest.host.clone();
    let (id, tool) = (call.path_parameter("capability").to_owned(), body.0.tool);
    let capability = known_capability(&host, &id)?;
    let unknown = || {
        let detail = format!("the tools of `{id}` are unknown");
        ApiError::new(StatusCode::CONFLICT, "not_known", detail).hint("list its tools first")
    };
    let offered = offered_tools(&host, &capability).ok_or_else(unknown)?;
    if let Some(name) = &tool {
        let is_offered = offered.tools.iter().any(|one| one.name() == name);
        let changed = PinReview::of(&host, &capability).map(|review| review.changes);
        let is_gone = changed.unwrap_or_default().iter().any(|change| change.tool() == name);
        if !is_offered && !is_gone {
            return Err(ApiError::not_found("tool", name));
        }
    }
    let only = tool.clone();
    let count = run_blocking("cannot read the pins", move || {
        let count = approve_tools(&host, &capability, only.as_deref());
        let count = count.map_err(|error| ApiError::storage("cannot save the pins", &error))?;
        // The next tool list includes released tools.
        host.rebuild();
        Ok(count)
    })
    .await?;
    let approved = count.ok_or_else(unknown)?;
    let about = tool.as_ref().map_or_else(|| id.clone(), |tool| format!("{id}/{tool}"));
    record_decision(&call, "pin.approve", &about).await;
    Ok(PinApprovalResult { approved, id, tool })
}

fn review(host: &Host, capability: &Capability) -> ApiResult<PinReview> {
    PinReview::of(host, capability)
        .map_err(|error| ApiError::internal("cannot read the pins", &error))
}
