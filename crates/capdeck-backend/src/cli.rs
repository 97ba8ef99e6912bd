//! Command-line actions as a connection: every call starts its own process and ends it.

pub(crate) mod command_call;
pub(crate) mod result;
pub(crate) mod template;

use std::time::Duration;

use async_trait::async_trait;
use capdeck_catalog::Discovery;
use capdeck_definition::{CliAction, CliTools};
use indexmap::IndexMap;
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use self::{
    command_call::CommandCall,
    result::{Terms, answer},
    template::fill,
};
use crate::{
    CallContext, CallError, Connection, ToolCall,
    arguments::{no_such_tool, read_arguments},
    child_environment::child_environment,
    connect::Prepared,
    declared_tool::{DeclaredTool, declared_discovery},
    process::{ChildCommand, Errors, Input},
};

/// The commands of one capability.
#[derive(Debug)]
pub(crate) struct CliConnection {
    prepared: Prepared<CliTools>,
    /// Cancelled when the connection is closed; running commands end with it.
    closed: CancellationToken,
}

#[async_trait]
impl Connection for CliConnection {
    async fn discover(&self, _context: &CallContext) -> Result<Discovery, CallError> {
        let tools = self.prepared.block.actions.iter().map(|(name, action)| declare(name, action));
        declared_discovery(tools, &self.prepared.result_scrubber)
    }

    async fn call_tool(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
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
    pub(crate) fn new(prepared: Prepared<CliTools>, cancel: &CancellationToken) -> Self {
        Self { prepared, closed: cancel.child_token() }
    }

    async fn call(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let tools = &self.prepared.block;
        let action = tools
            .actions
            .get(call.name)
            .ok_or_else(|| no_such_tool(call.name, tools.actions.keys()))?;
        let arguments = read_arguments(call.arguments)?;
        let declared_timeout = Duration::from_millis(action.timeout_ms.unwrap_or(tools.timeout_ms));
        let terms = Terms {
            tool: call.name,
            timeout: context.timeout.unwrap_or(declared_timeout),
            max_output_bytes: action.max_output_bytes.unwrap_or(tools.max_output_bytes),
            output: action.output.map(|output| output.kind).unwrap_or_default(),
        };
        let command = self.command(action, &arguments)?;
        let call = CommandCall {
            tool: call.name,
            command: &command,
            timeout: terms.timeout,
            max_output_bytes: terms.max_output_bytes,
        };
        let outcome = self.prepared.run_command(call, context, &self.closed).await?;
        answer(outcome, &terms).await
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
        Ok(ChildCommand {
            program: fill(&action.command, arguments)?,
            args: action.args.iter().map(|arg| fill(arg, arguments)).collect::<Result<_, _>>()?,
            env: child_environment(&self.prepared.surroundings.environment, &layers),
            folder: self.prepared.folder.resolve(configured.as_deref())?,
            input: Input::Closed,
            errors: Errors::Piped,
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
