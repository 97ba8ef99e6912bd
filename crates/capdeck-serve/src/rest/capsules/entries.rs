//! Entries: listed, read, written, deleted, found and restored.

use capdeck_host::{
    DeleteRequest, DeleteResponse, DeletedEntry, DeletedRequest, DiffRequest, DiffResponse,
    EntryInfo, EntryMatch, HistoryRequest, ListQuery, PatchStep, ReadBody, ReadRequest,
    ReadResponse, RestoreRequest, RiskClass, SearchQuery, WriteBlob, WriteMode, WriteRequest,
    WriteResponse,
};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rest::{
    ApiError, ApiResult, JsonBody, ListPage, PageQuery, RequiredAccess::Anyone, RestCall,
    RestOperation, RestResponse, delete, get, idempotency, patch, post, put, version_tag,
};

const PATH: &str = "/v1/capsules/{capsule}/entries/{scheme}/{*path}";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Anyone, "/v1/capsules/{capsule}/entries", "listEntries", "List entries")
            .handled_with_query(list),
        get(Anyone, PATH, "getEntry", "Read an entry, as it is now or as it was")
            .about("`body` is exactly what was written; `text` has the lines around it that tell a model what to think of it. The `ETag` is the version.")
            .success(&[200, 304])
            .handled_with_query(read),
        put(Anyone, PATH, "putEntry", "Write an entry")
            .about("Without a precondition it replaces the current version, which stays in the history.")
            .conditional()
            .success(&[200, 201])
            .problems(&[409, 422, 507])
            .handled_with_body(write),
        patch(Anyone, PATH, "patchEntry", "Change parts of an entry")
            .about("The steps are done in their order, all of them or none.")
            .conditional()
            .problems(&[409, 422, 507])
            .handled_with_body(change),
        delete(Anyone, PATH, "deleteEntry", "Delete an entry")
            .about("Its versions stay and can be restored.")
            .conditional()
            .handled_by(remove),
        get(Anyone, "/v1/capsules/{capsule}/search", "searchEntries", "Find entries by what they say")
            .about("A page has at most 50 hits, the best first.")
            .handled_with_query(search),
        get(
            Anyone,
            "/v1/capsules/{capsule}/history/{scheme}/{*path}",
            "getHistory",
            "List the versions of an entry",
        )
        .handled_with_query(history),
        get(
            Anyone,
            "/v1/capsules/{capsule}/diff/{scheme}/{*path}",
            "getDiff",
            "Compare two versions of an entry",
        )
        .handled_with_query(diff),
        post(
            Anyone,
            "/v1/capsules/{capsule}/restore/{scheme}/{*path}",
            "restoreEntry",
            "Make an earlier version the current one",
        )
        .about("Also brings back what was deleted. What is there now stays in the history.")
        .conditional()
        .problems(&[507])
        .handled_with_body(restore),
        get(
            Anyone,
            "/v1/capsules/{capsule}/deleted",
            "listDeleted",
            "List what was deleted and can be restored",
        )
        .handled_with_query(deleted),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct EntryListQuery {
    /// Only entries of this scheme.
    scheme: Option<String>,
    /// Only entries below this address, such as `docs://team`.
    prefix: Option<String>,
    /// Only entries with this tag.
    tag: Option<String>,
    /// Only entries written after this time.
    written_after: Option<Timestamp>,
    /// Latest first instead of by address.
    latest_first: Option<bool>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct EntryReadQuery {
    /// An earlier version.
    #[schemars(range(min = 1))]
    version: Option<u64>,
}

/// What to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewEntry {
    content: String,
    /// Absent: the title stays.
    title: Option<String>,
    /// Absent: the tags stay.
    tags: Option<Vec<String>>,
    /// Absent: guessed from the body.
    risk_class: Option<RiskClass>,
    /// Files that it is about, besides those found in it.
    #[serde(default)]
    file_anchors: Vec<String>,
    /// The commit that you worked on.
    commit: Option<String>,
    /// Absent: the payload stays.
    blob: Option<NewBlob>,
}

/// A binary payload.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewBlob {
    /// The bytes in base64; null: no payload any more.
    data: Option<String>,
    /// Their media type.
    mime: Option<String>,
}

/// Changes to an entry.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EntryChange {
    #[schemars(length(min = 1))]
    steps: Vec<PatchStep>,
    title: Option<String>,
    tags: Option<Vec<String>>,
    risk_class: Option<RiskClass>,
    #[serde(default)]
    file_anchors: Vec<String>,
    commit: Option<String>,
}

async fn list(call: RestCall, query: EntryListQuery) -> ApiResult<ListPage<EntryInfo>> {
    let EntryListQuery { scheme, prefix, tag, written_after, latest_first, paging } = query;
    let (limit, cursor) = (paging.limit(), paging.inner_cursor(&call)?);
    let latest_first = latest_first.unwrap_or(false);
    let query = ListQuery { scheme, prefix, tag, written_after, latest_first, limit, cursor };
    let listed = call.ask_for(query).await?;
    let next_cursor = PageQuery::outer_cursor(&call, listed.next_cursor);
    Ok(ListPage { items: listed.entries, next_cursor })
}

async fn read(call: RestCall, query: EntryReadQuery) -> ApiResult<RestResponse<ReadResponse>> {
    let (uri, version) = (call.entry_uri(), query.version);
    let read = ReadRequest { uri, version, body: ReadBody::Banded };
    let entry = call.ask_for(read).await?;
    let tag = version_tag(entry.info.version);
    let is_known = call.has_current(&tag);
    let reply = RestResponse::new(entry).tag(&tag);
    Ok(if is_known { reply.status(StatusCode::NOT_MODIFIED) } else { reply })
}

