//! Converts a thrown value to an error for the author.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{engine::CellHistory, run_meter::StopReason};
use crate::{
    DeckOperation,
    envelope::{CodeLocation, RunError, RunErrorCode},
    settings::SandboxLimits,
};

const MAX_SHOWN_FRAMES: usize = 5;

const MAX_MESSAGE_LENGTH: usize = 4_000;

/// Globals of other JavaScript environments.
const FOREIGN_GLOBALS: [&str; 14] = [
    "process",
    "require",
    "module",
    "exports",
    "Deno",
    "Bun",
    "window",
    "document",
    "navigator",
    "XMLHttpRequest",
    "WebSocket",
    "localStorage",
    "__dirname",
    "fs",
];

#[derive(Debug, Deserialize)]
pub(super) struct ThrownError {
    kind: String,
    name: String,
    message: String,
    stack: String,
    #[serde(default)]
    details: Option<Value>,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    cause: Option<String>,
}

impl ThrownError {
    /// Returns whether the heap was full; such a session ends.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.name == "InternalError" && self.message.contains("out of memory")
    }

    pub(super) fn into_error(self, cells: &CellHistory, limits: &SandboxLimits) -> RunError {
        let (location, stack_preview) = trace(&self.stack, cells);
        let mut error = self.classified(limits);
        error.message = shorten(&error.message);
        error.location = location;
        error.stack_preview = stack_preview;
        error
    }

    fn classified(self, limits: &SandboxLimits) -> RunError {
        let name = self.name.as_str();
        let named = if name.is_empty() || name == "Error" {
            self.message.clone()
        } else {
            format!("{name}: {}", self.message)
        };
        if self.is_out_of_memory() {
            return out_of_memory(limits);
        }
        let mut error = match self.kind.as_str() {
            "value" => RunError::new(RunErrorCode::Serialization, self.message),
            "large" => RunError::new(RunErrorCode::ContentTooLarge, self.message),
            "limit" => RunError::new(RunErrorCode::Limit, self.message),
            "forbidden" => RunError::new(RunErrorCode::ForbiddenGlobal, self.message),
            "call" => RunError::new(RunErrorCode::Bridge, self.message),
            "method" => RunError::new(RunErrorCode::TypeError, self.message).hint(method_list()),
            "thrown" => RunError::new(
                RunErrorCode::Script,
                format!("the script threw a value that is not an Error: {}", self.message),
            ),
            _ if name == "RangeError" && self.message.contains("call stack") => RunError::new(
                RunErrorCode::Limit,
                "the script called functions too deeply: the stack is full",
            )
            .hint("replace the recursion by a loop"),
            _ if name == "ReferenceError" => {
                let missing = self.message.split(' ').next().unwrap_or_default();
                let missing = missing.trim_matches(['\'', '`']);
                if FOREIGN_GLOBALS.contains(&missing) {
                    RunError::new(
                        RunErrorCode::ForbiddenGlobal,
                        format!("`{missing}` does not exist in code mode"),
                    )
                    .hint("scripts have no files, network, environment or modules: use `caplets`")
                } else {
                    RunError::new(RunErrorCode::ReferenceError, named)
                }
            }
            _ if name == "TypeError" => RunError::new(RunErrorCode::TypeError, named),
            _ => RunError::new(RunErrorCode::Script, named),
        };
        if let Some(hint) = self.hint {
            error.hint = Some(hint);
        }
        error.details = self.details;
        if let Some(cause) = self.cause {
            let details = error.details.get_or_insert_with(|| json!({}));
            if let Some(members) = details.as_object_mut() {
                members.insert("cause".to_owned(), Value::from(cause));
            }
        }
        error
    }
}

fn method_list() -> String {
    let names: Vec<&str> =
        DeckOperation::ON_CAPABILITY.into_iter().map(DeckOperation::script_name).collect();
    format!("a handle has: {}", names.join(", "))
}

pub(super) fn out_of_memory(limits: &SandboxLimits) -> RunError {
    let message = format!("the script needed more than {} MiB of memory", limits.heap_bytes >> 20);
    RunError::new(RunErrorCode::Limit, message)
        .hint("keep less at once: page through results and keep only the fields that are needed")
}

pub(super) fn interrupted(stop: StopReason, timeout_ms: u64, limits: &SandboxLimits) -> RunError {
    match stop {
        StopReason::Wall => RunError::new(
            RunErrorCode::Timeout,
            format!("the run took longer than {timeout_ms} ms"),
        )
        .hint("do less in one run, or ask for a longer `timeoutMs`"),
        StopReason::Cpu => RunError::new(
            RunErrorCode::Timeout,
            format!("the script computed for longer than {} ms", limits.cpu.as_millis()),
        )
        .hint("waiting for calls does not count: look for a loop that does not end"),
    }
}

/// Returns the source position of the first frame, and the first frames with source positions.
pub(super) fn trace(stack: &str, cells: &CellHistory) -> (Option<CodeLocation>, Option<String>) {
    let mut first = None;
    let mut shown = Vec::new();
    for frame in stack.lines().filter_map(|line| frame(line, cells)) {
        first = first.or(Some(frame.location));
        if shown.len() < MAX_SHOWN_FRAMES {
            let CodeLocation { line, column } = frame.location;
            let whose = if frame.is_earlier { " of an earlier cell" } else { "" };
            shown.push(format!("at {} (line {line}, column {column}{whose})", frame.function));
        }
    }
    (first, (!shown.is_empty()).then(|| shown.join("\n")))
}

struct StackFrame<'a> {
    function: &'a str,
    location: CodeLocation,
    is_earlier: bool,
}

/// Parses a line such as `    at name (cell-3.ts:4:15)`; lines of the prelude have other file names.
fn frame<'a>(line: &'a str, cells: &CellHistory) -> Option<StackFrame<'a>> {
    let (before, rest) = line.split_once("cell-")?;
    let (number, rest) = rest.split_once(".ts:")?;
    let mut places = rest.trim_end_matches(')').split(':');
    let line: u32 = places.next()?.parse().ok()?;
    let column: u32 = places.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let number: usize = number.parse().ok()?;
    let location = cells.positions(number)?.source(line, column)?;
    let function = before.trim().trim_start_matches("at").trim().trim_end_matches('(').trim();
    let function = if function.is_empty() || function == "<eval>" || function == "<anonymous>" {
        "the cell"
    } else {
        function
    };
    Some(StackFrame { function, location, is_earlier: cells.is_earlier(number) })
}

fn shorten(message: &str) -> String {
    if message.len() <= MAX_MESSAGE_LENGTH {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(MAX_MESSAGE_LENGTH);
    format!("{}…", message.get(..end).unwrap_or_default())
}
