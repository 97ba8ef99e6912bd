//! An MCP server tailored by a capability file: selected and renamed tools, default arguments and formatted results.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_auth::SecretScrubber;
use capdeck_catalog::{Discovery, RawMembers, ServerDetails, choose, with_defaults};
use capdeck_definition::{
    CapabilityTailoring, Definition, McpServer,
    capability_file::{ResultFormatter, command_line},
};
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};

use crate::{
    CallContext, CallError, CallResult, ConnectOptions, Connection, ErrorCode, ToolCall,
    child_environment::{PassedVariables, child_environment},
    command_run::run_filter,
    connect::ResolvedBackend,
    connector_context::ConnectorContext,
    mcp,
    process::{ChildCommand, find_program},
    project_values::take_values,
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
    let env = child_environment(
        &prepared.surroundings.settings.environment,
        &PassedVariables::default(),
        [&block.env],
    );
    let folder = block.cwd.as_ref().map(PathBuf::from);
    let search_path = env.get("PATH").map(String::as_str);
    if find_program(command, search_path, folder.as_deref()).is_ok() {
        return Ok(());
    }
    let words = command_line::split(command).map_err(|bad| {
        CallError::invalid_config(format!("`cmd` of `{}` {bad}", prepared.id)).hint(bad.fix())
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

    async fn call_tool(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult {
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
    ) -> CallResult {
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
        serde_json::value::to_raw_value(&json!({ "tools": discovery.tools }))
            .map_err(|error| CallError::internal("the tools cannot be listed").detail(error))
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
        let log = self.surroundings.logs.log_of(&self.log_name);
        let command = ChildCommand {
            program,
            args,
            env: child_environment(
                &self.surroundings.settings.environment,
                &PassedVariables::default(),
                [],
            ),
            folder: Some(self.folder.clone()),
            pipes_stdin: true,
            error_log: Some((log.clone(), SecretScrubber::default())),
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

/// The maximum number of stored tasks. Results of older ones stay unformatted.
const MAX_TASKS: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct TaskFormats(Mutex<IndexMap<String, ResultFormatter>>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskResponse {
    task: Option<TaskId>,
    result_type: Option<String>,
    task_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskId {
    task_id: String,
}

impl TaskFormats {
    pub(super) fn remember(&self, answer: &RawValue, formatter: &ResultFormatter) {
        let Ok(made) = serde_json::from_str::<TaskResponse>(answer.get()) else { return };
        let is_task = made.result_type.as_deref() == Some("task");
        let id = made.task.map(|task| task.task_id).or(made.task_id.filter(|_| is_task));
        let Some(id) = id else { return };
        let mut known = self.0.lock();
        known.insert(id, formatter.clone());
        if known.len() > MAX_TASKS {
            known.shift_remove_index(0);
        }
    }

    fn formatter_for(&self, method: &str, params: Option<&RawMembers>) -> Option<ResultFormatter> {
        if !matches!(method, "tasks/result" | "tasks/get") {
            return None;
        }
        let id: String = serde_json::from_str(params?.get("taskId")?.get()).ok()?;
        self.0.lock().get(&id).cloned()
    }
}

impl TailoredConnection {
    /// Formats the task's result: the whole of `tasks/result`, or a member of `tasks/get`.
    async fn format_task(
        &self,
        method: &str,
        formatter: &ResultFormatter,
        answer: Box<RawValue>,
        context: &CallContext,
    ) -> CallResult {
        if method == "tasks/result" {
            return Ok(self.format(formatter, answer, context).await);
        }
        let Ok(mut members) = serde_json::from_str::<RawMembers>(answer.get()) else {
            return Ok(answer);
        };
        let Some(result) = members.get("result").cloned() else { return Ok(answer) };
        members.insert("result".to_owned(), self.format(formatter, result, context).await);
        Ok(to_raw_value(&members).unwrap_or(answer))
    }
}

#[cfg(test)]
mod task_formats_tests {
    use super::*;

    #[test]
    fn tasks_of_both_eras_are_remembered_and_the_oldest_forgotten() {
        let formats = TaskFormats::default();
        let formatter = ResultFormatter { cmd: "cat".to_owned(), timeout_ms: 1 };
        let note = |answer: &str| {
            formats.remember(&RawValue::from_string(answer.to_owned()).unwrap(), &formatter);
        };
        let has = |method: &str, id: &str| {
            let id = to_raw_value(id).unwrap();
            let params = RawMembers::from_iter([("taskId".to_owned(), id)]);
            formats.formatter_for(method, Some(&params)).is_some()
        };
        note(r#"{"task":{"taskId":"old","status":"working"}}"#);
        note(r#"{"resultType":"task","taskId":"new","status":"working"}"#);
        note(r#"{"content":[],"taskId":"none"}"#);
        assert!(has("tasks/result", "old") && has("tasks/get", "new"));
        assert!(!has("tasks/get", "none") && !has("tasks/cancel", "new"));
        for number in 0..MAX_TASKS {
            note(&format!(r#"{{"task":{{"taskId":"{number}"}}}}"#));
        }
        assert!(!has("tasks/result", "old") && has("tasks/result", "0"));
    }
}
