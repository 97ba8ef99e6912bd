//! What the host and a worker process say to each other: length-prefixed JSON frames on a pipe.
//!
//! Values of scripts and answers of capabilities travel as raw JSON text and are parsed only by the engine.
//! The worker is not trusted: the host refuses frames beyond a size and does not believe what is in them.

use std::io;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    DeckOperation,
    call_out::CallFailure,
    envelope::{Diagnostic, LogEntry, RunError},
    limits::Limits,
    moment::{Moment, Repeat},
    run::Determinism,
};

/// Frames beyond this are never made by a worker that works.
pub(crate) const LARGEST_FRAME: usize = 64 << 20;

/// From the host to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// The first frame: what the process is for, and how much it may use at most.
    Start {
        role: Role,
        address_space: u64,
    },
    Run(Box<RunRequest>),
    /// The names that the code uses exist; go on. With the types of what the code declares, as far as they were found out.
    Proceed {
        types: Vec<(String, String)>,
    },
    /// They do not; the host says so itself.
    Refuse,
    Answer {
        id: u32,
        answer: WireAnswer,
    },
    /// The time of the run stands still, or goes on.
    Clock {
        stands: bool,
    },
    /// To a type checker only. The answer is `Checked`.
    Check(Box<CheckRequest>),
}

/// What a worker process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Runs the cells of one session.
    Session,
    /// Checks the types of anybody's cells, and runs none.
    TypeChecker,
}

/// One cell to check, with declarations of all it can use.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CheckRequest {
    pub(crate) code: String,
    /// Of the capabilities and tools that the cell names.
    pub(crate) capabilities: String,
    /// Of the names that earlier cells declared.
    pub(crate) session: String,
}

/// What a type check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checked {
    pub(crate) problems: Vec<TypeProblem>,
    /// Whether the cell asked not to be checked.
    pub(crate) unchecked: bool,
    /// The types of what the cell declares, by name.
    pub(crate) types: Vec<(String, String)>,
}

/// A place where types do not fit, with the compiler's own number for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TypeProblem {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// One cell to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunRequest {
    pub(crate) code: String,
    pub(crate) timeout_ms: u64,
    pub(crate) limits: Limits,
    pub(crate) determinism: Option<Determinism>,
    /// The run that this one repeats.
    pub(crate) repeat: Option<Repeat>,
    /// A JSON array of capability ids, handed to the script as it is.
    pub(crate) capabilities: String,
    /// Whether the host checks the types first, and so needs to know what the session has.
    pub(crate) type_check: bool,
}

/// The answer to one call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireAnswer {
    Done { data: Box<RawValue>, meta: Option<Box<RawValue>> },
    Failed { failure: CallFailure, meta: Option<Box<RawValue>> },
}

/// From the worker to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// Confined, engine started, waiting for code.
    Ready(Isolation),
    /// What the code names, to be checked before anything runs. The answer is `Proceed` or `Refuse`.
    Uses {
        uses: Vec<Use>,
        /// What a type check needs to know, if the host asked for it.
        session: Option<SessionTypes>,
    },
    Call {
        id: u32,
        capability: Option<String>,
        method: DeckOperation,
        args: Box<RawValue>,
        /// Filled in when the call is sent.
        so_far: Passed,
    },
    /// Sent at once, so that nothing is lost when the worker is killed.
    Log(LogEntry),
    Done(Box<Done>),
    /// What a type check found, or why it could not be made.
    Checked(Result<Checked, String>),
}

/// Which walls stand around a worker process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Isolation {
    pub resource_limits: bool,
    pub system_call_filter: bool,
    pub landlock: bool,
}

/// A place in the code where a capability is named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Use {
    pub(crate) capability: String,
    pub(crate) member: Option<Member>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// What is asked of a capability at that place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The tool named by a literal first argument of `callTool` or `describeTool`.
    pub(crate) tool: Option<String>,
    /// The arguments for the tool, when all of them are literals: JSON text.
    pub(crate) arguments: Option<String>,
}

impl Use {
    /// The tool that is named at this place: as a member of its own, or by its name in a call.
    pub(crate) fn tool(&self) -> Option<&str> {
        let member = self.member.as_ref()?;
        let is_method =
            DeckOperation::ON_CAPABILITY.iter().any(|method| method.script_name() == member.name);
        if is_method { member.tool.as_deref() } else { Some(&member.name) }
    }
}

/// What earlier cells of a session mean for the types of the next one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionTypes {
    /// Declarations of the session's names.
    pub(crate) declarations: String,
    /// Capabilities and tools whose types these may refer to.
    pub(crate) tools: Vec<(String, String)>,
}

/// How a cell ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) outcome: Result<Option<Box<RawValue>>, RunError>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Why the session cannot go on, if it cannot.
    pub(crate) closes: Option<String>,
    pub(crate) cpu_ms: f64,
    /// Log entries that did not fit.
    pub(crate) logs_dropped: u64,
    pub(crate) so_far: Passed,
}

/// What of a repeatable run has passed since the last frame that told so.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Passed {
    /// The moments of the answers that were taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) taken: Vec<Moment>,
    /// Timers that have fired in all.
    #[serde(default)]
    pub(crate) timers: u32,
}

/// A frame as bytes: four bytes of length, then JSON.
pub(crate) fn encode<T: Serialize>(frame: &T) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, frame)?;
    let length = u32::try_from(bytes.len() - 4)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"))?;
    bytes.splice(..4, length.to_le_bytes());
    Ok(bytes)
}

/// The length a frame announces, if it is acceptable.
pub(crate) fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head) as usize;
    if length > LARGEST_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    Ok(length)
}

/// The frame in these bytes.
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
            WireAnswer::Done { data: RawValue::from_string(data.into()).unwrap(), meta: None };
        let bytes = encode(&ToWorker::Answer { id: 7, answer }).unwrap();
        let head = bytes.first_chunk().copied().unwrap();
        assert_eq!(length(head).unwrap(), bytes.len() - 4);
        let ToWorker::Answer { id: 7, answer: WireAnswer::Done { data: read, .. } } =
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
