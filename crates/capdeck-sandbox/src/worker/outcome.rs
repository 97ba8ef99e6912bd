//! Converts a thrown value to an error for the author.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{engine::Cells, meter::Stop};
use crate::{
    DeckOperation,
    envelope::{ErrorCode, Location, RunError},
    limits::Limits,
};

const SHOWN_FRAMES: usize = 5;

const LONGEST_MESSAGE: usize = 4_000;

/// Globals of other JavaScript environments.
const ELSEWHERE: [&str; 14] = [
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
pub(super) struct Thrown {
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

impl Thrown {
    /// Returns whether the heap was full; such a session ends.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.name == "InternalError" && self.message.contains("out of memory")
    }

    pub(super) fn into_error(self, cells: &Cells, limits: &Limits) -> RunError {
        let (location, stack_preview) = trace(&self.stack, cells);
        let mut error = self.classified(limits);
        error.message = shorten(&error.message);
        error.location = location;
        error.stack_preview = stack_preview;
        error
    }

    fn classified(self, limits: &Limits) -> RunError {
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
            "value" => RunError::new(ErrorCode::Serialization, self.message),
            "large" => RunError::new(ErrorCode::ContentTooLarge, self.message),
            "limit" => RunError::new(ErrorCode::Limit, self.message),
            "forbidden" => RunError::new(ErrorCode::ForbiddenGlobal, self.message),
            "call" => RunError::new(ErrorCode::Bridge, self.message),
            "capability" => RunError::new(ErrorCode::TypeError, self.message).hint(
                "`Object.keys(caplets)` lists them, `await caplets.search(\"…\")` searches them",
            ),
            "method" => RunError::new(ErrorCode::TypeError, self.message).hint(method_list()),
            "thrown" => RunError::new(
                ErrorCode::Script,
                format!("the script threw a value that is not an Error: {}", self.message),
            ),
            _ if name == "RangeError" && self.message.contains("call stack") => RunError::new(
                ErrorCode::Limit,
                "the script called functions too deeply: the stack is full",
            )
            .hint("replace the recursion by a loop"),
            _ if name == "ReferenceError" => {
                let missing = self.message.split(' ').next().unwrap_or_default();
                let missing = missing.trim_matches(['\'', '`']);
                if ELSEWHERE.contains(&missing) {
                    RunError::new(
                        ErrorCode::ForbiddenGlobal,
                        format!("`{missing}` does not exist in code mode"),
                    )
                    .hint("scripts have no files, network, environment or modules: use `caplets`")
                } else {
                    RunError::new(ErrorCode::ReferenceError, named)
                }
            }
            _ if name == "TypeError" => RunError::new(ErrorCode::TypeError, named),
            _ => RunError::new(ErrorCode::Script, named),
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

pub(super) fn out_of_memory(limits: &Limits) -> RunError {
    let message = format!("the script needed more than {} MiB of memory", limits.heap_bytes >> 20);
    RunError::new(ErrorCode::Limit, message)
        .hint("keep less at once: page through results and keep only the fields that are needed")
}

pub(super) fn interrupted(stop: Stop, timeout_ms: u64, limits: &Limits) -> RunError {
    match stop {
        Stop::Wall => {
            RunError::new(ErrorCode::Timeout, format!("the run took longer than {timeout_ms} ms"))
                .hint("do less in one run, or ask for a longer `timeoutMs`")
        }
        Stop::Cpu => RunError::new(
            ErrorCode::Timeout,
            format!("the script computed for longer than {} ms", limits.cpu.as_millis()),
        )
        .hint("waiting for calls does not count: look for a loop that does not end"),
    }
}

/// Returns the source position of the first frame, and the first frames with source positions.
pub(super) fn trace(stack: &str, cells: &Cells) -> (Option<Location>, Option<String>) {
    let mut first = None;
    let mut shown = Vec::new();
    for frame in stack.lines().filter_map(|line| frame(line, cells)) {
        first = first.or(Some(frame.location));
        if shown.len() < SHOWN_FRAMES {
            let Location { line, column } = frame.location;
            let whose = if frame.is_earlier { " of an earlier cell" } else { "" };
            shown.push(format!("at {} (line {line}, column {column}{whose})", frame.function));
        }
    }
    (first, (!shown.is_empty()).then(|| shown.join("\n")))
}

struct Frame<'a> {
    function: &'a str,
    location: Location,
    is_earlier: bool,
}

/// Parses a line such as `    at name (cell-3.ts:4:15)`; lines of the prelude have other file names.
fn frame<'a>(line: &'a str, cells: &Cells) -> Option<Frame<'a>> {
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
    Some(Frame { function, location, is_earlier: cells.is_earlier(number) })
}

fn shorten(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE);
    format!("{}…", message.get(..end).unwrap_or_default())
}
