//! Command-line actions as a connection: every call starts its own process and ends it.

pub(crate) mod placeholders;

use std::{borrow::Cow, time::Duration};

use async_trait::async_trait;
use capdeck_catalog::Discovery;
use capdeck_definition::{CliAction, CliOutputType, CliTools};
use indexmap::IndexMap;
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

pub(crate) use self::placeholders::CommandVariables;
use self::placeholders::fill;
use crate::{
    Artifact, CallContext, CallError, CallResult, Connection, ErrorCode, ToolCall,
    arguments::{no_such_tool, read_arguments},
    capture::{CapturedStream, MAX_INLINE, MAX_TOTAL},
    child_environment::{PassedVariables, child_environment},
    command_run::{CommandEnd, CommandOutcome, ReadyCommand},
    connect::ResolvedBackend,
    declared_tool::{DeclaredTool, ToolResult, declared_discovery},
    option_guard::OptionGuard,
    process::{ChildCommand, ProcessExit},
};

#[derive(Debug)]
pub(crate) struct CliConnection {
    prepared: ResolvedBackend<CliTools>,
    /// Cancelled when the connection is closed; running commands end with it.
    closed: CancellationToken,
    /// Set for the commands of a capability file.
    project: Option<CommandVariables>,
}

#[async_trait]
impl Connection for CliConnection {
    async fn discover(&self, _context: &CallContext) -> Result<Discovery, CallError> {
        let tools = self.prepared.block.actions.iter().map(|(name, action)| declare(name, action));
        declared_discovery(tools, &self.prepared.result_scrubber)
    }

    async fn call_tool(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult {
        self.call(call, context).await.map_err(|error| error.scrubbed(&self.prepared.log_scrubber))
    }

    fn ended(&self) -> Option<String> {
        self.closed.is_cancelled().then(|| "the connection was closed".to_owned())
    }

    async fn close(&self) {
        self.closed.cancel();
    }
}

impl CliConnection {
    /// A connection that also ends with this token.
    pub(crate) fn new(prepared: ResolvedBackend<CliTools>, cancel: &CancellationToken) -> Self {
        Self { prepared, closed: cancel.child_token(), project: None }
    }

    /// The commands of a capability file, whose block still holds its references.
    pub(crate) fn of_project(
        prepared: ResolvedBackend<CliTools>,
        project: CommandVariables,
        cancel: &CancellationToken,
    ) -> Self {
        Self { project: Some(project), ..Self::new(prepared, cancel) }
    }

