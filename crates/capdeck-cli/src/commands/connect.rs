//! `capdeck connect CLIENT…`: an entry for Capdeck in the configuration of an agent.

mod choose;
mod disconnect;
mod launch;
mod limits;

use std::path::PathBuf;

use capdeck_install::{
    AgentClient, ClientEntryChange, ClientEntryPlan, ClientEntryRecords, ClientEntryTarget,
    ClientFolders, ClientScope, ConnectError, EntryPresence, OverwritePolicy, plan_connect,
    presence,
};
use serde_json::{Value, json};

use crate::{
    args::{ChoiceRow, choice},
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{one_line, without_nulls},
    printer::TextStyle,
    settings::CommandSettings,
    table::{TextTable, cell, styled},
};

pub(super) use self::{
    choose::{FoundAgent, choose_agents, installed_agents},
    disconnect::{DisconnectArgs, connected_entries, disconnect},
    launch::LaunchSettings,
    limits::{EntryLimits, view_problems},
};

/// What the entry is called when no name was given.
pub(super) const NAME: &str = "capdeck";

/// Connect agents: put Capdeck into their own configuration
///
/// Once for each agent that is to use your deck; it starts Capdeck itself from then on. Only one entry is written. Comments, formatting and everything else in the file stay as they are, and `capdeck disconnect` brings
/// the former file back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck connect claude-code cursor
  capdeck connect codex --dry-run
  capdeck connect cursor --only github,time
  capdeck connect codex --view reviewer --exposure search
  capdeck connect vscode --scope user --url http://127.0.0.1:7717")]
pub(crate) struct ConnectArgs {
    /// The agents; without one, those that are installed are offered.
    #[arg(value_name = "CLIENT", value_parser = client_ids())]
    clients: Vec<String>,
    /// Show which agents are here and which are connected, and change nothing.
    #[arg(long, conflicts_with_all = ["clients", "url", "dry_run", "force"])]
    list: bool,
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    limits: EntryLimits,
    /// Let the agent call every tool without a question of its own; Capdeck still asks before destructive calls. For agents
    /// that refuse such calls where they cannot ask, such as `codex exec`.
    #[arg(long)]
    approve_calls: bool,
    /// Show what would change as a diff, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace an entry of the same name that is not Capdeck's, or that limits the agent more than the new one.
    #[arg(long)]
    force: bool,
}

/// Which entry is meant, and what it says.
#[derive(Debug, clap::Args)]
pub(crate) struct EntryArgs {
    /// For you in every project, or for everyone in this one; the usual one of each agent by default.
    #[arg(long, value_name = "SCOPE", value_parser = choice(SCOPES))]
    pub(super) scope: Option<ClientScope>,
    /// Reach a running `capdeck up` at this address instead of starting a process.
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// What the entry is called.
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = entry_name)]
    pub(super) name: String,
}

const SCOPES: [ChoiceRow<ClientScope>; 2] = [
    ("user", "Your own configuration", ClientScope::User),
    ("project", "The project's configuration", ClientScope::Project),
];

pub(crate) fn connect(args: &ConnectArgs, context: &CommandContext<'_>) -> CommandResult {
    let ConnectArgs { clients, list, entry, limits, approve_calls, dry_run, force } = args;
    let settings = context.settings()?;
    let records = ClientEntryRecords::new(&settings.state_dir);
    let scope = entry.scope;
    if *list {
        return show_clients(scope, &entry.name, &settings, &records, context);
    }
    if entry.url.is_none() {
        limits.check(&settings)?;
    }
    let launch = LaunchSettings::resolve(entry.url.as_deref(), limits, &settings, context)?;
    let chosen;
    let clients: &[String] = match clients.as_slice() {
        [] => {
            let found = installed_agents(&entry.name, &settings, &records, context)?;
            chosen = choose_agents(&found, "connect", context)?;
            &chosen
        }
        named => named,
    };
    let foreign = OverwritePolicy::from_force(*force);
    let _alone = if *dry_run { None } else { Some(records.hold()?) };
    // All plans before the first write: one that cannot be made leaves every file as it was.
    let mut plans: Vec<ClientEntryPlan> = Vec::new();
    for id in clients {
        let target = target(client(id)?, scope, &entry.name, &settings, context)?;
        if plans.iter().any(|plan| plan.target.file == target.file) {
            continue;
        }
        let mut entry = launch.entry(&target);
        if let Some((key, value)) = target.client.unasked_calls()
            && (*approve_calls || may_call_unasked(target.client, *dry_run, context))
        {
            entry[key] = json!(value);
        }
        plans.push(plan_connect(&target, &entry, &[], foreign, &records)?);
    }
    apply(&plans, *dry_run, &records)?;
    report(&plans, *dry_run, context);
    if launch.names_a_path() && plans.iter().any(|plan| plan.target.scope == ClientScope::Project) {
        context.printer.warn(
            "`capdeck` is not on the PATH, so the project's file names a path that is there only on this machine",
        );
    }
    Ok(ExitStatus::Done)
}

