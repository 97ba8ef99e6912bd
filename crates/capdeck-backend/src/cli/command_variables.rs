//! Commands of a capability file: `{name}` takes the caller's value, `${Name}` a variable of the project.
//!
//! A command line is taken apart before anything is put in, so a value stays inside its word whatever it holds. What a
//! caller gives is never looked at for variables, and a variable's value never for placeholders.

use std::path::PathBuf;

use capdeck_auth::{
    ReferenceLookup, ReferenceSubstitution, ResolveError, ResolvedValue, SecretScrubber,
    VaultHolder, resolve_text, resolve_value,
};
use capdeck_definition::{
    CliAction, CliCommand, Definition,
    capability_file::command_line::{WordPart, placeholders},
};
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::CliConnection;
use crate::{
    CallError, ErrorCode,
    arguments::scalar_text,
    child_environment::child_environment,
    init_records::InitKey,
    option_guard::OptionGuard,
    process::{ChildCommand, StderrTarget, StdinMode},
    project_values::project_variables,
    vault_holder,
};

/// Where the commands of a capability file find their variables.
#[derive(Debug)]
pub(crate) struct CommandVariables {
    definition: Definition,
    holder: VaultHolder,
}

/// A command ready to run, and what must not be shown of it.
#[derive(Debug)]
pub(super) struct ReadyCommand {
    pub(super) command: ChildCommand,
    pub(super) log_scrubber: SecretScrubber,
    pub(super) result_scrubber: SecretScrubber,
}

impl CommandVariables {
    pub(crate) fn new(definition: &Definition) -> Self {
        Self { holder: vault_holder(definition), definition: definition.clone() }
    }

    /// The command of a call.
    pub(super) fn ready(
        &self,
        connection: &CliConnection,
        action: &CliAction,
        arguments: &Map<String, Value>,
    ) -> Result<ReadyCommand, CallError> {
        let command = CliCommand {
            command: action.command.clone(),
            args: action.args.clone(),
            env: action.env.clone(),
            cwd: action.cwd.clone(),
            defaults: schema_defaults(action),
        };
        self.fill(connection, &command, action, arguments)
    }

    /// The command that prepares a tool, and what remembers that it ran.
    pub(super) fn init(
        &self,
        connection: &CliConnection,
        tool: &str,
        action: &CliAction,
        init: &CliCommand,
        arguments: &Map<String, Value>,
    ) -> Result<(ReadyCommand, InitKey), CallError> {
        let key = InitKey {
            project: self.definition.base_dir.clone(),
            tool: format!("{}.{tool}", self.definition.id),
            // As written: a variable's new value is no new command.
            command: serde_json::to_string(init).unwrap_or_default(),
        };
        Ok((self.fill(connection, init, action, arguments)?, key))
    }

    fn fill(
        &self,
        connection: &CliConnection,
        command: &CliCommand,
        action: &CliAction,
        arguments: &Map<String, Value>,
    ) -> Result<ReadyCommand, CallError> {
        let surroundings = &connection.prepared.surroundings;
        let variables = project_variables(&self.definition)?;
        let lookup = surroundings.lookup(&self.holder);
        let lookup = lookup.in_project(variables.as_ref());
        let declared = &declared(action);
        let mut words = CommandFiller { lookup, arguments, command, declared, used: Vec::new() };
        let program = words.fill(&command.command, None)?;
        let mut guard = OptionGuard::new(&command.command, action.input_schema.as_ref());
        let mut args = Vec::with_capacity(command.args.len());
        for word in &command.args {
            guard.pass_word(word);
            args.push(words.fill(word, Some(&guard))?);
        }
        let folder = command.cwd.as_deref().map(|folder| words.fill(folder, None)).transpose()?;
        let mut used = words.used;
        let env: ResolvedValue<IndexMap<String, String>> = resolve_value(&command.env, lookup)?;
        used.extend(env.substitutions);
        Ok(ReadyCommand {
            command: ChildCommand {
                program,
                args,
                env: child_environment(&surroundings.environment, [&env.value]),
                folder: self.folder(connection, folder.as_deref())?,
                input: StdinMode::Closed,
                errors: StderrTarget::Piped,
            },
            log_scrubber: SecretScrubber::of_all(&used),
            result_scrubber: SecretScrubber::of_sensitive(&used),
        })
    }

    fn folder(
        &self,
        connection: &CliConnection,
        configured: Option<&str>,
    ) -> Result<Option<PathBuf>, CallError> {
        connection.prepared.folder.resolve(configured)
    }
}

struct CommandFiller<'a> {
    lookup: ReferenceLookup<'a>,
    arguments: &'a Map<String, Value>,
    command: &'a CliCommand,
    /// The names that are placeholders; any other word in braces is only that.
    declared: &'a [String],
    used: Vec<ReferenceSubstitution>,
}

impl CommandFiller<'_> {
    fn fill(&mut self, word: &str, guard: Option<&OptionGuard<'_>>) -> Result<String, CallError> {
        let mut filled = String::new();
        for part in placeholders(word) {
            match part {
                WordPart::Text(text) => {
                    let resolved = resolve_text(text, self.lookup)
                        .map_err(|unresolved| ResolveError::Unresolved { unresolved })?;
                    filled.push_str(&resolved.text);
                    self.used.extend(resolved.substitutions);
                }
                WordPart::Argument(name) if self.is_known(name) => {
                    let text = self.value(name)?;
                    let given = self.arguments.get(name);
                    if let (Some(guard), Some(value), true) = (guard, given, filled.is_empty()) {
                        guard.check(name, value, &text)?;
                    }
                    filled.push_str(&text);
                }
                WordPart::Argument(name) => filled.push_str(&format!("{{{name}}}")),
            }
        }
        Ok(filled)
    }

    fn is_known(&self, name: &str) -> bool {
        self.declared.iter().any(|declared| declared == name)
            || self.command.defaults.contains_key(name)
    }

    /// The caller's value, else the default, else nothing. What must be given was checked before.
    fn value(&self, name: &str) -> Result<String, CallError> {
        let given = self.arguments.get(name).or_else(|| self.command.defaults.get(name));
        let text = match given {
            None | Some(Value::Null) => String::new(),
            Some(value) => scalar_text(value).unwrap_or_else(|| value.to_string()),
        };
        if text.contains('\0') {
            return Err(CallError::new(
                ErrorCode::RequestInvalid,
                format!("argument `{name}` holds a NUL character, which no program can be given"),
            ));
        }
        Ok(text)
    }
}

fn declared(action: &CliAction) -> Vec<String> {
    let properties = action.input_schema.as_ref().and_then(|schema| schema.get("properties"));
    properties
        .and_then(Value::as_object)
        .map(|map| map.keys().cloned().collect())
        .unwrap_or_default()
}

fn schema_defaults(action: &CliAction) -> Map<String, Value> {
    let properties = action.input_schema.as_ref().and_then(|schema| schema.get("properties"));
    let properties = properties.and_then(Value::as_object).into_iter().flatten();
    let default = |(name, property): (&String, &Value)| {
        Some((name.clone(), property.get("default")?.clone()))
    };
    properties.filter_map(default).collect()
}
