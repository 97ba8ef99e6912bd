//! Pinned tool definitions and their changes.

use std::sync::Arc;

use capdeck_host::{
    Capability, Host, PinItem, PinMode, PinReview, known_capability, pin_changes, pin_items,
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery, OptionalJsonBody},
    operation::{RestOperation, get, post},
    page::{ListPage, PageQuery},
    problem::ApiError,
    response::RestResponse,
    shapes::JsonObject,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/pins", "listPins", "List tools with the state of their pins")
            .problems(&[404])
            .handled_by(list),
        get(
            "/v1/deck/pins/{capability}/diff",
            "getPinDiff",
            "Get the changes of a capability's tools since they were pinned",
        )
        .about("The members of `capdeck pins diff --json`. Hidden characters are escaped.")
        .handled_by(diff),
        post(
            "/v1/deck/pins/{capability}/approve",
            "approvePins",
            "Approve the current definitions of a capability",
        )
        .about("Held tools become available again.")
        .handled_by(approve),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListPins")]
struct PinListQuery {
    /// Only this capability.
    capability: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Diff")]
struct PinDiffQuery {
    /// Only this tool.
    tool: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PinApprovalOptions")]
struct PinApprovalOptions {
    /// Only this tool.
    tool: Option<String>,
}

/// The result of an approval.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PinApprovalResult")]
struct PinApprovalResult {
    id: String,
    tool: Option<String>,
    /// The number of approved tools.
    approved: usize,
}

async fn list(
    call: RestCall,
    query: PinListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<PinItem>>, ApiError> {
    let host = &call.rest.host;
    let items = match &query.capability {
        Some(id) => items_of(host, vec![known_capability(host, id)?]).await?,
        None => items_of(host, watched(host)).await?,
    };
    let key = |item: &PinItem| format!("{}/{}", item.capability, item.tool);
    Ok(RestResponse::new(query.paging.page_of(&call, items, key)?))
}

/// The number of changed definitions and definitions with hidden text.
pub(in crate::rest) async fn waiting_pins(host: &Host) -> Result<usize, ApiError> {
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

async fn items_of(
    host: &Host,
    capabilities: Vec<Arc<Capability>>,
) -> Result<Vec<PinItem>, ApiError> {
    let host = host.clone();
    let items = blocking(move || {
        let items = capabilities.iter().map(|capability| {
            let offered = host.offered_to_anyone(capability);
            Ok(pin_items(capability, offered.as_ref(), &review(&host, capability)?))
        });
        items.collect::<Result<Vec<_>, ApiError>>()
    })
    .await?;
    Ok(items.into_iter().flatten().collect())
}

async fn diff(
    call: RestCall,
    query: PinDiffQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<JsonObject>>, ApiError> {
    let host = call.rest.host.clone();
    let id = call.path_parameter("capability").to_owned();
    let capability = known_capability(&host, &id)?;
    let changes = blocking(move || {
        let review = review(&host, &capability)?;
        Ok(pin_changes(&id, &review, query.tool.as_deref()))
    })
    .await?;
    Ok(RestResponse::new(ListPage::whole(changes.into_iter().map(JsonObject).collect())))
}

async fn approve(
    call: RestCall,
    _: NoQuery,
    body: OptionalJsonBody<PinApprovalOptions>,
) -> Result<RestResponse<PinApprovalResult>, ApiError> {
    let host = call.rest.host.clone();
    let (id, tool) = (call.path_parameter("capability").to_owned(), body.0.tool);
    let capability = known_capability(&host, &id)?;
    let unknown = || {
        let detail = format!("the tools of `{id}` are unknown");
        ApiError::new(StatusCode::CONFLICT, "not_known", detail).hint("list its tools first")
    };
    let offered = host.offered_to_anyone(&capability).ok_or_else(unknown)?;
    if let Some(name) = &tool {
        let is_offered = offered.tools.iter().any(|one| one.name() == name);
        let changed = host.review_pins(&capability).map(|review| review.changes);
        let is_gone = changed.unwrap_or_default().iter().any(|change| change.tool() == name);
        if !is_offered && !is_gone {
            return Err(ApiError::not_found("tool", name));
        }
    }
    let only = tool.clone();
    let count = blocking(move || {
        let count = host.approve_pins(&capability, only.as_deref());
        let count = count.map_err(|error| ApiError::storage("cannot save the pins", &error))?;
        // The next tool list includes released tools.
        host.rebuild();
        Ok(count)
    })
    .await?;
    let approved = count.ok_or_else(unknown)?;
    let about = tool.as_ref().map_or_else(|| id.clone(), |tool| format!("{id}/{tool}"));
    call.record_decision("pin.approve", &about).await;
    Ok(RestResponse::new(PinApprovalResult { approved, id, tool }))
}

fn review(host: &Host, capability: &Capability) -> Result<PinReview, ApiError> {
    host.review_pins(capability).map_err(|error| ApiError::internal("cannot read the pins", &error))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ApiError::internal("cannot read the pins", &error)))
}
