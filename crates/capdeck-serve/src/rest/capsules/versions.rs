//! What an entry was before, and what was deleted.

use capdeck_host::{
    DeletedEntry, DeletedRequest, DiffRequest, DiffResponse, EntryInfo, HistoryRequest,
    RestoreRequest, WriteResponse,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::{Call, version_tag},
    input::{Json, NoBody, NoQuery},
    operation::{Operation, get, post},
    page::{Page, Paging},
    problem::ApiError,
    reply::Reply,
    who::Who,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get(
            "/v1/capsules/{capsule}/history/{scheme}/{*path}",
            "getHistory",
            "List the versions of an entry",
        )
        .who(Who::Anyone)
        .done_by(history),
        get(
            "/v1/capsules/{capsule}/diff/{scheme}/{*path}",
            "getDiff",
            "Compare two versions of an entry",
        )
        .who(Who::Anyone)
        .done_by(diff),
        post(
            "/v1/capsules/{capsule}/restore/{scheme}/{*path}",
            "restoreEntry",
            "Make an earlier version the current one",
        )
        .about("Also brings back what was deleted. What is there now stays in the history.")
        .who(Who::Anyone)
        .conditional()
        .problems(&[507])
        .done_by(restore),
        get(
            "/v1/capsules/{capsule}/deleted",
            "listDeleted",
            "List what was deleted and can be restored",
        )
        .who(Who::Anyone)
        .done_by(deleted),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Pages {
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Versions {
    /// The version to start from.
    #[schemars(range(min = 1))]
    from: u64,
    /// The version to compare it with; absent: the current one.
    #[schemars(range(min = 1))]
    to: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EntryRestoreOptions")]
struct Restore {
    #[schemars(range(min = 1))]
    version: u64,
}

async fn history(call: Call, query: Pages, _: NoBody) -> Result<Reply<Page<EntryInfo>>, ApiError> {
    let versions = call.ask_for(HistoryRequest { uri: call.entry_uri() }).await?.versions;
    let key = |info: &EntryInfo| info.version.to_string();
    Ok(Reply::new(query.paging.cut(&call, versions, key)?))
}

async fn diff(call: Call, query: Versions, _: NoBody) -> Result<Reply<DiffResponse>, ApiError> {
    let Versions { from, to } = query;
    Ok(Reply::new(call.ask_for(DiffRequest { uri: call.entry_uri(), from, to }).await?))
}

async fn restore(
    call: Call,
    _: NoQuery,
    body: Json<Restore>,
) -> Result<Reply<WriteResponse>, ApiError> {
    let if_version = call.precondition()?.if_version;
    let Json(Restore { version }) = body;
    let restore = RestoreRequest { uri: call.entry_uri(), version, if_version };
    let written = call.ask_for(restore).await?;
    let tag = version_tag(written.outcome.version);
    Ok(Reply::new(written).tag(&tag))
}

async fn deleted(
    call: Call,
    query: Pages,
    _: NoBody,
) -> Result<Reply<Page<DeletedEntry>>, ApiError> {
    let deleted = call.ask_for(DeletedRequest).await?.deleted;
    Ok(Reply::new(query.paging.cut(&call, deleted, |one| one.uri.to_string())?))
}
