//! The audit line of work in progress. It is written however the work ends, also when it is dropped
//! because its caller is gone.

use std::{
    thread,
    time::{Duration, Instant},
};

use capdeck_backend::ErrorCode;
use jiff::Timestamp;

use super::CallAuditLine;
use crate::Session;

pub(crate) const TOOL_CALL: &str = "tools/call";

/// Counts calls of unknown capabilities. It cannot be an id.
const UNKNOWN: &str = "(unknown)";

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

impl Session {
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
}

impl PendingAudit<'_> {
    pub(crate) fn end(mut self, outcome: &'static str) {
        self.outcome = Some(outcome);
    }
}

impl Drop for PendingAudit<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.unwrap_or_else(|| match thread::panicking() {
            true => ErrorCode::InternalError.as_str(),
            false => ErrorCode::Cancelled.as_str(),
        });
        let elapsed = self.started.elapsed();
        if self.method == TOOL_CALL {
            // Unknown names are counted as one: a client that invents them must not fill the
            // memory.
            let is_known = self.session.host.catalog().get(self.capability).is_some();
            count(if is_known { self.capability } else { UNKNOWN }, outcome, elapsed);
        }
        self.session.host.0.audit.record(CallAuditLine {
            at: Timestamp::now(),
            session: &self.session.id,
            client: &self.session.client_name,
            method: self.method,
            capability: self.capability,
            tool: self.subject,
            outcome,
            approved: self.approved,
            data_from: std::mem::take(&mut self.data_from),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        });
    }
}

fn count(capability: &str, outcome: &'static str, elapsed: Duration) {
    let capability = metrics::SharedString::from(capability.to_owned());
    let labels = [("capability", capability), ("outcome", outcome.into())];
    metrics::counter!("capdeck_calls_total", &labels).increment(1);
    metrics::histogram!("capdeck_call_seconds", &labels).record(elapsed);
}
