//! Puts a call's arguments into a declared command: `$input.path` inside strings, or `{name}` in the words of a
//! capability file, where `${Name}` is a variable of the project.
//!
//! Each declared string or word stays one argument of the program with any value: there is no shell to read
//! spaces, quotes or `;`. A value that begins an argument passes the guard against options. What a caller gives is never
//! looked at for variables, and a variable's value never for placeholders.

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
    CallError,
    arguments::{scalar_text, without_nul},
    child_environment::{PassedVariables, child_environment, passed_secrets},
    command_run::ReadyCommand,
    connector_context::vault_holder,
    init_records::InitKey,
    option_guard::OptionGuard,
    process::ChildCommand,
    project_values::project_variables,
};

/// Replaces the references in a text. An argument of a program has a guard.
pub(super) fn fill(
    template: &str,
    arguments: &Map<String, Value>,
    guard: Option<&OptionGuard<'_>>,
) -> Result<String, CallError> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("$input") {
        filled.push_str(before);
        let path = after.strip_prefix('.').map(path_at_start).unwrap_or_default();
        if path.is_empty() {
            return Err(CallError::invalid_config(format!(
                "`$input` names no argument: `{template}`"
            ))
            .hint("name the argument, such as `$input.name`"));
        }
        let (value, text) = value_at(path, arguments)?;
        if let Some(guard) = guard.filter(|_| filled.is_empty()) {
            guard.check(path, value, &text)?;
        }
        filled.push_str(&text);
        rest = after.get(path.len() + 1..).unwrap_or_default();
    }
    filled.push_str(rest);
    Ok(filled)
}

pub(crate) fn has_input(template: &str) -> bool {
    template.contains("$input")
}

/// The longest run of path characters. A full stop at its end belongs to the sentence around it:
/// no path ends so, and `$input.major.$input.minor` then works.
fn path_at_start(text: &str) -> &str {
    let is_path_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let length = text.bytes().take_while(|byte| is_path_byte(byte)).count();
    text.get(..length).unwrap_or_default().trim_end_matches('.')
}

fn value_at<'a>(
    path: &str,
    arguments: &'a Map<String, Value>,
) -> Result<(&'a Value, String), CallError> {
    let missing = || {
        CallError::invalid_request(format!("argument `{path}` is missing"))
            .hint(format!("call the tool with a value for `{path}`"))
    };
    let mut steps = path.split('.');
    let mut value = steps.next().and_then(|step| arguments.get(step)).ok_or_else(missing)?;
    for step in steps {
        value = value.as_object().and_then(|members| members.get(step)).ok_or_else(missing)?;
    }
    if value.is_null() {
        return Err(missing());
    }
    let text = scalar_text(value).ok_or_else(|| {
        CallError::invalid_request(format!(
            "argument `{path}` must be a string, a number or a boolean"
        ))
    })?;
    Ok((value, without_nul(path, text)?))
}

#[derive(Debug)]
pub(crate) struct CommandVariables {
    definition: Definition,
    holder: VaultHolder,
}

impl CommandVariables {
    pub(crate) fn new(definition: &Definition) -> Self {
        Self { holder: vault_holder(definition), definition: definition.clone() }
    }

