//! An MCP server tailored by a capability file: selected and renamed tools, default arguments and formatted results.

mod format;
mod task_formats;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use capdeck_catalog::{Discovery, RawMembers, ServerDetails, choose, with_defaults};
use capdeck_definition::{
    CapabilityTailoring, Definition, McpServer, capability_file::command_line,
};
use serde_json::{json, value::RawValue};

use task_formats::TaskFormats;

use crate::{
    CallContext, CallError, ConnectOptions, Connection, ErrorCode, ToolCall,
    child_environment::child_environment, connect::ResolvedBackend,
    connector_context::ConnectorContext, mcp, process::find_program, project_values::take_values,
};

pub(crate) async fn connect(
    mut prepared: ResolvedBackend<McpServer>,
    definition: &Definition,
    tailoring: &Arc<CapabilityTailoring>,
    options: ConnectOptions,
) -> Result<Arc<dyn Connection>, CallError> {
    let env = take_values(&tailoring.env, "env", &prepared, definition).await?;
    let headers = take_values(&tailoring.headers, "headers", &prepared, definition).await?;
    let secrets: Vec<_> = env.iter().chain(&headers).map(|(_, value)| value.clone()).collect();
    prepared.add_secrets(&secrets);
    for (name, value) in &env {
        prepared.block.env.insert(name.clone(), value.expose().to_owned());
    }
    prepared.headers = headers;
    split_command(&mut prepared)?;
    let surroundings = Arc::clone(&prepared.surroundings);
    let inner = mcp::connect(prepared, options).await?;
    if tailoring.tools.is_everything() {
        return Ok(inner);
    }
    Ok(Arc::new(TailoredConnection {
        inner,
        tailoring: Arc::clone(tailoring),
        folder: definition.base_dir.clone(),
        log_name: definition.id.clone(),
        surroundings,
        task_formats: TaskFormats::default(),
    }))
}

/// Many files have a whole command line in place of a program. It is split only when there is no program of that
/// name.
pub(crate) fn split_command(prepared: &mut ResolvedBackend<McpServer>) -> Result<(), CallError> {
    let block = &mut prepared.block;
    let Some(command) = &block.command else { return Ok(()) };
    if !command.contains(char::is_whitespace) {
        return Ok(());
    }
    let env = child_environment(&prepared.surroundings.environment, [&block.env]);
    let folder = block.cwd.as_ref().map(PathBuf::from);
    let search_path = env.get("PATH").map(String::as_str);
    if find_program(command, search_path, folder.as_deref()).is_ok() {
        return Ok(());
    }
    let words = command_line::split(command).map_err(|bad| {
        CallError::new(ErrorCode::ConfigInvalid, format!("`cmd` of `{}` {bad}", prepared.id))
            .hint(bad.fix())
    })?;
    let mut words = words.into_iter();
    block.command = words.next();
    block.args = words.chain(std::mem::take(&mut block.args)).collect();
    Ok(())
}

#[derive(Debug)]
struct TailoredConnection {
    inner: Arc<dyn Connection>,
    tailoring: Arc<CapabilityTailoring>,
    /// The working folder of formatters: the project.
    folder: PathBuf,
    log_name: capdeck_definition::CapabilityId,
    surroundings: Arc<ConnectorContext>,
    /// The formatters of task results, which are fetched later.
    task_formats: TaskFormats,
}

#[async_trait]
impl Connection for TailoredConnection {
    async fn discover(&self, context: &CallContext) -> Result<Discovery, CallError> {
        Ok(choose(&self.tailoring.tools, self.inner.discover(context).await?))
    }

    async fn call_tool(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let tools = &self.tailoring.tools;
        let Some(remote) = tools.remote_name(call.name) else {
            let message = format!("`{}` offers no tool `{}`", self.log_name, call.name);
            return Err(CallError::new(ErrorCode::ToolNotFound, message)
                .hint("the project's capability file chooses which tools there are"));
        };
        let chosen = tools.chosen(call.name);
        let merged = chosen.and_then(|tool| with_defaults(&tool.defaults, call.arguments));
        let unformatted = call.unformatted;
        let inner =
            ToolCall { name: remote, arguments: merged.as_deref().or(call.arguments), ..call };
        let result = self.inner.call_tool(inner, context).await?;
        match chosen.and_then(|tool| tool.formatter.as_ref()) {
            Some(formatter) if !unformatted => {
                self.task_formats.remember(&result, formatter);
                Ok(self.format(formatter, result, context).await)
            }
            _ => Ok(result),
        }
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        if method != "tools/list" {
            let formatter = self.task_formats.formatter_for(method, params.as_ref());
            let result = self.inner.request(method, params, context).await?;
            return match formatter {
                Some(formatter) => self.format_task(method, &formatter, result, context).await,
                None => Ok(result),
            };
        }
        // The selection covers all pages at once, so the response has one page.
        let discovery = self.discover(context).await?;
        serde_json::value::to_raw_value(&json!({ "tools": discovery.tools })).map_err(|error| {
            CallError::new(ErrorCode::InternalError, "the tools cannot be listed").detail(error)
        })
    }

    async fn watch_tasks(&self, ids: Vec<String>, context: &CallContext) -> Result<(), CallError> {
        self.inner.watch_tasks(ids, context).await
    }

    async fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.inner.notify(method, params).await;
    }

    fn server(&self) -> Option<ServerDetails> {
        self.inner.server()
    }

    fn ended(&self) -> Option<String> {
        self.inner.ended()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
