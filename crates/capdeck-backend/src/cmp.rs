//! CMP tools as a connection: like command-line actions, with the format's own placeholders, values and answers.

#[cfg(test)]
mod argv_tests;

use std::{borrow::Cow, time::Duration};

use async_trait::async_trait;
use capdeck_catalog::{Discovery, RawMembers};
use capdeck_definition::{
    CMP_RESULT, CliOutputType, CmpIntent, CmpTool, CmpType, CommandPiece, CommandWord,
    is_integer_text,
};
use indexmap::IndexMap;
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::{
    CallContext, CallError, CallResult, Connection, ToolCall,
    arguments::{no_such_tool, read_arguments, scalar_text, without_nul},
    child_environment::{PassedVariables, child_environment},
    cli::{CommandOutputStyle, CommandResultOptions, answer as ended_early, failure_text, keep},
    command_run::{CommandEnd, CommandOutcome, ReadyCommand},
    connect::ResolvedBackend,
    connector_context::ConnectorContext,
    declared_tool::{DeclaredTool, ToolResult, declared_discovery},
    option_guard::OptionGuard,
    process::ChildCommand,
};

/// How long a command may take. The format has no way to say otherwise.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Output beyond this is kept as a file, and is then no structured answer any more.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

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

    async fn call_tool(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult {
        let tool = &self.prepared.block;
        let intent = tool
            .intents
            .get(call.name)
            .ok_or_else(|| no_such_tool(call.name, tool.intents.keys()))?;
        let mut arguments = read_arguments(call.arguments)?;
        intent.coerce(&mut arguments);
        keep_digits(intent, call.arguments, &mut arguments);
        let terms = CommandResultOptions {
            tool: call.name,
            timeout: context.timeout.unwrap_or(COMMAND_TIMEOUT),
            max_output_bytes: MAX_OUTPUT_BYTES,
            output: CliOutputType::Text,
            style: CommandOutputStyle::Streams,
        };
        let ready = ReadyCommand {
            command: self.command(intent, &arguments)?,
            log_scrubber: self.prepared.log_scrubber.clone(),
            result_scrubber: self.prepared.result_scrubber.clone(),
        };
        let outcome = self.prepared.run_command(&ready, &terms, context, &self.closed).await?;
        answer(outcome, intent, &terms).await
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
        let env = environment(&self.prepared.block, &self.prepared.surroundings);
        let home = env.get("HOME").map(String::as_str);
        let mut words = argv(intent, arguments, home)?.into_iter();
        Ok(ChildCommand {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env,
            folder: self.prepared.folder.resolve(None)?,
            ..ChildCommand::default()
        })
    }
}

/// What a tool's commands see: the safe variables, its own programs first, and that an agent is asking.
pub(crate) fn environment(
    tool: &CmpTool,
    surroundings: &ConnectorContext,
) -> IndexMap<String, String> {
    let mut env = child_environment(
        &surroundings.settings.environment,
        &PassedVariables::declared(&tool.pass_env),
        [],
    );
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
            output_schema: output.as_ref().map(Cow::Borrowed),
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

/// Puts back the digits of integers that are larger than numbers are here: a command takes them as text anyway.
fn keep_digits(intent: &CmpIntent, given: Option<&RawValue>, arguments: &mut Map<String, Value>) {
    let given = given.and_then(|given| serde_json::from_str::<RawMembers>(given.get()).ok());
    for (name, raw) in given.unwrap_or_default() {
        let Some(param) = intent.params.get(&name) else { continue };
        let digits = match param.kind {
            CmpType::Integer => large_integer(raw.get()),
            CmpType::Integers => {
                let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(raw.get()) else {
                    continue;
                };
                let Some(Value::Array(known)) = arguments.get_mut(&name) else { continue };
                for (item, raw) in known.iter_mut().zip(&items) {
                    if let Some(digits) = large_integer(raw.get()) {
                        *item = digits;
                    }
                }
                continue;
            }
            _ => None,
        };
        if let Some(digits) = digits {
            arguments.insert(name, digits);
        }
    }
}

/// The digits of an integer, written as a number or as a text, that no number here can hold.
fn large_integer(raw: &str) -> Option<Value> {
    let text = raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(raw);
    (is_integer_text(text) && text.parse::<i64>().is_err()).then(|| Value::String(text.to_owned()))
}

fn argv(
    intent: &CmpIntent,
    arguments: &Map<String, Value>,
    home: Option<&str>,
) -> Result<Vec<String>, CallError> {
    let (program, schema) = (intent.command.program(), intent.input_schema());
    let guard = OptionGuard::new(&program, Some(&schema));
    let mut values = ArgvBuilder { intent, arguments, home, guard };
    let mut filled: Vec<String> = Vec::new();
    // An option whose value may yet be left out.
    let mut flag: Option<usize> = None;
    for word in intent.command.words() {
        values.guard.pass_word(&word.to_string());
        match values.fill(word)? {
            Some(words) => {
                flag = word.is_long_flag().then_some(filled.len());
                filled.extend(words);
            }
            None => {
                // `--count {count}` goes as a whole; `--count={count}` is a word of its own.
                if let Some(flag) = flag.take().filter(|_| !starts_with_dash(word)) {
                    filled.truncate(flag);
                }
            }
        }
    }
    Ok(filled)
}

fn starts_with_dash(word: &CommandWord) -> bool {
    matches!(word.pieces.first(), Some(CommandPiece::Text(text)) if text.starts_with('-'))
}

struct ArgvBuilder<'a> {
    intent: &'a CmpIntent,
    arguments: &'a Map<String, Value>,
    home: Option<&'a str>,
    guard: OptionGuard<'a>,
}

