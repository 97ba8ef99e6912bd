//! Code mode's sandbox: runs TypeScript whose only effect outside is calls to the host.
//!
//! Read [`SandboxPool`] first: it runs a [`CellRun`] in a worker process and returns a [`RunReport`]. [`run_worker`] is
//! the main function of that process. Calls of a script go through [`CallHandler`], which the host implements.
//!
//! This crate never knows a backend, opens no connection and reads no file.

mod call_handler;
mod capability_directory;
mod compile;
mod deck_operation;
mod declarations;
mod envelope;
#[cfg(target_os = "linux")]
mod fork_packet;
mod limits;
mod pool;
mod protocol;
mod replay_moment;
mod report;
mod run;
mod settings;
mod worker;

pub use call_handler::{CallFailure, CallHandler, CallRequest, HandlerResponse};
pub use capability_directory::{CapabilityDirectory, ToolSchemas};
pub use deck_operation::DeckOperation;
pub use declarations::{
    CapabilityLine, ToolSignature, call_text, member_of, tool_text, tool_types, type_of,
};
pub use envelope::{
    CodeDiagnostic, CodeLocation, CodeSeverity, LogEntry, RunEnvelope, RunError, RunErrorCode,
    RunLogs, RunMetadata, SessionStatus,
};
pub use limits::SandboxLimits;
pub use pool::SandboxPool;
pub use protocol::WorkerIsolation;
pub use replay_moment::{EarlierRun, ReplayMoment};
pub use report::{CallOutcome, CallRecord, RunReport};
pub use run::{CellRun, DeterminismSettings, SessionChoice, SessionId, TimerPace, TypeCheck};
pub use settings::{SandboxSettings, WorkerCommand};
pub use worker::run_worker;
