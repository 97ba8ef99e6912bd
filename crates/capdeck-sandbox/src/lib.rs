//! Code mode's sandbox: runs TypeScript whose only effect outside is calls to the host.
//!
//! Read [`SandboxPool`] first: it runs a [`Run`] in a worker process and returns a [`RunReport`]. [`run_worker`] is
//! the main function of that process. Calls of a script go through [`CallOut`], which the host implements.
//!
//! This crate never knows a backend, opens no connection and reads no file.

mod call_out;
mod compile;
mod deck_operation;
mod declarations;
mod directory;
mod envelope;
mod limits;
mod moment;
mod pool;
mod protocol;
mod report;
mod run;
mod settings;
mod worker;

pub use call_out::{CallAnswer, CallFailure, CallOut, CallRequest};
pub use deck_operation::DeckOperation;
pub use declarations::{
    CapabilityLine, ToolShape, call_text, member_of, tool_text, tool_types, type_of,
};
pub use directory::{Directory, ToolSchemas};
pub use envelope::{
    Diagnostic, Envelope, ErrorCode, Location, LogEntry, Logs, Meta, RunError, SessionStatus,
    Severity,
};
pub use limits::Limits;
pub use moment::{Moment, Repeat};
pub use pool::SandboxPool;
pub use protocol::Isolation;
pub use report::{CallOutcome, CallRecord, RunReport};
pub use run::{Determinism, Run, SessionChoice, SessionId, TimerPace, TypeCheck};
pub use settings::{SandboxSettings, WorkerCommand};
pub use worker::run_worker;
