//! The audit of one capsule, for its owner.

use capdeck_host::{AuditFilter, AuditLogLine, AuditOutcome};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    ApiResult, ListPage, PageQuery, RequiredAccess::Anyone, RestCall, RestOperation, get,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Anyone, "/v1/capsules/{capsule}/logs", "listCapsuleLog", "List what was done in a capsule, the latest first")
            .about("For the capsule's owner. Looking at it is recorded, too. No line has bodies, tokens or memory.")
            .handled_with_query(list),
    ]
}

/// Lines that a list of logs reaches back.
const MAX_LINES: usize = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
struct AuditLogQuery {
    /// Only lines from this time on.
    since: Option<Timestamp>,
    /// Only lines before this time.
    until: Option<Timestamp>,
    /// Only lines of this client.
    agent: Option<String>,
    /// Only lines of this principal.
    principal: Option<String>,
    /// Only this action, such as `write.create`, or its first part.
    action: Option<String>,
    /// Only lines about entries below this address.
    prefix: Option<String>,
    outcome: Option<AuditOutcome>,
    #[serde(flatten)]
    paging: PageQuery,
}

async fn list(call: RestCall, query: AuditLogQuery) -> ApiResult<ListPage<AuditLogLine>> {
    let AuditLogQuery { since, until, agent, principal, action, prefix, outcome, paging } = query;
    let filter = AuditFilter {
        since,
        until,
        agent,
        principal,
        action,
        prefix,
        outcome,
        after_seq: None,
        limit: MAX_LINES,
    };
    let lines = call.ask_for(filter).await?.lines;
    let latest_first: Vec<AuditLogLine> = lines.into_iter().rev().collect();
    paging.page_of(&call, latest_first, |line| line.seq.to_string())
}
