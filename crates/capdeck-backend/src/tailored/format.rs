//! Formats a result's text with a program. On any failure the result stays unchanged.

use std::time::Duration;

use capdeck_catalog::RawMembers;
use capdeck_definition::capability_file::{ResultFormatter, command_line};
use serde::Deserialize;
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};

use super::TailoredConnection;
use crate::{
    CallContext,
    child_environment::child_environment,
    filter_run::run_filter,
    process::{ChildCommand, StderrTarget, StdinMode},
};

/// A formatter makes results smaller; a larger output is a failure.
const MAX_OUTPUT_BYTES: u64 = 8 * 1024 * 1024;

impl TailoredConnection {
    pub(super) async fn format(
        &self,
        formatter: &ResultFormatter,
        result: Box<RawValue>,
        context: &CallContext,
    ) -> Box<RawValue> {
        let Some(input) = text_of(&result) else { return result };
        let Some((program, args)) = split_formatter_command(&formatter.cmd) else { return result };
        let log = self.surroundings.logs.of(&self.log_name);
        let command = ChildCommand {
            program,
            args,
            env: child_environment(&self.surroundings.environment, []),
            folder: Some(self.folder.clone()),
            input: StdinMode::Piped,
            errors: StderrTarget::Log { log: log.clone(), scrubber: Default::default() },
        };
        let longest = Duration::from_millis(formatter.timeout_ms);
        let formatted = tokio::select! {
            formatted = run_filter(&self.surroundings.spawner, &command, &input, longest, MAX_OUTPUT_BYTES) => formatted,
            () = context.cancel.cancelled() => return result,
        };
        match formatted {
            Ok(text) => with_text(&result, &text).unwrap_or(result),
            Err(error) => {
                log.push(format!("the formatter `{}` failed: {error}", command.program));
                result
            }
        }
    }
}

/// Returns the program and its arguments. A line that needs a shell is run by one: the line is from a trusted file,
/// and the result is only on standard input.
fn split_formatter_command(line: &str) -> Option<(String, Vec<String>)> {
    if command_line::needs_shell(line) {
        return Some(("sh".to_owned(), vec!["-c".to_owned(), line.to_owned()]));
    }
    let mut words = command_line::split(line).ok()?.into_iter();
    Some((words.next()?, words.collect()))
}

/// Returns the text of a result, or its content as JSON when it is not only text. `None` for an error or an
/// unfinished result.
fn text_of(result: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct ResultContent<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    #[derive(Deserialize)]
    struct ResultBlock {
        #[serde(rename = "type")]
        kind: String,
        text: Option<String>,
    }
    let shape: ResultContent<'_> = serde_json::from_str(result.get()).ok()?;
    let content = shape.content.filter(|_| !shape.is_error)?;
    let blocks: Vec<ResultBlock> = serde_json::from_str(content.get()).ok()?;
    let texts: Option<Vec<String>> =
        blocks.into_iter().map(|block| block.text.filter(|_| block.kind == "text")).collect();
    Some(match texts {
        Some(texts) => texts.join("\n"),
        None => content.get().to_owned(),
    })
}

/// Replaces the content of a result. The structured content, which programs read, stays.
fn with_text(result: &RawValue, text: &str) -> Option<Box<RawValue>> {
    let mut members: RawMembers = serde_json::from_str(result.get()).ok()?;
    let content = to_raw_value(&json!([{ "type": "text", "text": text }])).ok()?;
    members.insert("content".to_owned(), content);
    to_raw_value(&members).ok()
}
