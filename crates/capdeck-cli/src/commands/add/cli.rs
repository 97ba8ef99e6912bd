//! `add cli`: programs, one tool each.

mod recipes;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{BackendBlock, CommonArgs, program::program};
use crate::{errors::Failure, plain_text::command_line};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck add cli repo --repo . --include git,package
  capdeck add cli lint --command ruff --arg check --arg .")]
pub(super) struct CliArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// The folder the programs work in, usually a repository.
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Ready-made tools: `git` and `gh` read a repository, `package` runs the scripts of package.json.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHICH")]
    include: Vec<recipes::Recipe>,
    /// A program to offer as one tool.
    #[arg(long, value_name = "PROGRAM")]
    command: Option<String>,
    /// One argument of the program; may be repeated. `$input.name` takes a value from the caller.
    #[arg(long = "arg", value_name = "ARG", requires = "command", allow_hyphen_values = true)]
    args: Vec<String>,
}

impl CliArgs {
    pub(super) fn block(&self, here: &Path) -> Result<BackendBlock, Failure> {
        let Self { common: _, repo, include, command, args } = self;
        let folder = match repo {
            Some(repo) => Some(here.join(repo).canonicalize().map_err(|error| {
                Failure::usage(format!("--repo: cannot open `{}`: {error}", repo.display()))
            })?),
            None => None,
        };
        let place = folder.as_deref().unwrap_or(here);
        let include = match (include.is_empty(), command) {
            (true, None) => recipes::found_in(place),
            _ => include.clone(),
        };
        let mut actions = Map::new();
        for recipe in &include {
            actions.extend(recipe.actions(place)?);
        }
        if let Some(command) = command {
            let command = program(command, here)?;
            actions.insert(action_name(command), command_action(command, args));
        }
        if actions.is_empty() {
            return Err(Failure::usage("there is nothing to offer")
                .hint("name a program with --command, or ready-made tools with --include"));
        }
        let mut fields = Map::new();
        if let Some(folder) = folder.or_else(|| (!include.is_empty()).then(|| here.to_owned())) {
            fields.insert("cwd".to_owned(), json!(folder));
        }
        let names: Vec<&str> = actions.keys().map(String::as_str).collect();
        let summary = format!("Programs on this machine: {}.", names.join(", "));
        fields.insert("actions".to_owned(), Value::Object(actions));
        Ok(BackendBlock { key: "cliTools", fields: Value::Object(fields), summary })
    }
}

fn command_action(command: &str, args: &[String]) -> Value {
    let words = std::iter::once(command).chain(args.iter().map(String::as_str));
    let mut action =
        json!({ "description": format!("Run `{}`.", command_line(words)), "command": command });
    if !args.is_empty() {
        action["args"] = json!(args);
    }
    let inputs: Vec<&str> = args.iter().flat_map(|arg| inputs(arg)).collect();
    if !inputs.is_empty() {
        let properties: Map<String, Value> =
            inputs.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let required: Vec<&String> = properties.keys().collect();
        action["inputSchema"] =
            json!({ "type": "object", "properties": properties, "required": required });
    }
    action
}

/// The names of `$input.name` in an argument.
fn inputs(arg: &str) -> impl Iterator<Item = &str> {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    arg.split("$input.").skip(1).filter_map(move |rest| {
        let name = rest.split(|letter| !legal(letter)).next()?;
        (!name.is_empty()).then_some(name)
    })
}

/// A tool name from a program's path.
fn action_name(command: &str) -> String {
    let file = command.rsplit('/').next().unwrap_or(command);
    let legal =
        |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = file.chars().map(legal).take(64).collect();
    if name.is_empty() { "run".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_become_a_schema() {
        let action =
            command_action("rg", &["--".into(), "$input.pattern".into(), "$input.path/x".into()]);
        assert_eq!(action["inputSchema"]["required"], json!(["pattern", "path"]));
        assert_eq!(command_action("ls", &[]).get("inputSchema"), None);
    }

    #[test]
    fn tool_names_come_from_programs() {
        for (command, name) in [("/usr/bin/rg", "rg"), ("a.sh", "a_sh"), ("", "run")] {
            assert_eq!(action_name(command), name);
        }
    }
}
