//! What an entry was before, and what was deleted.

use capdeck_host::CapsuleOperation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::{Deleted, EntryMeta, Written};
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

/// What changed between two versions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryDiff")]
struct Difference {
    capsule: String,
    uri: String,
    from: u64,
    /// Null: the current version.
    to: Option<u64>,
    /// As `diff -u` writes it.
    diff: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EntryRestoreOptions")]
struct Restore {
    #[schemars(range(min = 1))]
    version: u64,
}

async fn history(call: Call, query: Pages, _: NoBody) -> Result<Reply<Page<EntryMeta>>, ApiError> {
    #[derive(Deserialize)]
    struct Told {
        versions: Vec<EntryMeta>,
    }
    let told: Told = call.ask_for(CapsuleOperation::History { uri: call.entry_uri() }).await?;
    let key = |meta: &EntryMeta| meta.version.to_string();
    Ok(Reply::new(query.paging.cut(&call, told.versions, key)?))
}

async fn diff(call: Call, query: Versions, _: NoBody) -> Result<Reply<Difference>, ApiError> {
    let Versions { from, to } = query;
    let diff = CapsuleOperation::Diff { uri: call.entry_uri(), from, to };
    Ok(Reply::new(call.ask_for(diff).await?))
}

async fn restore(call: Call, _: NoQuery, body: Json<Restore>) -> Result<Reply<Written>, ApiError> {
    let if_version = call.precondition()?.if_version;
    let Json(Restore { version }) = body;
    let restore = CapsuleOperation::Restore { uri: call.entry_uri(), version, if_version };
    let written: Written = call.ask_for(restore).await?;
    let tag = version_tag(written.version);
    Ok(Reply::new(written).tag(&tag))
}

async fn deleted(call: Call, query: Pages, _: NoBody) -> Result<Reply<Page<Deleted>>, ApiError> {
    #[derive(Deserialize)]
    struct Told {
        deleted: Vec<Deleted>,
    }
    let told: Told = call.ask_for(CapsuleOperation::Deleted).await?;
    Ok(Reply::new(query.paging.cut(&call, told.deleted, |one| one.uri.clone())?))
}
