//! Recorded code mode runs.

use capdeck_host::{RunState, RunStore, RunStoreError};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery},
    operation::{RestOperation, get},
    page::{ListPage, PageQuery},
    problem::ApiError,
    response::RestResponse,
    shapes::JsonObject,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/runs", "listRuns", "List code mode runs, the newest first")
            .about("The members of `capdeck runs list --json`.")
            .handled_by(list),
        get("/v1/deck/runs/{id}", "getRun", "Get one run with its code, calls and outcome")
            .about("Tool results are omitted, and text that looks like a secret is redacted.")
            .problems(&[409])
            .handled_by(show),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListRuns")]
struct RunListQuery {
    /// Only runs in this state.
    state: Option<RunState>,
    #[serde(flatten)]
    paging: PageQuery,
}

async fn list(
    call: RestCall,
    query: RunListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<JsonObject>>, ApiError> {
    let listing = with_store(&call, RunStore::list).await?;
    let wanted =
        |run: &&capdeck_host::RunRecord| query.state.is_none_or(|state| run.state == state);
    let runs: Vec<(String, JsonObject)> = listing
        .runs
        .iter()
        .filter(wanted)
        .map(|run| (run.id.clone(), JsonObject(run.summary())))
        .collect();
    let page = query.paging.page_of(&call, runs, |(id, _)| id.clone())?;
    Ok(RestResponse::new(page.map(|(_, run)| run)))
}

async fn show(call: RestCall, _: NoQuery, _: NoBody) -> Result<RestResponse<JsonObject>, ApiError> {
    let id = call.path_parameter("id").to_owned();
    let run = with_store(&call, move |store| store.find(&id)).await?;
    Ok(RestResponse::new(JsonObject(run.shown())))
}

async fn with_store<T: Send + 'static>(
    call: &RestCall,
    work: impl FnOnce(&RunStore) -> Result<T, RunStoreError> + Send + 'static,
) -> Result<T, ApiError> {
    let host = call.rest.host.clone();
    let done = tokio::task::spawn_blocking(move || work(&host.settled_runs())).await;
    let done = done.map_err(|error| ApiError::internal("cannot read the runs", &error))?;
    done.map_err(|error| match error {
        RunStoreError::Unknown { id } => ApiError::not_found("run", &id),
        RunStoreError::Ambiguous { .. } | RunStoreError::Busy { .. } => {
            ApiError::new(StatusCode::CONFLICT, "conflict", error.to_string())
        }
        RunStoreError::Unreadable { .. } | RunStoreError::Storage { .. } => {
            ApiError::storage("cannot use the runs", &error)
        }
    })
}