/// Asks whether an agent that refuses calls where it cannot ask may make them without a question. No, where no one can be
/// asked.
fn may_call_unasked(client: &AgentClient, dry_run: bool, context: &CommandContext<'_>) -> bool {
    let name = client.name;
    if dry_run {
        return false;
    }
    if context.printer.asker().is_none() {
        context.printer.note(&format!(
            "{name} asks before each call that may change something, and refuses it where it cannot ask; \
             let it call with --approve-calls (Capdeck still asks before destructive calls)"
        ));
        return false;
    }
    context.printer.confirm(&format!(
        "{name} asks before each call that may change something, and refuses it where it cannot ask, as without a terminal.\n\
         Capdeck itself asks before destructive calls, in every agent. Let {name} call without its own question?"
    ))
}

/// Carries plans out, unless only to show them.
pub(super) fn apply(
    plans: &[ClientEntryPlan],
    dry_run: bool,
    records: &ClientEntryRecords,
) -> Result<(), ConnectError> {
    plans.iter().filter(|_| !dry_run).try_for_each(|plan| plan.apply(records))
}

/// Every id, for help, completions and suggestions.
pub(super) fn client_ids() -> clap::builder::PossibleValuesParser {
    AgentClient::all().iter().map(|client| client.id).collect::<Vec<_>>().into()
}

/// The client of an id that was checked before.
pub(super) fn client(id: &str) -> Result<&'static AgentClient, CommandFailure> {
    AgentClient::find(id).ok_or_else(|| CommandFailure::usage(format!("there is no agent `{id}`")))
}

/// Names that every client takes: some make parts of tool names of them.
fn entry_name(text: &str) -> Result<String, String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.len() <= 64 && text.chars().all(is_legal) {
        return Ok(text.to_owned());
    }
    Err("use 1 to 64 letters, digits, `_` or `-`".to_owned())
}

/// Tells it: as text, or as `{items: [{client, scope, file, name, change, dryRun, diff?}]}`.
pub(super) fn report(plans: &[ClientEntryPlan], dry_run: bool, context: &CommandContext<'_>) {
    let printer = context.printer;
    if printer.wants_json() {
        let items: Vec<Value> = plans.iter().map(|plan| plan_to_json(plan, dry_run)).collect();
        printer.json(&json!({ "items": items }));
        return;
    }
    for plan in plans {
        if dry_run {
            let styles = [('+', TextStyle::Good), ('-', TextStyle::Bad)];
            printer.data(&printer.palette.paint_diff(&plan.diff(), &styles));
        }
        printer.note(&plan_line(plan, dry_run));
    }
    let wrote = plans
        .iter()
        .any(|plan| matches!(plan.change, ClientEntryChange::Add | ClientEntryChange::Replace));
    if wrote && !dry_run {
        printer
            .note("restart the agent, or reload its MCP servers, to see your capabilities there");
    }
}

pub(super) fn plan_to_json(plan: &ClientEntryPlan, dry_run: bool) -> Value {
    let target = &plan.target;
    without_nulls(json!({
        "client": target.client.id,
        "scope": target.scope,
        "file": target.file,
        "name": target.name,
        "change": plan.change,
        "dryRun": dry_run,
        "diff": dry_run.then(|| plan.diff()),
    }))
}