async fn write(call: RestCall, body: JsonBody<NewEntry>) -> ApiResult<RestResponse<WriteResponse>> {
    let JsonBody(NewEntry { content, title, tags, risk_class, file_anchors, commit, blob }) = body;
    let if_version = call.required_version()?;
    let blob = match blob {
        None => None,
        Some(NewBlob { data: None, mime: None }) => Some(WriteBlob::Remove),
        Some(NewBlob { data: Some(data), mime: Some(mime) }) => {
            Some(WriteBlob::Bytes { data, mime })
        }
        Some(_) => return Err(ApiError::invalid("`blob` has both `data` and `mime`, or neither")),
    };
    let written = send(
        &call,
        WriteRequest {
            // An appender writes only where there is nothing; the store decides.
            mode: (if_version == Some(0)).then_some(WriteMode::Create),
            content: Some(content),
            title,
            tags,
            risk_class,
            file_anchors,
            commit,
            blob,
            if_version: if_version.filter(|version| *version > 0),
            ..WriteRequest::default()
        },
    )
    .await;
    let written = written.map_err(|error| error.into_failed_precondition(if_version == Some(0)))?;
    let status = if written.outcome.created { StatusCode::CREATED } else { StatusCode::OK };
    let tag = version_tag(written.outcome.version);
    Ok(RestResponse::new(written).status(status).tag(&tag))
}

async fn change(
    call: RestCall,
    body: JsonBody<EntryChange>,
) -> ApiResult<RestResponse<WriteResponse>> {
    let JsonBody(EntryChange { steps, title, tags, risk_class, file_anchors, commit }) = body;
    let if_version = call.required_version()?;
    let written = send(
        &call,
        WriteRequest {
            mode: Some(WriteMode::Patch),
            patch: Some(steps),
            title,
            tags,
            risk_class,
            file_anchors,
            commit,
            if_version,
            ..WriteRequest::default()
        },
    )
    .await?;
    let tag = version_tag(written.outcome.version);
    Ok(RestResponse::new(written).tag(&tag))
}

/// Writes under the key of the request, if it has one, which the store itself keeps.
async fn send(call: &RestCall, write: WriteRequest) -> ApiResult<WriteResponse> {
    let idempotency_key = idempotency::key(&call.headers)?;
    let write = WriteRequest { uri: call.entry_uri(), idempotency_key, ..write };
    call.ask_for(write).await
}

async fn remove(call: RestCall) -> ApiResult<DeleteResponse> {
    let if_version = call.required_version()?;
    let remove = DeleteRequest { uri: call.entry_uri(), if_version };
    call.ask_for(remove).await
}

#[derive(Debug, Deserialize, JsonSchema)]
struct EntrySearchQuery {
    /// What to look for, in plain words.
    #[schemars(length(min = 1, max = 1000))]
    q: String,
    /// Only entries of this scheme.
    scheme: Option<String>,
    /// Only entries below this address.
    prefix: Option<String>,
    /// Only entries with all of these tags.
    #[serde(default)]
    tag: Vec<String>,
    /// Only entries of this client.
    author: Option<String>,
    risk_class: Option<RiskClass>,
    written_after: Option<Timestamp>,
    written_before: Option<Timestamp>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// Entries that were found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EntrySearchResults")]
struct MatchPage {
    items: Vec<EntryMatch>,
    next_cursor: Option<String>,
    /// How many there are on all pages.
    total: usize,
}

async fn search(call: RestCall, query: EntrySearchQuery) -> ApiResult<MatchPage> {
    let EntrySearchQuery {
        q,
        scheme,
        prefix,
        tag,
        author,
        risk_class,
        written_after,
        written_before,
        paging,
    } = query;
    let search = SearchQuery {
        query: q,
        scheme,
        prefix,
        tags: tag,
        author,
        risk_class,
        written_after,
        written_before,
        limit: paging.limit(),
        cursor: paging.inner_cursor(&call)?,
    };
    let found = call.ask_for(search).await?;
    let next_cursor = PageQuery::outer_cursor(&call, found.next_cursor);
    Ok(MatchPage { items: found.hits, next_cursor, total: found.total })
}

#[derive(Debug, Deserialize, JsonSchema)]
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
struct EntryRestoreOptions {
    #[schemars(range(min = 1))]
    version: u64,
}

async fn history(call: RestCall, paging: PageQuery) -> ApiResult<ListPage<EntryInfo>> {
    let versions = call.ask_for(HistoryRequest { uri: call.entry_uri() }).await?.versions;
    let key = |info: &EntryInfo| info.version.to_string();
    paging.page_of(&call, versions, key)
}

async fn diff(call: RestCall, query: VersionDiffQuery) -> ApiResult<DiffResponse> {
    let VersionDiffQuery { from, to } = query;
    call.ask_for(DiffRequest { uri: call.entry_uri(), from, to }).await
}

async fn restore(
    call: RestCall,
    body: JsonBody<EntryRestoreOptions>,
) -> ApiResult<RestResponse<WriteResponse>> {
    let if_version = call.required_version()?;
    let JsonBody(EntryRestoreOptions { version }) = body;
    let restore = RestoreRequest { uri: call.entry_uri(), version, if_version };
    let written = call.ask_for(restore).await?;
    let tag = version_tag(written.outcome.version);
    Ok(RestResponse::new(written).tag(&tag))
}

async fn deleted(call: RestCall, paging: PageQuery) -> ApiResult<ListPage<DeletedEntry>> {
    let deleted = call.ask_for(DeletedRequest).await?.deleted;
    paging.page_of(&call, deleted, |one| one.uri.to_string())
}
