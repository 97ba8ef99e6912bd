//! Answers a shell that asks what could come next. Never connects: tools come from what is already known.

mod shell_line;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_catalog::{Capability, Catalog, Tool};
use capdeck_host::{
    CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleServiceExt as _, ListCapsulesRequest,
    ListQuery, LocalCapsuleService, SchemesRequest, StoreMode, StoreOptions,
};
use capdeck_install::AgentClient;
use clap::CommandFactory as _;
use clap_complete::{
    engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _},
    env::Shells,
};
use serde_json::Value;

use crate::{
    args::{CommandLineArgs, GlobalArgs},
    arguments::schema_value,
    commands::CommandContext,
    env_vars::{self, COMPLETE_VARIABLE, EnvVars},
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::one_line,
    printer::Printer,
    runtime::single_thread,
    settings::CommandSettings,
    tool_target,
};

/// Print the script that completes capdeck's command line in a shell
///
/// Commands, capabilities, tools and their arguments, capsules and their entries are completed, from what is already known.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  source <(capdeck completions bash)      # in ~/.bashrc
  source <(capdeck completions zsh)       # in ~/.zshrc
  capdeck completions fish | source       # in ~/.config/fish/config.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub(crate) fn run(args: &CompletionsArgs, context: &CommandContext<'_>) -> CommandResult {
    context.printer.bytes(&script(&args.shell, &context.env)?);
    Ok(ExitStatus::Done)
}

/// The script that registers this binary with a shell.
fn script(shell: &str, env: &EnvVars) -> Result<Vec<u8>, CommandFailure> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or_else(|| unknown_shell(shell))?;
    let binary = env.executable.as_deref().unwrap_or(Path::new("capdeck"));
    let mut script = Vec::new();
    let (name, binary) = ("capdeck", binary.to_string_lossy());
    completer
        .write_registration(COMPLETE_VARIABLE, name, name, &binary, &mut script)
        .map_err(|error| CommandFailure::bug(format!("the script cannot be made: {error}")))?;
    Ok(script)
}

/// Writes what could come next after `words`, which are ours, `--`, and the line typed so far.
pub(crate) fn answer(
    shell: &str,
    words: Vec<OsString>,
    env: &EnvVars,
    printer: &Printer,
) -> CommandResult {
    let name = Path::new(shell).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let shells = Shells::builtins();
    let completer = shells.completer(&name).ok_or_else(|| unknown_shell(&name))?;
    let typed = typed_words(words);
    if typed.is_empty() {
        printer.bytes(&script(&name, env)?);
        return Ok(ExitStatus::Done);
    }
    let mut command = match shell_line::words_after_sh(&typed) {
        Some(words) => shell_line::command(known().as_deref(), &words),
        None => CommandLineArgs::command(),
    };
    command.build();
    let mut candidates = Vec::new();
    completer
        .write_complete(&mut command, typed, env.current_dir.as_deref(), &mut candidates)
        .map_err(|error| {
            CommandFailure::usage(format!("this line cannot be completed: {error}"))
        })?;
    printer.bytes(&candidates);
    Ok(ExitStatus::Done)
}

/// Completes what the catalog has for the word typed so far.
fn from_catalog(find: fn(&Catalog, &str) -> Vec<(String, String)>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let Some(catalog) = known() else { return Vec::new() };
        matching(current, find(&catalog, &current.to_string_lossy()))
    })
}

/// Completes a capability's id.
pub(crate) fn ids() -> ArgValueCompleter {
    from_catalog(|catalog, _| id_candidates(catalog))
}

/// Completes a capability's id, or `ID.TOOL` once there is a dot.
pub(crate) fn ids_and_tools() -> ArgValueCompleter {
    from_catalog(|catalog, current| match current.split_once('.') {
        None => id_candidates(catalog),
        Some((id, _)) => {
            let tools = tools(catalog.get(id));
            tools.map(|tool| (format!("{id}.{}", tool.name()), about(tool))).collect()
        }
    })
}

/// Completes a tool of the capability already typed.
pub(crate) fn tools_of_id() -> ArgValueCompleter {
    from_catalog(|catalog, _| tool_candidates(typed_target(catalog).0))
}

/// Completes a tool, and after it the names of its arguments.
pub(crate) fn tool_or_arguments() -> ArgValueCompleter {
    from_catalog(|catalog, _| match typed_target(catalog) {
        (capability, None) => tool_candidates(capability),
        (_, Some(tool)) => argument_candidates(tool),
    })
}

/// Completes an agent's id, or a file.
pub(crate) fn agents_and_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let agents = AgentClient::all().iter();
        let agents = agents.map(|client| (client.id.to_owned(), client.name.to_owned()));
        let mut found = matching(current, agents);
        found.extend(PathCompleter::file().complete(current));
        found
    })
}

/// The catalog of the decks in force.
fn known() -> Option<Arc<Catalog>> {
    Some(settings()?.open_host().ok()?.catalog())
}

/// The settings of the line being typed. One that names other decks is understood, too.
fn settings() -> Option<CommandSettings> {
    let env = EnvVars::read();
    let typed = typed_words(env_vars::words());
    let flag = |name: &str| {
        let position = typed.iter().position(|word| word == name)?;
        typed.get(position + 1).map(PathBuf::from)
    };
    let (project, config) = (flag("--project"), flag("--config"));
    let global = GlobalArgs { project, config, quiet: true, ..GlobalArgs::default() };
    CommandSettings::resolve(&global, &env).ok()
}

