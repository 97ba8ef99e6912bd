//! Recorded code mode runs.

use capdeck_host::{RunState, RunStore, RunStoreError};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::Call,
    input::{NoBody, NoQuery},
    operation::{Operation, get},
    page::{Page, Paging},
    problem::ApiError,
    reply::Reply,
    shapes::Open,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/deck/runs", "listRuns", "List code mode runs, the newest first")
            .about("The members of `capdeck runs list --json`.")
            .done_by(list),
        get("/v1/deck/runs/{id}", "getRun", "Get one run with its code, calls and outcome")
            .about("Tool results are omitted, and text that looks like a secret is redacted.")
            .problems(&[409])
            .done_by(show),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListRuns {
    /// Only runs in this state.
    state: Option<RunState>,
    #[serde(flatten)]
    paging: Paging,
}

async fn list(call: Call, query: ListRuns, _: NoBody) -> Result<Reply<Page<Open>>, ApiError> {
    let listing = with_store(&call, RunStore::list).await?;
    let wanted =
        |run: &&capdeck_host::RunRecord| query.state.is_none_or(|state| run.state == state);
    let runs: Vec<(String, Open)> = listing
        .runs
        .iter()
        .filter(wanted)
        .map(|run| (run.id.clone(), Open(run.summary())))
        .collect();
    let page = query.paging.cut(&call, runs, |(id, _)| id.clone())?;
    Ok(Reply::new(page.map(|(_, run)| run)))
}

async fn show(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<Open>, ApiError> {
    let id = call.place("id").to_owned();
    let run = with_store(&call, move |store| store.find(&id)).await?;
    Ok(Reply::new(Open(run.shown())))
}

async fn with_store<T: Send + 'static>(
    call: &Call,
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
