//! Recorded code mode runs, and artifacts: stored large results.

use axum::body::Body;
use capdeck_host::{RunState, RunStore, RunStoreError, artifact_item, artifacts};
use futures_util::stream;
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    ApiError, ApiResult, BinaryContent, ByteContent, JsonObject, ListPage, PageQuery,
    RequiredAccess::Admin, RestCall, RestOperation, RestResponse, get, run_blocking,
};

const CHUNK_BYTES: u64 = 256 * 1024;

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Admin, "/v1/deck/runs", "listRuns", "List code mode runs, the newest first")
            .about("The members of `capdeck runs list --json`.")
            .handled_with_query(list_runs),
        get(Admin, "/v1/deck/runs/{id}", "getRun", "Get one run with its code, calls and outcome")
            .about("Tool results are omitted, and text that looks like a secret is redacted.")
            .problems(&[409])
            .handled_by(get_run),
        get(
            Admin,
            "/v1/deck/artifacts",
            "listArtifacts",
            "List stored large results, the newest first",
        )
        .about("The members of `capdeck artifacts list --json`.")
        .handled_with_query(list_artifacts),
        get(
            Admin,
            "/v1/deck/artifacts/{capability}/{call}/{file}",
            "getArtifact",
            "Download one stored result",
        )
        .about("The path segments are those of its URI, `capdeck://artifacts/…`.")
        .handled_by(download_artifact),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RunListQuery {
    /// Only runs in this state.
    state: Option<RunState>,
    #[serde(flatten)]
    paging: PageQuery,
}

async fn list_runs(call: RestCall, query: RunListQuery) -> ApiResult<ListPage<JsonObject>> {
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
    Ok(page.map(|(_, run)| run))
}

async fn get_run(call: RestCall) -> ApiResult<JsonObject> {
    let id = call.path_parameter("id").to_owned();
    let run = with_store(&call, move |store| store.find(&id)).await?;
    Ok(JsonObject(run.to_json()))
}

async fn with_store<T: Send + 'static>(
    call: &RestCall,
    work: impl FnOnce(&RunStore) -> Result<T, RunStoreError> + Send + 'static,
) -> ApiResult<T> {
    let host = call.rest.host.clone();
    run_blocking("cannot read the runs", move || {
        work(&RunStore::settled(&host)).map_err(|error| match error {
            RunStoreError::Unknown { id } => ApiError::not_found("run", &id),
            RunStoreError::Ambiguous { .. } | RunStoreError::Busy { .. } => {
                ApiError::new(StatusCode::CONFLICT, "conflict", error.to_string())
            }
            RunStoreError::Unreadable { .. } | RunStoreError::Storage { .. } => {
                ApiError::storage("cannot use the runs", &error)
            }
        })
    })
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ArtifactListQuery {
    /// Only artifacts of this capability.
    capability: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

async fn list_artifacts(
    call: RestCall,
    query: ArtifactListQuery,
) -> ApiResult<ListPage<JsonObject>> {
    let session = call.session();
    let mut found = artifacts::list(&session.snapshot());
    found.retain(|one| query.capability.as_ref().is_none_or(|id| one.capability.as_str() == id));
    let page = query.paging.page_of(&call, found, |one| one.artifact.uri.clone())?;
    Ok(page.map(|one| JsonObject(artifact_item(&one))))
}

async fn download_artifact(call: RestCall) -> ApiResult<RestResponse<BinaryContent>> {
    let part = |name: &str| call.path_parameter(name).to_owned();
    let uri =
        format!("capdeck://artifacts/{}/{}/{}", part("capability"), part("call"), part("file"));
    let reader = artifacts::open(&call.session().snapshot(), &uri).await?;
    let artifact = reader.artifact().clone();
    let chunks = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        let reading = tokio::task::spawn_blocking(move || {
            let read = reader.next(CHUNK_BYTES);
            (reader, read)
        });
        match reading.await {
            Ok((_, Ok(bytes))) if bytes.is_empty() => None,
            Ok((reader, Ok(bytes))) => Some((Ok(bytes), Some(reader))),
            Ok((_, Err(error))) => Some((Err(std::io::Error::other(error)), None)),
            Err(error) => Some((Err(std::io::Error::other(error)), None)),
        }
    });
    // Never rendered as a page of this host, not even as HTML.
    Ok(RestResponse::new(ByteContent(Body::from_stream(chunks)))
        .header(header::CONTENT_LENGTH, &artifact.byte_length.to_string())
        .header(header::CONTENT_DISPOSITION, "attachment")
        .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
}
