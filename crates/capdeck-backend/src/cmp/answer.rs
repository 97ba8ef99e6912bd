//! The answer of a CMP command: JSON on standard output is the structured answer itself.

use capdeck_definition::{CMP_RESULT, CmpIntent};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    CallError,
    cli::result::{CommandResultOptions, answer as ended_early, failure_text},
    command_run::{CommandEnd, CommandOutcome},
    tool_result::ToolResult,
};

/// The answer to a call.
pub(super) async fn answer(
    outcome: CommandOutcome,
    intent: &CmpIntent,
    terms: &CommandResultOptions<'_>,
) -> Result<Box<RawValue>, CallError> {
    let CommandEnd::Exited(exit) = outcome.ending else {
        return ended_early(outcome, terms).await;
    };
    let stdout = outcome.stdout.text(terms.max_output_bytes);
    let mut result = ToolResult { text: stdout, ..ToolResult::default() };
    if exit.code != Some(0) {
        let stderr = outcome.stderr.text(terms.max_output_bytes);
        result.text = failure_text(exit, &result.text, &stderr);
        result.is_error = true;
        return result.build();
    }
    let (shown, total) = (result.text.len() as u64, outcome.stdout.total());
    let read = if total > terms.max_output_bytes {
        Err("it is too long to be read here".to_owned())
    } else {
        serde_json::from_slice(outcome.stdout.head()).map_err(|error| error.to_string())
    };
    if total > terms.max_output_bytes {
        let note = match outcome.stdout.keep().await {
            Ok(artifact) => {
                let note = format!("cut at {shown} of {total} bytes; all of it: {}", artifact.uri);
                result.artifacts.push(artifact);
                note
            }
            Err(error) => {
                tracing::warn!(%error, "the whole output could not be kept");
                format!("cut at {shown} of {total} bytes; the rest could not be kept")
            }
        };
        result.text = format!("{}\n\n[{note}]", result.text);
    }
    match read {
        Ok(value) => result.structured = Some(structured(value, intent)),
        // Clients hold a good answer against the schema that `returns` is; without JSON there is nothing to hold.
        Err(problem) if intent.returns.is_some() => {
            let tool = terms.tool;
            result.is_error = true;
            result.text = format!(
                "`{tool}` ran and ended well, but its output is not the JSON that `returns` promises: {problem}\n\n{}",
                result.text
            );
        }
        Err(_) => {}
    }
    result.build()
}

/// An object as it is, unless the tool says that it answers something else; anything else as a member of one.
fn structured(value: Value, intent: &CmpIntent) -> Map<String, Value> {
    match value {
        Value::Object(members) if intent.returns.is_none() || intent.answers_an_object() => members,
        other => Map::from_iter([(CMP_RESULT.to_owned(), other)]),
    }
}
