//! The protocol of the host and a worker process: length-prefixed JSON frames on a pipe.
//!
//! Script values and responses are raw JSON text, parsed only by the engine. The worker is not trusted: the host
//! limits frames and validates their content.

use std::io;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    DeckOperation,
    envelope::{CodeDiagnostic, CodeLocation, LogEntry, RunError},
    host_interface::CallFailure,
    run::{DeterminismSettings, EarlierRun, ReplayMoment},
    settings::SandboxLimits,
};

/// A correct worker never sends a larger frame.
pub(crate) const MAX_FRAME_BYTES: usize = 64 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HostMessage {
    Start {
        role: WorkerRole,
        address_space: u64,
    },
    Run(Box<RunRequest>),
    /// The names in the code exist; continue, with the inferred types of its declarations.
    Proceed(Vec<(String, String)>),
    /// They do not; the host reports it.
    Refuse,
    Answer {
        id: u32,
        answer: WireResponse,
    },
    /// Pauses the timeout of the run, or resumes it.
    SetPaused(bool),
    /// Only for a type checker, which replies with `TypeCheckResult`.
    Check(Box<CheckRequest>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WorkerRole {
    Session,
    /// Starts an engine, and forks a session from it for every [`ForkRequest`].
    ForkServer,
    /// Checks the types of all sessions' cells, and runs none.
    TypeChecker,
}

/// A packet to a fork server, which replies to each with a [`ForkResponse`] of the same number.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ForkRequest {
    pub(crate) number: u64,
    pub(crate) action: ForkAction,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum ForkAction {
    /// Fork a session that uses the socket sent along.
    Fork,
    /// Report how a session's process ended.
    Status { process: i32 },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ForkResponse {
    pub(crate) number: u64,
    pub(crate) outcome: ForkOutcome,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ForkOutcome {
    /// The process, whose handle is sent along.
    Forked(i32),
    Failed(String),
    /// The signal that ended the process, if one did.
    Ended(Option<i32>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CheckRequest {
    pub(crate) code: String,
    pub(crate) capabilities: String,
    pub(crate) session: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TypeCheckResult {
    pub(crate) problems: Vec<TypeProblem>,
    pub(crate) unchecked: bool,
    pub(crate) types: Vec<(String, String)>,
}

/// A type error, with the compiler's number for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TypeProblem {
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(flatten)]
    pub(crate) location: CodeLocation,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunRequest {
    pub(crate) code: String,
    pub(crate) timeout_ms: u64,
    pub(crate) limits: SandboxLimits,
    pub(crate) determinism: Option<DeterminismSettings>,
    pub(crate) repeat: Option<EarlierRun>,
    /// A JSON array of capability ids, passed to the script unchanged.
    pub(crate) capabilities: String,
    /// True when the host checks types first, and needs the types of the session.
    pub(crate) type_check: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireResponse {
    Done { data: Box<RawValue>, meta: Option<Box<RawValue>> },
    Failed { failure: CallFailure, meta: Option<Box<RawValue>> },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WorkerMessage {
    /// Confined, engine started, waiting for code.
    Ready(WorkerIsolation),
    /// The names in the code, to be checked before the run. The reply is `Proceed` or `Refuse`.
    Uses {
        uses: Vec<CapabilityUse>,
        /// The types for a check, if the host requested them.
        session: Option<SessionTypes>,
    },
    Call {
        id: u32,
        capability: Option<String>,
        method: DeckOperation,
        args: Box<RawValue>,
        /// Set when the call is sent.
        so_far: ReplayProgress,
    },
    /// Sent immediately, so that nothing is lost when the worker is killed.
    Log(LogEntry),
    Done(Box<CellResult>),
    Checked(Result<TypeCheckResult, String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkerIsolation {
    pub resource_limits: bool,
    pub system_call_filter: bool,
    pub landlock: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CapabilityUse {
    pub(crate) capability: String,
    pub(crate) member: Option<MemberUse>,
    pub(crate) location: CodeLocation,
    /// True when the code allows for the capability not to exist: it asks first, or catches the error.
    pub(crate) guarded: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemberUse {
    pub(crate) name: String,
    pub(crate) location: CodeLocation,
    /// The tool named by a literal first argument of `callTool` or `describeTool`.
    pub(crate) tool: Option<String>,
    /// The literal arguments of the tool, as JSON text.
    pub(crate) arguments: Option<String>,
}

impl CapabilityUse {
    /// Returns the tool of a use: a member, or a name in a call.
    pub(crate) fn tool(&self) -> Option<&str> {
        let member = self.member.as_ref()?;
        let is_method =
            DeckOperation::ON_CAPABILITY.iter().any(|method| method.script_name() == member.name);
        if is_method { member.tool.as_deref() } else { Some(&member.name) }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionTypes {
    pub(crate) declarations: String,
    /// Capabilities and tools whose types these may refer to.
    pub(crate) tools: Vec<(String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellResult {
    pub(crate) outcome: Result<Option<Box<RawValue>>, RunError>,
    pub(crate) diagnostics: Vec<CodeDiagnostic>,
    /// The reason the session ends, if it does.
    pub(crate) closes: Option<String>,
    /// False when the next cell would find nothing of this session.
    pub(crate) keeps_state: bool,
    pub(crate) cpu_ms: f64,
    pub(crate) logs_dropped: u64,
    pub(crate) so_far: ReplayProgress,
}

/// The progress of a repeatable run since the last report.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReplayProgress {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) taken: Vec<ReplayMoment>,
    #[serde(default)]
    pub(crate) timers: u32,
}

/// Encodes a frame: four bytes of length, then JSON.
pub(crate) fn encode<T: Serialize>(frame: &T) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, frame)?;
    let length = u32::try_from(bytes.len() - 4)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"))?;
    bytes.splice(..4, length.to_le_bytes());
    Ok(bytes)
}

pub(crate) fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head) as usize;
    if length > MAX_FRAME_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    Ok(length)
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_json_passes_through_a_frame_unchanged() {
        let data = r#"{"b":1,  "a":[1.50,"\u00e9"]}"#;
        let answer =
            WireResponse::Done { data: RawValue::from_string(data.into()).unwrap(), meta: None };
        let bytes = encode(&HostMessage::Answer { id: 7, answer }).unwrap();
        let head = bytes.first_chunk().copied().unwrap();
        assert_eq!(length(head).unwrap(), bytes.len() - 4);
        let HostMessage::Answer { id: 7, answer: WireResponse::Done { data: read, .. } } =
            decode(bytes.get(4..).unwrap()).unwrap()
        else {
            panic!("another frame came out");
        };
        assert_eq!(read.get(), data);
    }

    #[test]
    fn an_absurd_length_is_refused() {
        assert!(length(u32::MAX.to_le_bytes()).is_err());
    }
}
