//! CMP tools as a connection: like command-line actions, with the format's own placeholders, values and answers.

mod answer;
mod argv;

use std::time::Duration;

use async_trait::async_trait;
use capdeck_catalog::Discovery;
use capdeck_definition::{CliOutputType, CmpIntent, CmpTool};
use indexmap::IndexMap;
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::{
    CallContext, CallError, Connection, ToolCall,
    arguments::{no_such_tool, read_arguments},
    child_environment::child_environment,
    cli::{
        command_call::CommandCall,
        result::{CommandOutputStyle, CommandResultOptions},
    },
    connect::ResolvedBackend,
    connector_context::ConnectorContext,
    declared_tool::{DeclaredTool, declared_discovery},
    process::{ChildCommand, StderrTarget, StdinMode},
};

/// How long a command may take. The format has no way to say otherwise.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Output beyond this is kept as a file, and is then no structured answer any more.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// The commands of one tool.
#[derive(Debug)]
pub(crate) struct CmpConnection {
    prepared: ResolvedBackend<CmpTool>,
    /// Cancelled when the connection is closed; running commands end with it.
    closed: CancellationToken,
}

#[async_trait]
impl Connection for CmpConnection {
    async fn discover(&self, _context: &CallContext) -> Result<Discovery, CallError> {
        discovery(&self.prepared.block)
    }

    async fn call_tool(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let tool = &self.prepared.block;
        let intent = tool
            .intents
            .get(call.name)
            .ok_or_else(|| no_such_tool(call.name, tool.intents.keys()))?;
        let mut arguments = read_arguments(call.arguments)?;
        intent.coerce(&mut arguments);
        let command = self.command(intent, &arguments)?;
        let terms = CommandResultOptions {
            tool: call.name,
            timeout: context.timeout.unwrap_or(COMMAND_TIMEOUT),
            max_output_bytes: MAX_OUTPUT_BYTES,
            output: CliOutputType::Text,
            style: CommandOutputStyle::Streams,
        };
        let run = CommandCall {
            tool: call.name,
            command: &command,
            timeout: terms.timeout,
            max_output_bytes: terms.max_output_bytes,
            log_scrubber: &self.prepared.log_scrubber,
            result_scrubber: &self.prepared.result_scrubber,
        };
        let outcome = self.prepared.run_command(run, context, &self.closed).await?;
        answer::answer(outcome, intent, &terms).await
    }

    fn ended(&self) -> Option<String> {
        self.closed.is_cancelled().then(|| "the connection was closed".to_owned())
    }

    async fn close(&self) {
        self.closed.cancel();
    }
}

impl CmpConnection {
    /// A connection that also ends with this token.
    pub(crate) fn new(prepared: ResolvedBackend<CmpTool>, cancel: &CancellationToken) -> Self {
        Self { prepared, closed: cancel.child_token() }
    }

    fn command(
        &self,
        intent: &CmpIntent,
        arguments: &Map<String, Value>,
    ) -> Result<ChildCommand, CallError> {
        let mut words = argv::argv(intent, arguments)?.into_iter();
        Ok(ChildCommand {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env: environment(&self.prepared.block, &self.prepared.surroundings),
            folder: self.prepared.folder.resolve(None)?,
            input: StdinMode::Closed,
            errors: StderrTarget::Piped,
        })
    }
}

/// What a tool's commands see: the safe variables, its own programs first, and that an agent is asking.
pub(crate) fn environment(
    tool: &CmpTool,
    surroundings: &ConnectorContext,
) -> IndexMap<String, String> {
    let mut env = child_environment(&surroundings.environment, []);
    env.insert("CMP_AGENT".to_owned(), "1".to_owned());
    if let Some(bin) = &tool.bin {
        let path = match env.get("PATH") {
            Some(path) => format!("{}:{path}", bin.display()),
            None => format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()),
        };
        env.insert("PATH".to_owned(), path);
    }
    env
}

/// The tools, which all stand in the definition.
pub(crate) fn discovery(tool: &CmpTool) -> Result<Discovery, CallError> {
    let schemas: Vec<_> = tool
        .intents
        .values()
        .map(|intent| (intent.input_schema(), intent.output_schema()))
        .collect();
    let declared = tool.intents.iter().zip(&schemas).map(|((name, intent), (input, output))| {
        let plain: Vec<&String> =
            intent.patterns.iter().filter(|pattern| !pattern.starts_with("re:")).collect();
        DeclaredTool {
            name,
            description: description(intent, plain.first().map(|phrase| phrase.as_str())),
            input_schema: Some(input),
            output_schema: output.as_ref(),
            annotations: json!({
                "destructiveHint": intent.destructive,
                "idempotentHint": intent.idempotent,
            }),
            patterns: plain,
            confirm: intent.confirm,
            ..DeclaredTool::default()
        }
    });
    // Nothing in a tool's files refers to a secret.
    declared_discovery(declared, &capdeck_auth::SecretScrubber::default())
}

/// The first phrase as a sentence, and what is run.
fn description(intent: &CmpIntent, phrase: Option<&str>) -> String {
    let runs = format!("Runs `{}`", intent.command.text());
    let Some(phrase) = phrase else { return runs };
    let mut letters = phrase.trim().chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{capital}{}. {runs}", letters.as_str())
}