fn plan_line(plan: &ClientEntryPlan, dry_run: bool) -> String {
    let target = &plan.target;
    let (client, name) = (target.client.name, &target.name);
    let file = one_line(&target.file.display().to_string());
    let place = format!("{file} ({} scope)", target.scope.as_str());
    let would = if dry_run { "would be " } else { "" };
    match plan.change {
        ClientEntryChange::None => format!("{client}: nothing to change in {place}"),
        ClientEntryChange::Add => format!("{client}: `{name}` {would}added to {place}"),
        ClientEntryChange::Replace => format!("{client}: `{name}` {would}replaced in {place}"),
        ClientEntryChange::Remove if plan.after.is_none() => {
            format!("{client}: {place} {would}removed: nothing else was in it")
        }
        ClientEntryChange::Remove => format!("{client}: `{name}` {would}taken out of {place}"),
    }
}

/// The folders of the person and of the project in force.
pub(super) fn folders(
    settings: &CommandSettings,
    context: &CommandContext<'_>,
) -> Result<ClientFolders, CommandFailure> {
    let env = &context.env;
    let (Some(home), Some(base)) = (env.home.clone(), env.base.as_ref()) else {
        return Err(
            CommandFailure::setup("NO_HOME_FOLDER", "there is no home folder").hint("set HOME")
        );
    };
    let application_data = if cfg!(target_os = "macos") {
        home.join("Library/Application Support")
    } else {
        base.config.clone()
    };
    let project = settings.project.as_ref().map(|project| project.dir.clone());
    let path = settings.environment.get("PATH").map(std::env::split_paths);
    let search_path = path.into_iter().flatten().filter(|dir| dir.is_absolute()).collect();
    let config = base.config.clone();
    Ok(ClientFolders { home, config, application_data, project, search_path })
}

/// The entry that is meant. Without a project the person's own file is, where an agent has one.
pub(super) fn target(
    client: &'static AgentClient,
    scope: Option<ClientScope>,
    name: &str,
    settings: &CommandSettings,
    context: &CommandContext<'_>,
) -> Result<ClientEntryTarget, CommandFailure> {
    let folders = folders(settings, context)?;
    let usual = match client.default_scope {
        ClientScope::Project
            if folders.project.is_none() && client.scopes().contains(&ClientScope::User) =>
        {
            ClientScope::User
        }
        usual => usual,
    };
    Ok(ClientEntryTarget::new(client, scope.unwrap_or(usual), name, &folders)?)
}

/// The entry of the scope that was named, or of all that an agent has here.
pub(super) fn targets(
    client: &'static AgentClient,
    scope: Option<ClientScope>,
    name: &str,
    folders: &ClientFolders,
) -> Result<Vec<ClientEntryTarget>, ConnectError> {
    if let Some(scope) = scope {
        return Ok(vec![ClientEntryTarget::new(client, scope, name, folders)?]);
    }
    let scopes = client.scopes().into_iter();
    Ok(scopes.filter_map(|one| ClientEntryTarget::new(client, one, name, folders).ok()).collect())
}

