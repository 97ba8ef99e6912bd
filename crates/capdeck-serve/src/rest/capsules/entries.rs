//! Entries: listed, read, written, deleted.

use capdeck_host::{
    DeleteRequest, DeleteResponse, EntryInfo, ListQuery, PatchStep, ReadBody, ReadRequest,
    ReadResponse, RiskClass, WriteBlob, WriteMode, WriteRequest, WriteResponse,
};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::{RestCall, version_tag},
    idempotency,
    input::{JsonBody, NoBody, NoQuery},
    operation::{RestOperation, delete, get, patch, put},
    page::{ListPage, PageQuery},
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
};

const PATH: &str = "/v1/capsules/{capsule}/entries/{scheme}/{*path}";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/capsules/{capsule}/entries", "listEntries", "List entries")
            .who(RequiredAccess::Anyone)
            .handled_by(list),
        get(PATH, "getEntry", "Read an entry, as it is now or as it was")
            .about("`body` is exactly what was written; `text` has the lines around it that tell a model what to think of it. The `ETag` is the version.")
            .who(RequiredAccess::Anyone)
            .success(&[200, 304])
            .handled_by(read),
        put(PATH, "putEntry", "Write an entry")
            .about("Without a precondition it is written whatever is there; the version before stays in the history.")
            .who(RequiredAccess::Anyone)
            .conditional()
            .success(&[200, 201])
            .problems(&[409, 422, 507])
            .handled_by(write),
        patch(PATH, "patchEntry", "Change parts of an entry")
            .about("The steps are done in their order, all of them or none.")
            .who(RequiredAccess::Anyone)
            .conditional()
            .problems(&[409, 422, 507])
            .handled_by(change),
        delete(PATH, "deleteEntry", "Delete an entry")
            .about("Its versions stay and can be restored.")
            .who(RequiredAccess::Anyone)
            .conditional()
            .handled_by(remove),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListEntries")]
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
#[schemars(rename = "ReadEntry")]
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
    /// Absent: told from the body.
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

async fn list(
    call: RestCall,
    query: EntryListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<EntryInfo>>, ApiError> {
    let EntryListQuery { scheme, prefix, tag, written_after, latest_first, paging } = query;
    let (limit, cursor) = (paging.limit(), paging.inner_cursor(&call)?);
    let latest_first = latest_first.unwrap_or(false);
    let query = ListQuery { scheme, prefix, tag, written_after, latest_first, limit, cursor };
    let listed = call.ask_for(query).await?;
    let next_cursor = PageQuery::outer_cursor(&call, listed.next_cursor);
    Ok(RestResponse::new(ListPage { items: listed.entries, next_cursor }))
}

async fn read(
    call: RestCall,
    query: EntryReadQuery,
    _: NoBody,
) -> Result<RestResponse<ReadResponse>, ApiError> {
    let (uri, version) = (call.entry_uri(), query.version);
    let read = ReadRequest { uri, version, body: ReadBody::Banded };
    let entry = call.ask_for(read).await?;
    let tag = version_tag(entry.info.version);
    let is_known = call.has_current(&tag);
    let reply = RestResponse::new(entry).tag(&tag);
    Ok(if is_known { reply.status(StatusCode::NOT_MODIFIED) } else { reply })
}

async fn write(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<NewEntry>,
) -> Result<RestResponse<WriteResponse>, ApiError> {
    let JsonBody(NewEntry { content, title, tags, risk_class, file_anchors, commit, blob }) = body;
    let if_version = call.precondition()?.if_version;
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
    _: NoQuery,
    body: JsonBody<EntryChange>,
) -> Result<RestResponse<WriteResponse>, ApiError> {
    let JsonBody(EntryChange { steps, title, tags, risk_class, file_anchors, commit }) = body;
    let if_version = call.precondition()?.if_version;
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
async fn send(call: &RestCall, write: WriteRequest) -> Result<WriteResponse, ApiError> {
    let idempotency_key = idempotency::key(&call.headers)?;
    let write = WriteRequest { uri: call.entry_uri(), idempotency_key, ..write };
    call.ask_for(write).await
}

async fn remove(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<DeleteResponse>, ApiError> {
    let if_version = call.precondition()?.if_version;
    let remove = DeleteRequest { uri: call.entry_uri(), if_version };
    Ok(RestResponse::new(call.ask_for(remove).await?))
}
