//! How the end of a command is told: a call result, or an error with what was printed so far.

use std::time::Duration;

use capdeck_definition::CliOutputType;
use serde_json::{Map, Value, json};

use crate::{
    Artifact, CallError, CallResult, ErrorCode,
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
) -> CallResult {
    let CommandOutcome { ending, stdout, stderr, elapsed } = outcome;
    let limit = terms.max_output_bytes.min(MAX_INLINE);
    let (stdout_share, stderr_share) = shares(stdout.total(), stderr.total(), limit);
    let (printed, errors) = (stdout.text(stdout_share), stderr.text(stderr_share));
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let tool = terms.tool;
    let (code, message, hint) = match ending {
        CommandEnd::Exited(exit) => {
            let mut structured = Map::from_iter([
                ("exitCode".into(), exit.code.into()),
                ("stdout".into(), printed.as_str().into()),
                ("stderr".into(), errors.as_str().into()),
                ("elapsedMs".into(), elapsed_ms.into()),
            ]);
            structured.extend(exit.signal_name().map(|name| ("signal".into(), name.into())));
            let (is_error, text) = result_text(exit, terms, &printed, &errors);
            let mut result = ToolResult { text, is_error, ..ToolResult::default() };
            let is_cut = stdout.total() > stdout_share;
            if terms.output == CliOutputType::Json && !printed.trim().is_empty() {
                match read_json(&stdout, is_cut) {
                    Ok(value) => drop(structured.insert("json".into(), value)),
                    Err(problem) => {
                        if !is_error && !is_cut {
                            result.is_error = true;
                            result.text = format!("{problem}\n\n{}", result.text);
                        }
                        structured.insert("jsonParseError".into(), problem.into());
                    }
                }
            }
            let streams = [("stdout ", stdout, stdout_share), ("stderr ", stderr, stderr_share)];
            for (name, stream, share) in streams {
                if stream.total() > share {
                    let note = keep(name, share, stream, &mut result.artifacts).await;
                    structured.insert("truncated".into(), true.into());
                    result.text = format!("{}\n\n[{note}]", result.text);
                }
            }
            // `artifact` is the first one, as clients know it.
            for (key, artifact) in ["artifact", "stderrArtifact"].iter().zip(&result.artifacts) {
                structured.insert((*key).into(), json!(artifact));
            }
            result.structured = Some(structured);
            return result.build();
        }
        CommandEnd::TimedOut => (
            ErrorCode::ToolCallTimeout,
            format!("`{tool}` did not end within {} ms and was ended", terms.timeout.as_millis()),
            "raise `timeoutMs`, or ask for less at once",
        ),
        CommandEnd::Cancelled => (
            ErrorCode::Cancelled,
            format!("`{tool}` was cancelled and ended"),
            "call it again if the answer is still wanted",
        ),
        CommandEnd::TooMuchOutput => (
            ErrorCode::ContentTooLarge,
            format!("`{tool}` wrote more than {} MiB and was ended", MAX_TOTAL / (1024 * 1024)),
            "ask for less at once",
        ),
    };
    let data = json!({"stdout": printed, "stderr": errors, "elapsedMs": elapsed_ms});
    Err(CallError::new(code, message).hint(hint).data(data))
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

/// Whether a command failed, and the text of its answer.
fn result_text(
    exit: ProcessExit,
    terms: &CommandResultOptions<'_>,
    stdout: &str,
    stderr: &str,
) -> (bool, String) {
    let failure = (exit.code != Some(0)).then(|| failure_text(exit, stdout, stderr));
    let text = match (&failure, terms.style) {
        (Some(failure), CommandOutputStyle::Init) => format!(
            "the initialisation of `{}` failed, and is tried again with the next call: {failure}",
            terms.tool
        ),
        (Some(failure), CommandOutputStyle::Streams | CommandOutputStyle::Plain) => failure.clone(),
        (None, CommandOutputStyle::Plain) => {
            let text = if stdout.is_empty() { stderr } else { stdout };
            text.strip_suffix('\n').unwrap_or(text).to_owned()
        }
        (None, CommandOutputStyle::Streams | CommandOutputStyle::Init) => stdout.to_owned(),
    };
    (failure.is_some(), text)
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

/// Keeps a cut stream as an artifact and says so.
pub(crate) async fn keep(
    name: &str,
    shown: u64,
    stream: CapturedStream,
    artifacts: &mut Vec<Artifact>,
) -> String {
    let total = stream.total();
    let place = match stream.keep().await {
        Ok(artifact) => {
            artifacts.push(artifact.clone());
            format!("all of it: {}", artifact.uri)
        }
        Err(error) => {
            tracing::warn!(%error, "the whole output could not be kept");
            "the rest could not be kept".to_owned()
        }
    };
    format!("{name}cut at {shown} of {total} bytes; {place}")
}

fn read_json(stdout: &CapturedStream, is_cut: bool) -> Result<Value, String> {
    if is_cut {
        return Err("the output is too long to be read as JSON here".to_owned());
    }
    serde_json::from_slice(stdout.head())
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
