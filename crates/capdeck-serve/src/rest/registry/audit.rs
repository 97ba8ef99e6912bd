//! What was done: to the registry and to capsules as a whole, and by calls of the deck.

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

/// The outcome that stands for everything that did not end well.
const FAILED: &str = "failed";
/// Lines that a list reaches back.
const MOST_LINES: usize = 10_000;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/audit", "listAudit", "List what was done, the latest first")
            .about("`registry`: sign-ins, requests, decisions, settings, and capsules as a whole, from the chained log of the data folder. `deck`: calls, reads and searches of the deck. No line has arguments, results, bodies or tokens. A list reaches back 10,000 lines.")
            .done_by(list),
    ]
}

/// Where lines come from.
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
    /// Where lines come from; `registry` when nobody says.
    #[serde(default)]
    source: Source,
    /// Only lines from this time on.
    since: Option<Timestamp>,
    /// Only lines before this time.
    until: Option<Timestamp>,
    /// Only this action, such as `grant.approve`, or its first part; of the deck, this method.
    action: Option<String>,
    /// Only lines of this principal. Of the registry only.
    principal: Option<String>,
    /// Only lines of this client.
    client: Option<String>,
    /// Only lines about this capability. Of the deck only.
    capability: Option<String>,
    /// Only what ended like this: `ok`, `denied` or `error`; of the deck, `ok`, `tool_error` or an error code; of both, `failed` for everything but `ok`.
    outcome: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

/// One line.
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
        return Err(ApiError::invalid("`capability` goes with `source=deck`"));
    }
    let outcome = match query.outcome.as_deref() {
        None | Some(FAILED) => None,
        Some("ok") => Some(AuditOutcome::Ok),
        Some("denied") => Some(AuditOutcome::Denied),
        Some("error") => Some(AuditOutcome::Error),
        Some(_) => {
            return Err(ApiError::invalid("`outcome` is `ok`, `denied`, `error` or `failed`"));
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
        return Err(ApiError::invalid("`principal` goes with `source=registry`"));
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
    let read = read.map_err(|error| ApiError::internal("the audit was not read", &error))?;
    let read = read.map_err(|error| ApiError::internal("the audit cannot be read", &error))?;
    Ok(read.into_iter().map(|line| Line::Deck(Box::new(line))).collect())
}
