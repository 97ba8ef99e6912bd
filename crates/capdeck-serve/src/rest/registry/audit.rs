//! The audit trail of the registry, capsules and deck calls.

use capdeck_host::{
    AuditFilter, AuditLine, AuditOutcome, RegistryAuditFilter, TrailFilter, TrailLine, TrailOutcome,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rest::{
    call::Call,
    input::NoBody,
    operation::{Operation, get},
    page::{Page, Paging},
    problem::ApiError,
    reply::Reply,
};

/// The filter for every outcome but `ok`.
const FAILED: &str = "failed";
const MOST_LINES: usize = 10_000;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/audit", "listAudit", "List audit events, the newest first")
            .about("`registry`: sign-ins, requests, decisions, settings, and operations on whole capsules, from the hash-chained log of the data folder. `deck`: calls, reads and searches of the deck. Events have no arguments, results, bodies or tokens. Only the last 10,000 lines are listed.")
            .done_by(list),
    ]
}

/// The source of an event.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AuditSource")]
enum Source {
    #[default]
    Registry,
    Deck,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListAudit {
    /// Default: `registry`.
    #[serde(default)]
    source: Source,
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
    paging: Paging,
}

/// One audit event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AuditEvent")]
enum Line {
    Registry(Box<AuditLine>),
    Deck(Box<TrailLine>),
}

async fn list(call: Call, query: ListAudit, _: NoBody) -> Result<Reply<Page<Line>>, ApiError> {
    let lines = match query.source {
        Source::Registry => of_registry(&call, &query).await?,
        Source::Deck => of_deck(&call, &query).await?,
    };
    Ok(Reply::new(query.paging.cut(&call, lines, key)?))
}

fn key(line: &Line) -> String {
    match line {
        Line::Registry(line) => line.seq.to_string(),
        Line::Deck(line) => format!("{} {} {}", line.at, line.session, line.tool),
    }
}

async fn of_registry(call: &Call, query: &ListAudit) -> Result<Vec<Line>, ApiError> {
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
        limit: MOST_LINES,
    };
    let mut lines = call.ask_as_host(None, RegistryAuditFilter(filter)).await?.lines;
    if query.outcome.as_deref() == Some(FAILED) {
        lines.retain(|line| line.outcome != AuditOutcome::Ok);
    }
    Ok(lines.into_iter().rev().map(|line| Line::Registry(Box::new(line))).collect())
}

async fn of_deck(call: &Call, query: &ListAudit) -> Result<Vec<Line>, ApiError> {
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
    let read = tokio::task::spawn_blocking(move || host.trail(&filter, MOST_LINES)).await;
    let read = read.map_err(|error| ApiError::internal("cannot read the audit trail", &error))?;
    let read = read.map_err(|error| ApiError::internal("cannot read the audit trail", &error))?;
    Ok(read.into_iter().map(|line| Line::Deck(Box::new(line))).collect())
}
