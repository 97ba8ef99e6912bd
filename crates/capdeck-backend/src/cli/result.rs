//! How the end of a command is told: a call result, or an error with what was printed so far.

use std::time::Duration;

use capdeck_definition::CliOutputType;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    Artifact, CallError, ErrorCode,
    capture::{CapturedStream, MAX_INLINE, MAX_TOTAL},
    command_run::{CommandEnd, CommandOutcome},
    declared_tool::ToolResult,
    process::ProcessExit,
};

/// What the answer depends on beside the outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandResultOptions<'a> {
    pub(crate) tool: &'a str,
    pub(crate) timeout: Duration,
    pub(crate) max_output_bytes: u64,
    pub(crate) output: CliOutputType,
    pub(crate) style: CommandOutputStyle,
}

/// How the text of an answer is made of the streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandOutputStyle {
    /// Standard output as it is.
    Streams,
    /// Standard output, else standard error, without one line break at the end.
    Plain,
    /// What kept a tool from being prepared.
    Init,
}

/// The answer to a call.
pub(crate) async fn answer(
    outcome: CommandOutcome,
    terms: &CommandResultOptions<'_>,
) -> Result<Box<RawValue>, CallError> {
    let limit = terms.max_output_bytes.min(MAX_INLINE);
    let (stdout_share, stderr_share) =
        shares(outcome.stdout.total(), outcome.stderr.total(), limit);
    let printed = CommandStreams {
        stdout: outcome.stdout.text(stdout_share),
        stderr: outcome.stderr.text(stderr_share),
        elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
    };
    let tool = terms.tool;
    match outcome.ending {
        CommandEnd::Exited(exit) => {
            let stdout = OutputStream { captured: outcome.stdout, share: stdout_share };
            let stderr = OutputStream { captured: outcome.stderr, share: stderr_share };
            printed.result(exit, terms, stdout, stderr).await
        }
        CommandEnd::TimedOut => Err(printed.error(
            ErrorCode::ToolCallTimeout,
            format!("`{tool}` did not end within {} ms and was ended", terms.timeout.as_millis()),
            "raise `timeoutMs`, or ask for less at once",
        )),
        CommandEnd::Cancelled => Err(printed.error(
            ErrorCode::Cancelled,
            format!("`{tool}` was cancelled and ended"),
            "call it again if the answer is still wanted",
        )),
        CommandEnd::TooMuchOutput => Err(printed.error(
            ErrorCode::ContentTooLarge,
            format!("`{tool}` wrote more than {} MiB and was ended", MAX_TOTAL / (1024 * 1024)),
            "ask for less at once",
        )),
    }
}

/// How much of each stream fits: half each, and what one does not need goes to the other.
fn shares(stdout: u64, stderr: u64, limit: u64) -> (u64, u64) {
    let half = limit / 2;
    if stderr <= half {
        (stdout.min(limit - stderr), stderr)
    } else if stdout <= half {
        (stdout, stderr.min(limit - stdout))
    } else {
        (stdout.min(limit - half), stderr.min(half))
    }
}

struct CommandStreams {
    stdout: String,
    stderr: String,
    elapsed_ms: u64,
}

struct OutputStream {
    captured: CapturedStream,
    share: u64,
}

impl OutputStream {
    fn is_cut(&self) -> bool {
        self.captured.total() > self.share
    }
}

impl CommandStreams {
    fn error(self, code: ErrorCode, message: String, hint: &str) -> CallError {
        CallError::new(code, message).hint(hint).data(json!({
            "stdout": self.stdout,
            "stderr": self.stderr,
            "elapsedMs": self.elapsed_ms,
        }))
    }