impl ArgvBuilder<'_> {
    /// The words that one word of the template becomes; `None` when it holds a parameter without a value.
    fn fill(&self, word: &CommandWord) -> Result<Option<Vec<String>>, CallError> {
        if let Some(name) = word.only_param() {
            let Some(value) = self.value(name)? else { return Ok(None) };
            return match value {
                Value::Array(items) => items
                    .iter()
                    .map(|item| self.text(name, item, ""))
                    .collect::<Result<_, _>>()
                    .map(Some),
                single => Ok(Some(vec![self.text(name, single, "")?])),
            };
        }
        let mut filled = String::new();
        for piece in &word.pieces {
            match piece {
                CommandPiece::Text(text) => filled.push_str(text),
                CommandPiece::Home => filled.push_str(self.home()?),
                CommandPiece::Param(name) => match self.value(name)? {
                    Some(Value::Array(items)) => {
                        for (index, item) in items.iter().enumerate() {
                            filled.push_str(if index > 0 { "," } else { "" });
                            let text = self.text(name, item, &filled)?;
                            filled.push_str(&text);
                        }
                    }
                    Some(single) => {
                        let text = self.text(name, single, &filled)?;
                        filled.push_str(&text);
                    }
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(vec![filled]))
    }

    fn home(&self) -> Result<&str, CallError> {
        self.home.filter(|home| !home.is_empty()).ok_or_else(|| {
            CallError::unavailable("the command names the home folder, and `HOME` is not set")
                .hint("set `HOME` where capdeck is started, or write the whole path")
        })
    }

    /// A value as text. One that begins a word passes the guard, unless it is a default, which is the author's own.
    fn text(&self, name: &str, value: &Value, before: &str) -> Result<String, CallError> {
        let text = text_of(name, value)?;
        let is_given = self.arguments.get(name).is_some_and(|given| !given.is_null());
        if before.is_empty() && is_given {
            self.guard.check(name, value, &text)?;
        }
        Ok(text)
    }

    /// What was given, else the default. An array without elements is no value.
    fn value(&self, name: &str) -> Result<Option<&Value>, CallError> {
        let param = self.intent.params.get(name);
        let given = self.arguments.get(name).filter(|value| !value.is_null());
        let value = given.or_else(|| param.and_then(|param| param.default.as_ref()));
        let is_list = param.is_some_and(|param| param.kind.items().is_some());
        match value {
            Some(Value::Array(items)) if is_list && items.is_empty() => self.none(name),
            Some(value) if value.is_array() == is_list => Ok(Some(value)),
            Some(_) => Err(CallError::invalid_request(format!(
                "argument `{name}` must {}be a list",
                if is_list { "" } else { "not " }
            ))),
            None => self.none(name),
        }
    }

    fn none(&self, name: &str) -> Result<Option<&Value>, CallError> {
        if self.intent.params.get(name).is_none_or(|param| param.required) {
            return Err(CallError::invalid_request(format!("argument `{name}` is missing"))
                .hint(format!("call the tool with a value for `{name}`")));
        }
        Ok(None)
    }
}

/// A value as text: an object as JSON, anything else as it is.
fn text_of(name: &str, value: &Value) -> Result<String, CallError> {
    without_nul(name, scalar_text(value).unwrap_or_else(|| value.to_string()))
}

pub(super) async fn answer(
    outcome: CommandOutcome,
    intent: &CmpIntent,
    terms: &CommandResultOptions<'_>,
) -> CallResult {
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
        let note = keep("", shown, outcome.stdout, &mut result.artifacts).await;
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
