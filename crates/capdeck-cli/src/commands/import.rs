//! `capdeck import SOURCE`: the servers an agent or a file has, as capabilities.

mod deck;
mod report;
mod source;

use std::path::{Path, PathBuf};

use capdeck_install::{
    AgentClient, ClientEntryPlan, ClientEntryRecords, ClientEntryTarget, ClientScope,
    ClientServerEntry, OverwritePolicy, ServerBlock, import_server, is_capdeck, plan_connect,
};
use serde::Serialize;
use serde_json::{Value, json};

use self::{
    deck::{ServerImport, TargetDeck},
    source::{ReadSource, ServerSource},
};
use super::{
    connect::{
        EntryArgs, EntryLimits, FoundAgent, LaunchSettings, apply, choose_agents, folders, targets,
    },
    starter::StarterNotice,
};
use crate::{
    commands::CommandContext,
    completion::agents_and_files,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{counted, one_line},
};

/// Import the MCP servers of an agent, a file or a pasted block
///
/// Takes every block of servers that an agent or a README may have: JSON, JSONC, TOML or YAML, under `mcpServers`, `servers`, `mcp`,
/// `mcp_servers` or `context_servers`, or a bare map of names to servers. Each server becomes a capability file. What looks like a
/// secret goes into the vault, and the file only names it. The agent's own configuration stays as it is, unless --replace puts
/// Capdeck in the place of what was imported; `capdeck disconnect` brings it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck import cursor --dry-run
  capdeck import claude-desktop github linear
  capdeck import codex --replace
  capdeck import ./mcp.json
  capdeck import - < servers.toml")]
pub(crate) struct ImportArgs {
    /// An agent such as `cursor`, a file, or `-` to read stdin; without one, the agents that are installed are offered.
    #[arg(value_name = "SOURCE", add = agents_and_files())]
    source: Option<String>,
    /// Only these servers, by the names they have there.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    entry: EntryArgs,
    /// Write to the project's deck instead of your own.
    #[arg(long)]
    project_deck: bool,
    /// Connect Capdeck to the agent in place of the imported servers.
    #[arg(long)]
    replace: bool,
    /// Show what would be imported, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace capability files and vault entries that are already there.
    #[arg(long)]
    force: bool,
}

/// One server and what became of it.
#[derive(Serialize)]
struct ImportItem {
    name: String,
    /// None for what is no agent's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ClientScope>,
    /// The project that the agent has it for, where its file has servers of single projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(flatten)]
    outcome: ServerImport,
}

impl ImportItem {
    /// Whether the deck has it now, so that the agent need not.
    fn is_kept(&self) -> bool {
        matches!(self.outcome, ServerImport::Kept { .. })
    }
}

/// What was read, and what became of it.
struct ServersImport {
    source: ServerSource,
    read: Vec<ReadSource>,
    items: Vec<ImportItem>,
    plans: Vec<ClientEntryPlan>,
    /// Servers of projects other than the one in force.
    elsewhere: usize,
}

pub(crate) fn run(args: &ImportArgs, context: &CommandContext<'_>) -> CommandResult {
    if let Some(source) = &args.source {
        return import(ServerSource::parse(source, context)?, args, context);
    }
    let found = agents_with_servers(args, context)?;
    let mut status = ExitStatus::Done;
    for id in choose_agents(&found, "import", context)? {
        if import(ServerSource::parse(&id, context)?, args, context)? != ExitStatus::Done {
            status = ExitStatus::RequestFailed;
        }
    }
    Ok(status)
}

/// The agents that are installed, with the servers they have.
fn agents_with_servers(
    args: &ImportArgs,
    context: &CommandContext<'_>,
) -> Result<Vec<FoundAgent>, CommandFailure> {
    let settings = context.settings()?;
    let folders = folders(&settings, context)?;
    let project = settings.project.as_ref().map(|project| project.dir.as_path());
    let mut found = Vec::new();
    for client in AgentClient::all() {
        let mut names = Vec::new();
        for target in targets(client, args.entry.scope, &args.entry.name, &folders)? {
            // A file that cannot be read is reported when the agent is named.
            let Ok(Some(mut read)) = ReadSource::agent_file(&target) else { continue };
            drop_other_projects(&mut read, project);
            let servers = read.blocks.into_iter().flat_map(|block| block.servers);
            names.extend(servers.filter(|server| !is_own(server, &args.entry)).map(|one| one.name));
        }
        if !names.is_empty() {
            let servers = counted(names.len(), "server", "servers");
            let note = format!("{servers}: {}", one_line(&names.join(", ")));
            found.push(FoundAgent { client, note, is_done: false });
        }
    }
    Ok(found)
}

/// Whether a server of an agent's file is Capdeck itself.
fn is_own(server: &ClientServerEntry, entry: &EntryArgs) -> bool {
    let fields = server.server.as_ref().ok().map(|fields| json!(fields.server));
    server.name == entry.name || fields.is_some_and(|fields| is_capdeck(&fields))
}

