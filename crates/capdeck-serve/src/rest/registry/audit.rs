//! The audit trail of the registry, capsules and deck calls.

use capdeck_host::{
    AuditFilter, AuditLogLine, AuditOutcome, RegistryAuditFilter, TrailFilter, TrailLine,
    TrailOutcome,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rest::{
    ApiError, ApiResult, ListPage, PageQuery, RequiredAccess::Admin, RestCall, RestOperation, get,
    run_blocking,
};

/// The filter for every outcome but `ok`.
const FAILED: &str = "failed";
const MAX_LINES: usize = 10_000;

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Admin, "/v1/audit", "listAudit", "List audit events, the newest first")
            .about("`registry`: sign-ins, requests, decisions, settings, and operations on whole capsules, from the hash-chained log of the data folder. `deck`: calls, reads and searches of the deck. Events have no arguments, results, bodies or tokens. Only the last 10,000 lines are listed.")
            .handled_with_query(list),
    ]
}

/// The source of an event.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AuditSource {
    #[default]
    Registry,
    Deck,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AuditListQuery {
    /// Default: `registry`.
    #[serde(default)]
    source: AuditSource,
    /// Only events at or after this time.
    since: Option<Timestamp>,
    /// Only events before this time.
    until: Option<Timestamp>,
    /// Only this action, such as `grant.approve`, or a prefix such as `grant`; for the deck, this method.
    action: Option<String>,
    /// Only events of this principal. Registry only.
    principal: Option<String>,
    /// Only events of this client.
    client: Option<String>,
    /// Only events of this capability. Deck only.
    capability: Option<String>,
    /// Only this outcome: `ok`, `denied` or `error`; for the deck, `ok`, `tool_error` or an error code; for both, `failed` means everything but `ok`.
    outcome: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// One audit event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AuditEvent")]
enum AuditListItem {
    Registry(Box<AuditLogLine>),
    Deck(Box<TrailLine>),
}

async fn list(call: RestCall, query: AuditListQuery) -> ApiResult<ListPage<AuditListItem>> {
    let lines = match query.source {
        AuditSource::Registry => of_registry(&call, &query).await?,
        AuditSource::Deck => of_deck(&call, &query).await?,
    };
    query.paging.page_of(&call, lines, key)
}

fn key(line: &AuditListItem) -> String {
    match line {
        AuditListItem::Registry(line) => line.seq.to_string(),
        AuditListItem::Deck(line) => format!("{} {} {}", line.at, line.session, line.tool),
    }
}

async fn of_registry(call: &RestCall, query: &AuditListQuery) -> ApiResult<Vec<AuditListItem>> {
    if query.capability.is_some() {
        return Err(ApiError::invalid("`capability` requires `source=deck`"));
    }
    let outcome = match query.outcome.as_deref() {
        None | Some(FAILED) => None,
        Some("ok") => Some(AuditOutcome::Ok),
        Some("denied") => Some(AuditOutcome::Denied),
        Some("error") => Some(AuditOutcome::Error),
        Some(_) => {
            return Err(ApiError::invalid("`outcome` must be `ok`, `denied`, `error` or `failed`"));
        }
    };
    let filter = AuditFilter {
        since: query.since,
        until: query.until,
        agent: query.client.clone(),
        principal: query.principal.clone(),
        action: query.action.clone(),
        prefix: None,
        outcome,
        after_seq: None,
        limit: MAX_LINES,
    };
    let mut lines = call.ask_as_host(None, RegistryAuditFilter(filter)).await?.lines;
    if query.outcome.as_deref() == Some(FAILED) {
        lines.retain(|line| line.outcome != AuditOutcome::Ok);
    }
    Ok(lines.into_iter().rev().map(|line| AuditListItem::Registry(Box::new(line))).collect())
}

async fn of_deck(call: &RestCall, query: &AuditListQuery) -> ApiResult<Vec<AuditListItem>> {
    if query.principal.is_some() {
        return Err(ApiError::invalid("`principal` requires `source=registry`"));
    }
    let filter = TrailFilter {
        since: query.since,
        until: query.until,
        client: query.client.clone(),
        method: query.action.clone(),
        capability: query.capability.clone(),
        outcome: query.outcome.clone().map(|word| match word.as_str() {
            FAILED => TrailOutcome::Failed,
            _ => TrailOutcome::Is(word),
        }),
    };
    let host = call.rest.host.clone();
    const READ_FAILED: &str = "cannot read the audit trail";
    let read = run_blocking(READ_FAILED, move || {
        host.trail(&filter, MAX_LINES).map_err(|error| ApiError::internal(READ_FAILED, &error))
    })
    .await?;
    Ok(read.into_iter().map(|line| AuditListItem::Deck(Box::new(line))).collect())
}