impl From<ConnectError> for CommandFailure {
    fn from(error: ConnectError) -> Self {
        let message = error.to_string();
        match error {
            ConnectError::NoSuchScope { .. } => Self::usage(message).hint(
                "leave --scope out, or see which files there are with: capdeck connect --list",
            ),
            ConnectError::NoProject { .. } => Self::setup("NO_PROJECT", message).hint(
                "change to the project's folder, name it with --project DIR, or use --scope user",
            ),
            ConnectError::Read { .. }
            | ConnectError::IsFolder { .. }
            | ConnectError::Write(_)
            | ConnectError::Delete { .. } => Self::request("FILE_ERROR", message),
            ConnectError::NotText { .. } => Self::request("FILE_UNREADABLE", message)
                .hint("save it as UTF-8 and run this again"),
            ConnectError::Unreadable { file, source } => {
                let place = json!({ "file": file, "line": source.line, "column": source.column });
                Self::request("FILE_UNREADABLE", message)
                    .hint("repair that place and run this again")
                    .with_data(place)
            }
            ConnectError::Uneditable { .. } => Self::request("FILE_UNEDITABLE", message).hint(
                "write that part of the file in a more usual form, or change the entry by hand",
            ),
            ConnectError::LeadsOutside { .. } => Self::request("LEADS_OUTSIDE", message).hint(
                "replace the link with a file or folder of the project's own, or use --scope user",
            ),
            ConnectError::Taken { .. } => Self::request("NAME_TAKEN", message)
                .hint("choose another name with --name, or replace it with --force"),
            ConnectError::WouldWiden { lost, diff, .. } => Self::request("WOULD_WIDEN", message)
                .hint("repeat those flags to keep them, or replace the entry with --force")
                .with_data(json!({ "lost": lost, "diff": diff }))
                .with_details(diff),
            ConnectError::NotOurs { .. } => Self::request("NOT_OURS", message)
                .hint("take it out with --force, or leave it to the program that put it there"),
            ConnectError::ReadOnly { .. } => Self::request("FILE_ERROR", message)
                .hint("make it writable, or change it where it is made"),
            ConnectError::Changed { .. } => {
                Self::request("FILE_CHANGED", message).hint("run this again")
            }
        }
    }
}

/// One file of one agent.
struct ClientRow {
    target: ClientEntryTarget,
    /// Its program on the `PATH`.
    program: Option<PathBuf>,
    is_installed: bool,
    exists: bool,
    presence: Result<EntryPresence, String>,
}

/// Which agents are here, and which are connected.
fn show_clients(
    scope: Option<ClientScope>,
    name: &str,
    settings: &CommandSettings,
    records: &ClientEntryRecords,
    context: &CommandContext<'_>,
) -> CommandResult {
    let folders = folders(settings, context)?;
    let mut rows = Vec::new();
    for client in AgentClient::all() {
        // A project's file is nowhere when there is no project.
        let targets = targets(client, None, name, &folders)?.into_iter();
        for target in targets.filter(|target| scope.is_none_or(|scope| scope == target.scope)) {
            rows.push(ClientRow {
                program: client.program(&folders),
                is_installed: client.is_installed(&folders),
                exists: target.file.exists(),
                presence: presence(&target, records).map_err(|error| error.to_string()),
                target,
            });
        }
    }
    let items: Vec<Value> = rows.iter().map(row_to_json).collect();
    let printer = context.printer;
    printer.json_or(&json!({ "items": items }), || {
        let table = TextTable::new(["CLIENT", "SCOPE", "STATUS", "FILE"], &rows, |row| {
            let status = match &row.presence {
                Ok(EntryPresence::Ours) => styled(TextStyle::Good, "connected"),
                Ok(EntryPresence::Foreign) => styled(TextStyle::Careful, "name taken"),
                Ok(EntryPresence::Absent) if row.is_installed || row.exists => {
                    cell("not connected")
                }
                Ok(EntryPresence::Absent) => styled(TextStyle::Dim, "not found"),
                Err(_) => styled(TextStyle::Bad, "unreadable"),
            };
            let target = &row.target;
            let file = cell(target.file.display());
            [cell(target.client.id), cell(target.scope.as_str()), status, file]
        });
        table.print(printer);
        for problem in rows.iter().filter_map(|row| row.presence.as_ref().err()) {
            printer.warn(problem);
        }
    })
}

/// `{client, title, scope, file, key, installed, exists, status, problem?}`.
fn row_to_json(row: &ClientRow) -> Value {
    let client = row.target.client;
    let status = match &row.presence {
        Ok(EntryPresence::Ours) => "connected",
        Ok(EntryPresence::Foreign) => "taken",
        Ok(EntryPresence::Absent) => "absent",
        Err(_) => "unreadable",
    };
    without_nulls(json!({
        "client": client.id,
        "title": client.name,
        "scope": row.target.scope,
        "isDefaultScope": row.target.scope == client.default_scope,
        "file": row.target.file,
        "key": client.key(),
        "installed": row.is_installed,
        "program": row.program,
        "exists": row.exists,
        "status": status,
        "problem": row.presence.as_ref().err(),
    }))
}