fn import(source: ServerSource, args: &ImportArgs, context: &CommandContext<'_>) -> CommandResult {
    let ImportArgs { source: _, ids, entry, project_deck, replace, dry_run, force } = args;
    let settings = context.settings()?;
    let starter = StarterNotice::of(&settings);
    let mut deck = TargetDeck::new(&settings, *project_deck, *force, *dry_run);
    let targets = match &source {
        ServerSource::Agent(client) => {
            targets(client, entry.scope, &entry.name, &folders(&settings, context)?)?
        }
        ServerSource::File(_) | ServerSource::Stdin => {
            refuse_agent_flags(args)?;
            Vec::new()
        }
    };
    let mut read = match &source {
        ServerSource::Agent(_) => targets
            .iter()
            .filter_map(|target| ReadSource::agent_file(target).transpose())
            .collect::<Result<Vec<_>, _>>()?,
        ServerSource::File(file) => vec![ReadSource::file(file)?],
        ServerSource::Stdin => vec![ReadSource::stdin(context)?],
    };
    let project = settings.project.as_ref().map(|project| project.dir.as_path());
    let elsewhere = match &source {
        ServerSource::Agent(_) => {
            read.iter_mut().map(|one| drop_other_projects(one, project)).sum()
        }
        ServerSource::File(_) | ServerSource::Stdin => 0,
    };
    let mut items = Vec::new();
    for one in &read {
        for block in &one.blocks {
            for server in &block.servers {
                let is_wanted = ids.is_empty() || ids.contains(&server.name);
                if !is_wanted || is_own(server, entry) {
                    continue;
                }
                let outcome = match import_server(server, &one.inputs) {
                    Ok(imported) => deck.keep(imported, &owner(one, block)),
                    Err(reason) => ServerImport::Refused { reason },
                };
                let (name, project) = (server.name.clone(), block.project.clone());
                items.push(ImportItem { name, scope: one.scope, project, outcome });
            }
        }
    }
    if let Some(missing) = ids.iter().find(|id| !items.iter().any(|item| item.name == **id)) {
        let message = format!("{} has no server `{missing}`", source.title());
        return Err(CommandFailure::request("SERVER_NOT_FOUND", message)
            .hint(format!("see what it has with: capdeck import {} --dry-run", source.word())));
    }
    let plans =
        if *replace { replace_servers(&targets, &items, args, context)? } else { Vec::new() };
    let outcome = ServersImport { source, read, items, plans, elsewhere };
    report::print(&outcome, args, context);
    if !*dry_run {
        starter.tell(context);
        report::ask_for_missing(&outcome.items, &settings, context)?;
    }
    let is_refused = |item: &ImportItem| matches!(item.outcome, ServerImport::Refused { .. });
    Ok(ExitStatus::done_unless(outcome.items.iter().any(is_refused)))
}

/// Flags about the entry in an agent's file mean nothing for another file.
fn refuse_agent_flags(args: &ImportArgs) -> Result<(), CommandFailure> {
    let EntryArgs { scope, url, name: _ } = &args.entry;
    if args.replace || scope.is_some() || url.is_some() {
        let message = "--replace, --scope and --url need an agent as the source";
        return Err(CommandFailure::usage(message)
            .hint("import the file, then connect the agent with: capdeck connect CLIENT"));
    }
    Ok(())
}

/// Leaves the servers that hold everywhere or in this project. Returns how many others there are.
fn drop_other_projects(read: &mut ReadSource, project: Option<&Path>) -> usize {
    let is_here = |block: &ServerBlock| {
        let folder = block.project.as_deref().map(|folder| {
            let folder = PathBuf::from(folder);
            folder.canonicalize().unwrap_or(folder)
        });
        folder.is_none_or(|folder| Some(folder.as_path()) == project)
    };
    let count =
        |blocks: &[ServerBlock]| blocks.iter().map(|block| block.servers.len()).sum::<usize>();
    let all = count(&read.blocks);
    read.blocks.retain(is_here);
    all - count(&read.blocks)
}

/// What tells a server apart from another one of the same name: its project, else its scope.
fn owner(read: &ReadSource, block: &ServerBlock) -> String {
    let folder = block.project.as_deref().map(Path::new).and_then(Path::file_name);
    let name = match (folder, read.scope) {
        (Some(folder), _) => folder.to_string_lossy().into_owned(),
        (None, Some(scope)) => scope.as_str().to_owned(),
        (None, None) => String::new(),
    };
    let is_legal = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().filter(is_legal).collect()
}

/// Puts Capdeck where the servers were. What was not imported stays with the agent.
fn replace_servers(
    targets: &[ClientEntryTarget],
    items: &[ImportItem],
    args: &ImportArgs,
    context: &CommandContext<'_>,
) -> Result<Vec<ClientEntryPlan>, CommandFailure> {
    let settings = context.settings()?;
    let records = ClientEntryRecords::new(&settings.state_dir);
    let launch = LaunchSettings::resolve(
        args.entry.url.as_deref(),
        &EntryLimits::default(),
        &settings,
        context,
    )?;
    let _alone = if args.dry_run { None } else { Some(records.hold()?) };
    let mut plans = Vec::new();
    for target in targets {
        let is_of_target = |item: &&ImportItem| {
            item.scope == Some(target.scope) && item.project.is_none() && item.is_kept()
        };
        let taken: Vec<String> =
            items.iter().filter(is_of_target).map(|item| item.name.clone()).collect();
        if !taken.is_empty() {
            let entry = launch.entry(target);
            plans.push(plan_connect(target, &entry, &taken, OverwritePolicy::Keep, &records)?);
        }
    }
    apply(&plans, args.dry_run, &records)?;
    Ok(plans)
}

/// `{file, servers}` of everything that was read.
fn sources_to_json(read: &[ReadSource]) -> Vec<Value> {
    let count =
        |one: &ReadSource| one.blocks.iter().map(|block| block.servers.len()).sum::<usize>();
    read.iter().map(|one| json!({ "file": one.file, "servers": count(one) })).collect()
}