fn typed_words(mut words: Vec<OsString>) -> Vec<OsString> {
    match words.iter().position(|word| word == "--") {
        Some(position) => words.split_off(position + 1),
        None => Vec::new(),
    }
}

/// The words before the one being typed.
fn words_before() -> Vec<String> {
    let mut typed = typed_words(env_vars::words());
    typed.pop();
    typed.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The capability, and the tool of it, that the line names so far.
fn typed_target(catalog: &Catalog) -> (Option<&Arc<Capability>>, Option<&Arc<Tool>>) {
    // The first two words are the program and the command.
    let mut rest = words_before().into_iter().skip(2);
    let target = rest.find_map(|word| {
        let (id, tool) = tool_target::split(&word);
        catalog.get(&id).map(|capability| (capability, tool))
    });
    let Some((capability, tool)) = target else { return (None, None) };
    let named = |name: &str| tools(Some(capability)).find(|tool| tool.name() == name);
    let tool = match tool {
        Some(name) => named(&name),
        None => rest.find_map(|word| named(&word)),
    };
    (Some(capability), tool)
}

fn tools(capability: Option<&Arc<Capability>>) -> impl Iterator<Item = &Arc<Tool>> {
    capability.into_iter().filter_map(|one| one.discovery.as_ref()).flat_map(|known| &known.tools)
}

fn tool_candidates(capability: Option<&Arc<Capability>>) -> Vec<(String, String)> {
    tools(capability).map(|tool| (tool.name().to_owned(), about(tool))).collect()
}

fn id_candidates(catalog: &Catalog) -> Vec<(String, String)> {
    let definitions = catalog.capabilities().map(|capability| &capability.definition);
    definitions.map(|one| (one.id.to_string(), one.name.clone())).collect()
}

fn argument_candidates(tool: &Tool) -> Vec<(String, String)> {
    let schema = schema_value(tool.input_schema());
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let about = |property: &Value| property["description"].as_str().unwrap_or_default().to_owned();
    properties.map(|(name, property)| (format!("{name}="), about(property))).collect()
}

fn about(tool: &Tool) -> String {
    tool.description().or_else(|| tool.title()).unwrap_or_default()
}

fn matching(
    current: &OsStr,
    candidates: impl IntoIterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    candidates
        .into_iter()
        .filter(|(text, _)| text.starts_with(current.as_ref()))
        .map(|(text, help)| {
            let help = one_line(help.lines().next().unwrap_or_default());
            CompletionCandidate::new(text).help((!help.is_empty()).then(|| help.into()))
        })
        .collect()
}

fn unknown_shell(name: &str) -> CommandFailure {
    CommandFailure::usage(format!("there are no completions for the shell `{name}`"))
        .hint("use bash, elvish, fish, powershell or zsh")
}

/// More than a person reads.
const MAX_COMPLETIONS: usize = 200;

pub(crate) fn capsules() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let listed = ask(None, ListCapsulesRequest::default());
        let found = listed.into_iter().flat_map(|listed| listed.capsules);
        matching(current, found.map(|capsule| (capsule.info.id, capsule.info.name)))
    })
}

/// Completes the address of an entry of the capsule already typed, or a part of the address space.
pub(crate) fn entries() -> ArgValueCompleter {
    ArgValueCompleter::new(addresses)
}

fn addresses(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(capsule) = typed_capsule() else { return Vec::new() };
    let typed = current.to_string_lossy();
    let Some((scheme, _)) = typed.split_once("://") else {
        let listed = ask(Some(&capsule), SchemesRequest);
        let schemes = listed.into_iter().flat_map(|listed| listed.schemes);
        let shown = schemes.map(|scheme| (format!("{}://", scheme.name), scheme.title));
        return matching(current, shown);
    };
    let query = ListQuery {
        scheme: Some(scheme.to_owned()),
        limit: MAX_COMPLETIONS,
        ..ListQuery::default()
    };
    let found = ask(Some(&capsule), query).into_iter().flat_map(|page| page.entries);
    matching(current, found.map(|entry| (entry.uri.to_string(), entry.title)))
}

/// The capsule that the line names: the first word after `capsule`, `audit` and what is asked of them.
fn typed_capsule() -> Option<String> {
    let mut words = words_before().into_iter();
    words.find(|word| word == "capsule" || word == "audit")?;
    let mut rest = words.filter(|word| !word.starts_with('-'));
    let command = rest.next()?;
    let next = rest.next()?;
    let is_nested = matches!(
        (command.as_str(), next.as_str()),
        ("schemes", "add" | "remove") | ("share", "list" | "revoke")
    );
    if is_nested { rest.next() } else { Some(next) }
}

/// Asks the capsules. The data folder is only read: no lock is taken and nothing is recorded.
fn ask<C: CapsuleCall>(capsule: Option<&str>, call: C) -> Option<C::Response> {
    let folder = settings()?.data_dir;
    if !folder.is_dir() {
        return None;
    }
    let options = StoreOptions { mode: StoreMode::ReadOnly, ..StoreOptions::default() };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("capdeck"));
    single_thread().ok()?.block_on(async {
        let capsules = LocalCapsuleService::open(&folder, options).await.ok()?;
        capsules.ask(caller.request(capsule, call)).await.ok()
    })
}
