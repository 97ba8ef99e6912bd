//! The full record of a run for the host: the response, all logs, all calls.

use serde_json::value::RawValue;

use crate::{
    DeckOperation,
    call_handler::CallFailure,
    envelope::{LogEntry, RunEnvelope},
    replay_moment::ReplayMoment,
};

#[derive(Debug)]
pub struct RunReport {
    pub envelope: RunEnvelope,
    /// Every stored log entry; the envelope has only the first ones.
    pub logs: Vec<LogEntry>,
    /// Every call, in order.
    pub calls: Vec<CallRecord>,
    /// The moments of the responses, in order; empty for runs that cannot be repeated.
    pub moments: Vec<ReplayMoment>,
}

/// One call of a run, with the data to answer it again.
#[derive(Debug)]
pub struct CallRecord {
    pub capability: Option<String>,
    pub method: DeckOperation,
    pub args: Box<RawValue>,
    pub outcome: CallOutcome,
    /// Milliseconds after the start of the run.
    pub started_ms: f64,
    pub duration_ms: f64,
}

#[derive(Debug)]
pub enum CallOutcome {
    Done {
        data: Box<RawValue>,
        meta: Option<Box<RawValue>>,
        /// Its index among the responses of the run, from zero: a replay uses this order.
        place: usize,
    },
    Failed {
        failure: CallFailure,
        meta: Option<Box<RawValue>>,
        place: usize,
    },
    /// It waits for an outside event; the script has no response.
    Held {
        failure: CallFailure,
    },
    Cancelled,
}
