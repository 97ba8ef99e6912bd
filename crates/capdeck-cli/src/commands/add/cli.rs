//! `add cli`: programs, one tool each.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use super::{AddCommonArgs, NewFileTarget, program};
use crate::{errors::CommandFailure, new_file::BackendBlock, plain_text::command_line};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck add cli repo --repo . --include git,package
  capdeck add cli lint --command ruff --arg check --arg .")]
pub(super) struct AddCliArgs {
    #[command(flatten)]
    pub(super) common: AddCommonArgs,
    /// The folder the programs work in, usually a repository.
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Ready-made tools: `git` and `gh` read a repository, `package` runs the scripts of package.json.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHICH")]
    include: Vec<CliRecipe>,
    /// A program to offer as one tool.
    #[arg(long, value_name = "PROGRAM")]
    command: Option<String>,
    /// One argument of the program; may be repeated. `$input.name` takes a value from the caller.
    #[arg(long = "arg", value_name = "ARG", requires = "command", allow_hyphen_values = true)]
    args: Vec<String>,
}

impl AddCliArgs {
    pub(super) fn block(&self, target: &NewFileTarget) -> Result<BackendBlock, CommandFailure> {
        let Self { common: _, repo, include, command, args } = self;
        let here = &target.here;
        let folder = match repo {
            Some(repo) => Some(here.join(repo).canonicalize().map_err(|error| {
                CommandFailure::usage(format!("--repo: cannot open `{}`: {error}", repo.display()))
            })?),
            None => None,
        };
        let place = folder.as_deref().unwrap_or(here);
        let include = match (include.is_empty(), command) {
            (true, None) => found_in(place),
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
            return Err(CommandFailure::usage("there is nothing to offer")
                .hint("name a program with --command, or ready-made tools with --include"));
        }
        let names: Vec<&str> = actions.keys().map(String::as_str).collect();
        let summary = format!("Programs on this machine: {}.", names.join(", "));
        let cwd = folder.or_else(|| (!include.is_empty()).then(|| here.clone()));
        let fields = json!({ "cwd": cwd, "actions": actions });
        Ok(BackendBlock { key: "cliTools", fields, summary })
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
    let name = legal_name(file, 64);
    if name.is_empty() { "run".to_owned() } else { name }
}

fn legal_name(text: &str, limit: usize) -> String {
    let legal =
        |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    text.chars().map(legal).take(limit).collect()
}

/// The largest package.json that is looked into.
const MAX_PACKAGE_BYTES: u64 = 1 << 20;

/// A group of ready-made tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CliRecipe {
    /// Reads the repository with git.
    Git,
    /// Reads issues and pull requests with the GitHub command line.
    Gh,
    /// Runs the scripts of package.json.
    Package,
}

fn found_in(folder: &Path) -> Vec<CliRecipe> {
    let git = folder.join(".git").exists().then_some(CliRecipe::Git);
    let package = folder.join("package.json").is_file().then_some(CliRecipe::Package);
    git.into_iter().chain(package).collect()
}

impl CliRecipe {
    fn actions(self, folder: &Path) -> Result<Map<String, Value>, CommandFailure> {
        match self {
            Self::Git => reading_tools("git"),
            Self::Gh => reading_tools("gh"),
            Self::Package => package(folder),
        }
    }
}

/// Tools that only read, by the program they are for.
const READING_TOOLS: &str = include_str!("../../../starter/recipes.json");

fn reading_tools(program: &str) -> Result<Map<String, Value>, CommandFailure> {
    let mut all: BTreeMap<String, Map<String, Value>> = serde_json::from_str(READING_TOOLS)
        .map_err(|error| CommandFailure::bug(format!("the ready-made tools: {error}")))?;
    Ok(all.remove(program).unwrap_or_default())
}

fn package(folder: &Path) -> Result<Map<String, Value>, CommandFailure> {
    let path = folder.join("package.json");
    let unusable = |reason: String| {
        CommandFailure::usage(format!("--include package: `{}`: {reason}", path.display()))
    };
    let size = std::fs::metadata(&path).map_err(|error| unusable(error.to_string()))?.len();
    if size > MAX_PACKAGE_BYTES {
        return Err(unusable("the file is too large".to_owned()));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| unusable(error.to_string()))?;
    let parsed: Value =
        serde_json::from_str(&text).map_err(|error| unusable(format!("not JSON: {error}")))?;
    let scripts = parsed.get("scripts").and_then(Value::as_object).cloned().unwrap_or_default();
    let runner = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun")]
        .into_iter()
        .find(|(file, _)| folder.join(file).exists())
        .map_or("npm", |(_, runner)| runner);
    let actions: Map<String, Value> = scripts
        .keys()
        .map(|script| {
            let action = json!({
                "description": format!("Run the script `{script}`."),
                "command": runner,
                "args": ["run", script],
                "timeoutMs": 600_000,
            });
            (format!("package_{}", legal_name(script, 56)), action)
        })
        .collect();
    if actions.is_empty() {
        return Err(unusable("it has no scripts".to_owned()));
    }
    Ok(actions)
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
