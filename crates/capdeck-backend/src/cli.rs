//! Command-line actions as a connection: every call starts its own process and ends it.

pub(crate) mod placeholders;
pub(crate) mod result;

use std::time::Duration;

use async_trait::async_trait;
use capdeck_catalog::Discovery;
use capdeck_definition::{CliAction, CliTools};
use indexmap::IndexMap;
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

pub(crate) use self::placeholders::CommandVariables;
use self::{
    placeholders::{fill, fill_word},
    result::{CommandOutputStyle, CommandResultOptions, answer},
};
use crate::{
    CallContext, CallError, CallResult, Connection, ToolCall,
    arguments::{no_such_tool, read_arguments},
    child_environment::child_environment,
    command_run::{CommandEnd, ReadyCommand},
    connect::ResolvedBackend,
    declared_tool::{DeclaredTool, declared_discovery},
    option_guard::OptionGuard,
    process::ChildCommand,
};

/// The commands of one capability.
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
                .map(|(name, value)| Ok((name.clone(), fill(value, arguments)?)))
                .collect::<Result<IndexMap<_, _>, CallError>>()
        };
        let layers = [fill_all(&tools.env)?, fill_all(&action.env)?];
        let configured = action.cwd.as_ref().or(tools.cwd.as_ref());
        let configured = configured.map(|cwd| fill(cwd, arguments)).transpose()?;
        let mut guard = OptionGuard::new(&action.command, action.input_schema.as_ref());
        Ok(ChildCommand {
            program: fill(&action.command, arguments)?,
            args: action
                .args
                .iter()
                .map(|arg| fill_word(arg, arguments, &mut guard))
                .collect::<Result<_, _>>()?,
            env: child_environment(&self.prepared.surroundings.environment, &layers),
            folder: self.prepared.folder.resolve(configured.as_deref())?,
            ..ChildCommand::default()
        })
    }
}

pub(crate) fn declare<'a>(name: &'a str, action: &'a CliAction) -> DeclaredTool<'a> {
    DeclaredTool {
        name,
        description: action
            .description
            .clone()
            .unwrap_or_else(|| format!("Run `{}`", action.command)),
        use_when: action.use_when.as_ref(),
        avoid_when: action.avoid_when.as_ref(),
        input_schema: action.input_schema.as_ref(),
        output_schema: action.output_schema.as_ref(),
        annotations: action.annotations.map_or(Value::Null, |annotations| json!(annotations)),
        ..DeclaredTool::default()
    }
}
