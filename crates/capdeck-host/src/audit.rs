//! The audit trail: one JSON line per call, read, prompt, completion, search, subscription and task
//! request, denied ones too: who, what, outcome, duration. No arguments, no results.

mod trail;
mod writer;

use std::{
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::RawMembers;
use capdeck_definition::CallAuditMode;
use jiff::Timestamp;
use tokio::sync::broadcast;

pub use self::trail::{
    CallTrail, TrailCounts, TrailFilter, TrailFollower, TrailLine, TrailOutcome,
};
use self::writer::AuditWriter;
use crate::{Host, Session, raw};

/// Clients choose their name and the names they call; a longer one is cut, so that the line is not
/// lost.
const MAX_NAME_BYTES: usize = 1_000;

const MAX_FEED_LAG: usize = 1_024;

pub(crate) const TOOL_CALL: &str = "tools/call";

/// Counts calls of unknown capabilities. It cannot be an id.
const UNKNOWN: &str = "(unknown)";

#[derive(Debug)]
pub(crate) struct CallAuditLog {
    news: broadcast::Sender<Arc<str>>,
    writer: AuditWriter,
}

/// The line of work in progress. It is written however the work ends, also when it is dropped
/// because its caller is gone.
pub(crate) struct PendingAudit<'a> {
    session: &'a Session,
    method: &'a str,
    capability: &'a str,
    subject: &'a str,
    started: Instant,
    outcome: Option<&'static str>,
    /// The gate's decision. Only tool calls have one.
    pub(crate) approved: Option<&'static str>,
    pub(crate) data_from: Vec<String>,
}

impl PendingAudit<'_> {
    /// Work that began earlier than its line.
    pub(crate) fn since(mut self, started: Instant) -> Self {
        self.started = started;
        self
    }

    pub(crate) fn end(mut self, outcome: &'static str) {
        self.note_outcome(outcome);
    }

    /// The outcome of work that ends together with its line.
    pub(crate) fn note_outcome(&mut self, outcome: &'static str) {
        self.outcome = Some(outcome);
    }
}

impl Drop for PendingAudit<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.unwrap_or_else(|| match thread::panicking() {
            true => ErrorCode::InternalError.as_str(),
            false => ErrorCode::Cancelled.as_str(),
        });
        let host = &self.session.host;
        if self.method == TOOL_CALL {
            // Unknown names are counted as one: a client that invents them must not fill the
            // memory.
            let is_known = host.catalog().get(self.capability).is_some();
            let capability = if is_known { self.capability } else { UNKNOWN };
            count(capability, outcome, self.started.elapsed());
        }
        host.0.audit.record(&TrailLine {
            at: Timestamp::now(),
            session: self.session.id.to_string(),
            client: cut(&self.session.client_name),
            method: cut(self.method),
            capability: cut(self.capability),
            tool: cut(self.subject),
            outcome: outcome.to_owned(),
            approved: self.approved.map(str::to_owned),
            data_from: std::mem::take(&mut self.data_from),
            elapsed_ms: elapsed_ms(self.started),
        });
    }
}

fn count(capability: &str, outcome: &'static str, elapsed: Duration) {
    let capability = metrics::SharedString::from(capability.to_owned());
    let labels = [("capability", capability), ("outcome", outcome.into())];
    metrics::counter!("capdeck_calls_total", &labels).increment(1);
    metrics::histogram!("capdeck_call_seconds", &labels).record(elapsed);
}

impl Session {
    /// Writes the line of a client that listens for changes: of one server, or of the deck when the
    /// name is empty.
    pub fn note_listening(&self, capability: &str) {
        self.begin_audit("subscriptions/listen", capability, "").end("ok");
    }

    pub(crate) fn begin_audit<'a>(
        &'a self,
        method: &'a str,
        capability: &'a str,
        subject: &'a str,
    ) -> PendingAudit<'a> {
        PendingAudit {
            session: self,
            method,
            capability,
            subject,
            started: Instant::now(),
            outcome: None,
            approved: None,
            data_from: Vec::new(),
        }
    }

    pub(crate) async fn audited<T>(
        &self,
        method: &str,
        capability: &str,
        subject: &str,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let line = self.begin_audit(method, capability, subject);
        let outcome = match require_trail(&self.host) {
            Ok(()) => work.await,
            Err(refused) => Err(refused),
        };
        line.end(outcome.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok"));
        outcome
    }
}

pub(crate) fn subject(method: &str, params: Option<&RawMembers>) -> Option<String> {
    let text = |key: &str| raw::string(params?.get(key)?);
    let uri = || text("uri").map(|uri| without_query(&uri).to_owned());
    match method {
        "resources/read" => Some(uri().unwrap_or_default()),
        "prompts/get" => Some(text("name").unwrap_or_default()),
        "completion/complete" => Some(String::new()),
        _ => None,
    }
}

/// A URI's query may hold secrets, so it is not logged.
pub(crate) fn without_query(uri: &str) -> &str {
    uri.split('?').next().unwrap_or_default()
}

impl CallAuditLog {
    pub(crate) fn open(state_dir: &Path) -> Self {
        let writer = AuditWriter::start(state_dir.join("audit"));
        Self { news: broadcast::Sender::new(MAX_FEED_LAG), writer }
    }

    fn record(&self, line: &TrailLine) {
        let Ok(text) = serde_json::to_string(line) else { return };
        if self.news.receiver_count() > 0 {
            drop(self.news.send(text.as_str().into()));
        }
        self.writer.write(&text);
    }
}

/// Why calls leave no trace on disk now, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAuditProblem {
    pub reason: String,
    /// They are refused, because the deck says so.
    pub refuses_calls: bool,
}

impl CallAuditProblem {
    /// Looks whether the trail takes lines. Where calls depend on it, room on the disk is looked for, too.
    pub fn of(host: &Host) -> Option<Self> {
        let refuses_calls = host.catalog().config().audit_mode() == CallAuditMode::Strict;
        let writer = &host.0.audit.writer;
        let reason = match refuses_calls {
            true => writer.check().err(),
            false => writer.problem(),
        };
        Some(Self { reason: reason?, refuses_calls })
    }
}

/// Refuses work that would leave no trace, where the deck says so.
pub(crate) fn require_trail(host: &Host) -> Result<(), CallError> {
    if host.catalog().config().audit_mode() == CallAuditMode::Lenient {
        return Ok(());
    }
    let Some(problem) = CallAuditProblem::of(host) else { return Ok(()) };
    let message = format!(
        "nothing is called here while the audit trail cannot be written: {}",
        problem.reason
    );
    Err(CallError::new(ErrorCode::Denied, message).hint(
        "the person makes the folder `audit` of the state folder writable, or sets `audit` to `lenient`",
    ))
}

pub(crate) fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn cut(name: &str) -> String {
    name.get(..name.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or(name).to_owned()
}

impl Host {
    /// Subscribes to the lines of the audit trail.
    pub fn audited(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.audit.news.subscribe()
    }
}
