//! Everything the host may want to keep of a run: the answer for the client, all logs, all calls.

use serde_json::value::RawValue;

use crate::{
    DeckOperation,
    call_out::CallFailure,
    envelope::{Envelope, LogEntry},
    moment::Moment,
};

/// A finished run.
#[derive(Debug)]
pub struct RunReport {
    pub envelope: Envelope,
    /// Every log entry that was kept; the envelope carries the first ones only.
    pub logs: Vec<LogEntry>,
    /// Every call in the order it was made.
    pub calls: Vec<CallRecord>,
    /// When the script took the answers, in their order; empty for runs that cannot be repeated.
    pub moments: Vec<Moment>,
}

/// One call of a run, with all that is needed to answer it again.
#[derive(Debug)]
pub struct CallRecord {
    pub capability: Option<String>,
    pub method: DeckOperation,
    pub args: Box<RawValue>,
    pub outcome: CallOutcome,
    /// Milliseconds after the run began.
    pub started_ms: f64,
    pub duration_ms: f64,
}

/// What came of a recorded call.
#[derive(Debug)]
pub enum CallOutcome {
    Done {
        data: Box<RawValue>,
        meta: Option<Box<RawValue>>,
        /// Its place among the answers of the run, from zero: a replay gives them in this order.
        place: usize,
    },
    Failed {
        failure: CallFailure,
        meta: Option<Box<RawValue>>,
        place: usize,
    },
    /// It waits for something from outside; the script has no answer.
    Held {
        failure: CallFailure,
    },
    /// The run ended before there was an answer.
    Cancelled,
}