    pub(super) fn ready(
        &self,
        connection: &CliConnection,
        action: &CliAction,
        arguments: &Map<String, Value>,
    ) -> Result<ReadyCommand, CallError> {
        let command = CliCommand {
            program: action.program.clone(),
            defaults: properties(action)
                .filter_map(|(name, one)| Some((name.clone(), one.get("default")?.clone())))
                .collect(),
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
        let declared = &properties(action).map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        let mut words = CommandFiller { lookup, arguments, command, declared, used: Vec::new() };
        let program = words.fill(&command.program.command, None)?;
        let mut guard =
            OptionGuard::new(&command.program.command, action.schemas.input_schema.as_ref());
        let mut args = Vec::with_capacity(command.program.args.len());
        for word in &command.program.args {
            guard.pass_word(word);
            args.push(words.fill(word, Some(&guard))?);
        }
        let folder =
            command.program.cwd.as_deref().map(|folder| words.fill(folder, None)).transpose()?;
        let mut used = words.used;
        let env: ResolvedValue<IndexMap<String, String>> =
            resolve_value(&command.program.env, lookup)?;
        used.extend(env.substitutions);
        let host = &surroundings.settings.environment;
        let pass_env = &connection.prepared.block.pass_env;
        let passed = PassedVariables::of_command(pass_env, &program, &args);
        let secrets = passed_secrets(host, pass_env);
        Ok(ReadyCommand {
            command: ChildCommand {
                env: child_environment(host, &passed, [&env.value]),
                program,
                args,
                folder: connection.prepared.folder.resolve(folder.as_deref())?,
                ..ChildCommand::default()
            },
            log_scrubber: SecretScrubber::of_all(&used).with(&secrets),
            result_scrubber: SecretScrubber::of_sensitive(&used).with(&secrets),
        })
    }
}

struct CommandFiller<'a> {
    lookup: ReferenceLookup<'a>,
    arguments: &'a Map<String, Value>,
    command: &'a CliCommand,
    /// The names that are placeholders; any other word in braces is only that.
    declared: &'a [&'a str],
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
        self.declared.contains(&name) || self.command.defaults.contains_key(name)
    }

    /// The caller's value, else the default, else nothing. What must be given was checked before.
    fn value(&self, name: &str) -> Result<String, CallError> {
        let given = self.arguments.get(name).or_else(|| self.command.defaults.get(name));
        let text = match given {
            None | Some(Value::Null) => String::new(),
            Some(value) => scalar_text(value).unwrap_or_else(|| value.to_string()),
        };
        without_nul(name, text)
    }
}

fn properties(action: &CliAction) -> impl Iterator<Item = (&String, &Value)> {
    let properties =
        action.schemas.input_schema.as_ref().and_then(|schema| schema.get("properties"));
    properties.and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod template_tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str) -> Result<String, String> {
        let arguments = json!({
            "name": "a b; rm -rf /", "deep": {"er": {"est": 7}}, "yes": true, "half": 0.5, "two": 2.0,
            "big": 12345678901234567u64, "list": [1], "none": null, "dash-ed": "d", "major": 1,
            "flag": "--force", "again": "$input.name", "nul": "a\u{0}b",
        });
        fill(template, arguments.as_object().unwrap(), None).map_err(|error| error.message)
    }

    #[test]
    fn references_are_replaced_inside_strings() {
        for (template, expected) in [
            ("plain", "plain"),
            ("$input.name", "a b; rm -rf /"),
            ("--x=$input.yes,$input.half", "--x=true,0.5"),
            ("$input.deep.er.est", "7"),
            ("$input.two", "2"),
            ("$input.big", "12345678901234567"),
            ("$input.dash-ed/x", "d/x"),
            ("v$input.major.$input.two.", "v1.2."),
            ("$input.flag", "--force"),
            ("$input.again", "$input.name"),
            ("é$input.yesé", "étrueé"),
            ("$HOME $(id) `id`", "$HOME $(id) `id`"),
        ] {
            assert_eq!(filled(template).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_cannot_be_filled_is_named() {
        for (template, message) in [
            ("x $input", "`$input` names no argument: `x $input`"),
            ("$inputs", "`$input` names no argument: `$inputs`"),
            ("$input.", "`$input` names no argument: `$input.`"),
            ("$input.nope", "argument `nope` is missing"),
            ("$input.none", "argument `none` is missing"),
            ("$input.deep.nope.x", "argument `deep.nope.x` is missing"),
            ("$input.list.0", "argument `list.0` is missing"),
            ("$input.list", "argument `list` must be a string, a number or a boolean"),
            ("$input.deep", "argument `deep` must be a string, a number or a boolean"),
            ("$input.nul", "argument `nul` holds a NUL character, which no program can be given"),
        ] {
            assert_eq!(filled(template), Err(message.to_owned()), "{template}");
        }
    }
}