    async fn result(
        self,
        exit: ProcessExit,
        terms: &CommandResultOptions<'_>,
        stdout: OutputStream,
        stderr: OutputStream,
    ) -> Result<Box<RawValue>, CallError> {
        let mut structured = Map::new();
        structured.insert("exitCode".into(), exit.code.into());
        structured.insert("stdout".into(), self.stdout.as_str().into());
        structured.insert("stderr".into(), self.stderr.as_str().into());
        structured.insert("elapsedMs".into(), self.elapsed_ms.into());
        if let Some(signal) = exit.signal_name() {
            structured.insert("signal".into(), signal.into());
        }
        let mut is_error = exit.code != Some(0);
        let mut text = match (is_error, terms.style) {
            (true, CommandOutputStyle::Init) => {
                let failure = self.failure_text(exit);
                format!(
                    "the initialisation of `{}` failed, and is tried again with the next call: {failure}",
                    terms.tool
                )
            }
            (true, CommandOutputStyle::Streams | CommandOutputStyle::Plain) => {
                self.failure_text(exit)
            }
            (false, CommandOutputStyle::Plain) => self.plain_text().to_owned(),
            (false, CommandOutputStyle::Streams | CommandOutputStyle::Init) => self.stdout.clone(),
        };
        if terms.output == CliOutputType::Json && !self.stdout.trim().is_empty() {
            match read_json(&stdout) {
                Ok(value) => drop(structured.insert("json".into(), value)),
                Err(problem) => {
                    if !is_error && !stdout.is_cut() {
                        is_error = true;
                        text = format!("{problem}\n\n{text}");
                    }
                    structured.insert("jsonParseError".into(), problem.into());
                }
            }
        }
        let mut artifacts = Vec::new();
        for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
            if stream.is_cut() {
                let note = keep(name, stream, &mut structured, &mut artifacts).await;
                text = format!("{text}\n\n[{note}]");
            }
        }
        ToolResult { text, artifacts, structured: Some(structured), is_error, meta: Map::new() }
            .build()
    }

    fn plain_text(&self) -> &str {
        let text = if self.stdout.is_empty() { &self.stderr } else { &self.stdout };
        text.strip_suffix('\n').unwrap_or(text)
    }

    fn failure_text(&self, exit: ProcessExit) -> String {
        failure_text(exit, &self.stdout, &self.stderr)
    }
}

/// How a command failed, and what it said.
pub(crate) fn failure_text(exit: ProcessExit, stdout: &str, stderr: &str) -> String {
    let mut text = exit.to_string();
    for stream in [stderr, stdout] {
        if !stream.trim().is_empty() {
            text = format!("{text}\n\n{}", stream.trim_end());
        }
    }
    text
}

/// Keeps a cut stream as an artifact and says so. `artifact` is the first one, as clients know it.
async fn keep(
    name: &str,
    stream: OutputStream,
    structured: &mut Map<String, Value>,
    artifacts: &mut Vec<Artifact>,
) -> String {
    let (shown, total) = (stream.share, stream.captured.total());
    let kept = stream.captured.keep().await;
    structured.insert("truncated".into(), true.into());
    match kept {
        Ok(artifact) => {
            let note =
                format!("{name} cut at {shown} of {total} bytes; all of it: {}", artifact.uri);
            let key = if artifacts.is_empty() { "artifact" } else { "stderrArtifact" };
            structured.insert(key.into(), json!(artifact));
            artifacts.push(artifact);
            note
        }
        Err(error) => {
            tracing::warn!(%error, "the whole output could not be kept");
            format!("{name} cut at {shown} of {total} bytes; the rest could not be kept")
        }
    }
}

fn read_json(stdout: &OutputStream) -> Result<Value, String> {
    if stdout.is_cut() {
        return Err("the output is too long to be read as JSON here".to_owned());
    }
    serde_json::from_slice(stdout.captured.head())
        .map_err(|error| format!("standard output is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_the_limit_fairly() {
        for (stdout, stderr, expected) in [
            (10, 10, (10, 10)),
            (100, 0, (100, 0)),
            (200, 0, (100, 0)),
            (200, 20, (80, 20)),
            (20, 200, (20, 80)),
            (200, 200, (50, 50)),
            (60, 60, (50, 50)),
        ] {
            assert_eq!(shares(stdout, stderr, 100), expected, "{stdout} {stderr}");
        }
    }
}