    async fn call(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult {
        let tools = &self.prepared.block;
        let action = tools
            .actions
            .get(call.name)
            .ok_or_else(|| no_such_tool(call.name, tools.actions.keys()))?;
        let arguments = read_arguments(call.arguments)?;
        let declared_timeout = Duration::from_millis(action.timeout_ms.unwrap_or(tools.timeout_ms));
        let terms = CommandResultOptions {
            tool: call.name,
            timeout: context.timeout.unwrap_or(declared_timeout),
            max_output_bytes: action.max_output_bytes.unwrap_or(tools.max_output_bytes),
            output: action.output.map(|output| output.kind).unwrap_or_default(),
            style: if self.project.is_some() {
                CommandOutputStyle::Plain
            } else {
                CommandOutputStyle::Streams
            },
        };
        if let Some(failure) = self.prepare_tool(&terms, action, &arguments, context).await? {
            return Ok(failure);
        }
        let ready = match &self.project {
            Some(project) => project.ready(self, action, &arguments)?,
            None => ReadyCommand {
                command: self.command(action, &arguments)?,
                log_scrubber: self.prepared.log_scrubber.clone(),
                result_scrubber: self.prepared.result_scrubber.clone(),
            },
        };
        let running = self.prepared.run_command(&ready, &terms, context, &self.closed);
        let outcome = running.await?;
        answer(outcome, &terms).await
    }

    /// Runs a tool's `init` if it has one that never succeeded. What is returned tells the caller that it failed.
    async fn prepare_tool(
        &self,
        terms: &CommandResultOptions<'_>,
        action: &CliAction,
        arguments: &Map<String, Value>,
        context: &CallContext,
    ) -> Result<Option<Box<RawValue>>, CallError> {
        let (Some(project), Some(init)) = (&self.project, &action.init) else { return Ok(None) };
        let records = &self.prepared.surroundings.inits;
        let failed = |mut error: CallError| {
            error.message = format!("the initialisation of `{}`: {}", terms.tool, error.message);
            error
        };
        let (ready, key) =
            project.init(self, terms.tool, action, init, arguments).map_err(failed)?;
        if records.is_done(&key) {
            return Ok(None);
        }
        let turn = records.lock(&key).await;
        if let Err(error) = &turn {
            // Where nothing can be locked nothing can be kept either, and the tool is still wanted.
            tracing::warn!(%error, "another process may initialise `{}` at the same time", terms.tool);
        }
        if records.is_done(&key) {
            return Ok(None);
        }
        let running = self.prepared.run_command(&ready, terms, context, &self.closed);
        let outcome = running.await.map_err(failed)?;
        if matches!(outcome.ending, CommandEnd::Exited(exit) if exit.code == Some(0)) {
            if let Err(error) = records.mark_done(&key) {
                // It runs once more next time, which is better than not at all.
                tracing::warn!(%error, "it could not be kept that `{}` is initialised", terms.tool);
            }
            return Ok(None);
        }
        let terms = CommandResultOptions { style: CommandOutputStyle::Init, ..*terms };
        answer(outcome, &terms).await.map(Some).map_err(failed)
    }

    fn command(
        &self,
        action: &CliAction,
        arguments: &Map<String, Value>,
    ) -> Result<ChildCommand, CallError> {
        let tools = &self.prepared.block;
        let fill_all = |layer: &IndexMap<String, String>| {
            layer
                .iter()
                .map(|(name, value)| Ok((name.clone(), fill(value, arguments, None)?)))
                .collect::<Result<IndexMap<_, _>, CallError>>()
        };
        let layers = [fill_all(&tools.env)?, fill_all(&action.program.env)?];
        let configured = action.program.cwd.as_ref().or(tools.cwd.as_ref());
        let configured = configured.map(|cwd| fill(cwd, arguments, None)).transpose()?;
        let mut guard =
            OptionGuard::new(&action.program.command, action.schemas.input_schema.as_ref());
        let mut args = Vec::with_capacity(action.program.args.len());
        for word in &action.program.args {
            guard.pass_word(word);
            args.push(fill(word, arguments, Some(&guard))?);
        }
        let program = fill(&action.program.command, arguments, None)?;
        let passed = PassedVariables::of_command(&tools.pass_env, &program, &args);
        let host = &self.prepared.surroundings.settings.environment;
        Ok(ChildCommand {
            env: child_environment(host, &passed, &layers),
            program,
            args,
            folder: self.prepared.folder.resolve(configured.as_deref())?,
            ..ChildCommand::default()
        })
    }
}

pub(crate) fn declare<'a>(name: &'a str, action: &'a CliAction) -> DeclaredTool<'a> {
    DeclaredTool {
        name,
        description: action
            .text
            .description
            .clone()
            .unwrap_or_else(|| format!("Run `{}`", action.program.command)),
        hints: Some(&action.text),
        input_schema: action.schemas.input_schema.as_ref(),
        output_schema: action.schemas.output_schema.as_ref().map(Cow::Borrowed),
        annotations: action.annotations.map_or(Value::Null, |annotations| json!(annotations)),
        ..DeclaredTool::default()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandResultOptions<'a> {
    pub(crate) tool: &'a str,
    pub(crate) timeout: Duration,
    pub(crate) max_output_bytes: u64,
    pub(crate) output: CliOutputType,
    pub(crate) style: CommandOutputStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandOutputStyle {
    /// Standard output as it is.
    Streams,
    /// Standard output, else standard error, without one line break at the end.
    Plain,
    /// What kept a tool from being prepared.
    Init,
}

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
mod result_tests {
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
