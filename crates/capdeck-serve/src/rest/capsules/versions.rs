//! What an entry was before, and what was deleted.

use capdeck_host::{
    DeletedEntry, DeletedRequest, DiffRequest, DiffResponse, EntryInfo, HistoryRequest,
    RestoreRequest, WriteResponse,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::{RestCall, version_tag},
    input::{JsonBody, NoBody, NoQuery},
    operation::{RestOperation, get, post},
    page::{ListPage, PageQuery},
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(
            "/v1/capsules/{capsule}/history/{scheme}/{*path}",
            "getHistory",
            "List the versions of an entry",
        )
        .who(RequiredAccess::Anyone)
        .handled_by(history),
        get(
            "/v1/capsules/{capsule}/diff/{scheme}/{*path}",
            "getDiff",
            "Compare two versions of an entry",
        )
        .who(RequiredAccess::Anyone)
        .handled_by(diff),
        post(
            "/v1/capsules/{capsule}/restore/{scheme}/{*path}",
            "restoreEntry",
            "Make an earlier version the current one",
        )
        .about("Also brings back what was deleted. What is there now stays in the history.")
        .who(RequiredAccess::Anyone)
        .conditional()
        .problems(&[507])
        .handled_by(restore),
        get(
            "/v1/capsules/{capsule}/deleted",
            "listDeleted",
            "List what was deleted and can be restored",
        )
        .who(RequiredAccess::Anyone)
        .handled_by(deleted),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Pages")]
struct VersionListQuery {
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Versions")]
struct VersionDiffQuery {
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
struct EntryRestoreOptions {
    #[schemars(range(min = 1))]
    version: u64,
}

async fn history(
    call: RestCall,
    query: VersionListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<EntryInfo>>, ApiError> {
    let versions = call.ask_for(HistoryRequest { uri: call.entry_uri() }).await?.versions;
    let key = |info: &EntryInfo| info.version.to_string();
    Ok(RestResponse::new(query.paging.page_of(&call, versions, key)?))
}

async fn diff(
    call: RestCall,
    query: VersionDiffQuery,
    _: NoBody,
) -> Result<RestResponse<DiffResponse>, ApiError> {
    let VersionDiffQuery { from, to } = query;
    Ok(RestResponse::new(call.ask_for(DiffRequest { uri: call.entry_uri(), from, to }).await?))
}

async fn restore(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<EntryRestoreOptions>,
) -> Result<RestResponse<WriteResponse>, ApiError> {
    let if_version = call.precondition()?.if_version;
    let JsonBody(EntryRestoreOptions { version }) = body;
    let restore = RestoreRequest { uri: call.entry_uri(), version, if_version };
    let written = call.ask_for(restore).await?;
    let tag = version_tag(written.outcome.version);
    Ok(RestResponse::new(written).tag(&tag))
}

async fn deleted(
    call: RestCall,
    query: VersionListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<DeletedEntry>>, ApiError> {
    let deleted = call.ask_for(DeletedRequest).await?.deleted;
    Ok(RestResponse::new(query.paging.page_of(&call, deleted, |one| one.uri.to_string())?))
}
