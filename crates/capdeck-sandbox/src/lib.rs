//! Code mode's sandbox: runs TypeScript whose only effect outside is calls to the host.
//!
//! Read [`SandboxPool`] first: it runs a [`CellRun`] in a worker process and returns a [`RunReport`]. [`run_worker`] is
//! the main function of that process. Calls of a script go through [`CallHandler`], which the host implements.
//!
//! This crate never knows a backend, opens no connection and reads no file.

mod compile;
mod deck_operation;
mod declarations;
mod envelope;
#[cfg(target_os = "linux")]
mod fork_packet;
mod host_interface;
mod pool;
mod protocol;
mod run;
mod settings;
mod worker;

pub use deck_operation::DeckOperation;
pub use declarations::{
    CapabilityLine, ToolSignature, call_text, member_of, tool_text, tool_types, type_of,
};
pub use envelope::{
    CallOutcome, CallRecord, CodeDiagnostic, CodeLocation, CodeSeverity, LogEntry, RunEnvelope,
    RunError, RunErrorCode, RunLogs, RunMetadata, RunReport, SessionStatus,
};
pub use host_interface::{
    CallFailure, CallHandler, CallRequest, CapabilityDirectory, HandlerResponse, ToolSchemas,
};
pub use pool::SandboxPool;
pub use protocol::WorkerIsolation;
pub use run::{
    CellRun, DeterminismSettings, EarlierRun, ReplayMoment, SessionChoice, SessionId, TimerPace,
    TypeCheck,
};
pub use settings::{SandboxLimits, SandboxSettings, WorkerCommand};
pub use worker::run_worker;
