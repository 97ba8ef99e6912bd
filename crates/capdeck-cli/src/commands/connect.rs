//! `capdeck connect CLIENT…`: an entry for Capdeck in the configuration of an agent.

mod failure;
mod folders;
mod launch;
mod list;
mod report;

use capdeck_install::{Client, Foreign, Plan, Records, Scope, plan_connect};

pub(super) use self::{
    folders::{folders, target},
    launch::LaunchSettings,
    report::{report, to_json as plan_to_json},
};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// What the entry is called when no name was given.
pub(super) const NAME: &str = "capdeck";

/// Connect agents: put Capdeck into their own configuration
///
/// Only one entry is written. Comments, formatting and everything else in the file stay as they are, and `capdeck disconnect` brings
/// the former file back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck connect claude-code cursor
  capdeck connect codex --dry-run
  capdeck connect vscode --scope user --url http://127.0.0.1:7717")]
pub(crate) struct ConnectArgs {
    /// The agents.
    #[arg(value_name = "CLIENT", value_parser = client_ids(), required_unless_present = "list")]
    clients: Vec<String>,
    /// Show which agents are here and which are connected, and change nothing.
    #[arg(long, conflicts_with_all = ["clients", "url", "dry_run", "force"])]
    list: bool,
    #[command(flatten)]
    entry: EntryArgs,
    /// Show what would change as a diff, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace an entry of the same name that is not Capdeck's.
    #[arg(long)]
    force: bool,
}

/// Which entry is meant, and what it says.
#[derive(Debug, clap::Args)]
pub(crate) struct EntryArgs {
    /// For you in every project, or for everybody in this one; the usual one for each agent if left out.
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(super) scope: Option<ScopeChoice>,
    /// Reach a running `capdeck up` at this address instead of starting a process.
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// What the entry is called.
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = entry_name)]
    pub(super) name: String,
}

/// A scope as it is typed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum ScopeChoice {
    /// Your own configuration.
    User,
    /// The project's configuration.
    Project,
}

pub(crate) fn run(args: &ConnectArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ConnectArgs { clients, list, entry, dry_run, force } = args;
    let settings = context.settings()?;
    let records = Records::new(&settings.state_dir);
    let scope = entry.scope.map(Scope::from);
    if *list {
        return list::run(scope, &entry.name, &settings, &records, context);
    }
    let launch = LaunchSettings::resolve(entry.url.as_deref(), &settings, context)?;
    let foreign = if *force { Foreign::Replace } else { Foreign::Keep };
    let _alone = if *dry_run { None } else { Some(records.hold()?) };
    // All plans before the first write: one that cannot be made leaves every file as it was.
    let mut plans: Vec<Plan> = Vec::new();
    for id in clients {
        let target = target(client(id)?, scope, &entry.name, &settings, context)?;
        if plans.iter().any(|plan| plan.target.file == target.file) {
            continue;
        }
        let entry = launch.entry(&target);
        plans.push(plan_connect(&target, &entry, foreign, &records)?);
    }
    if !*dry_run {
        for plan in &plans {
            plan.apply(&records)?;
        }
    }
    report(&plans, *dry_run, context);
    if launch.names_a_path() && plans.iter().any(|plan| plan.target.scope == Scope::Project) {
        context.printer.warn(
            "`capdeck` is not on the PATH, so the project's file names a path that is there only on this machine",
        );
    }
    Ok(ExitStatus::Done)
}

/// Every id, for help, completions and suggestions.
pub(super) fn client_ids() -> clap::builder::PossibleValuesParser {
    Client::all().iter().map(|client| client.id).collect::<Vec<_>>().into()
}

/// The client of an id that was checked before.
pub(super) fn client(id: &str) -> Result<&'static Client, Failure> {
    Client::find(id).ok_or_else(|| Failure::usage(format!("there is no agent `{id}`")))
}

/// Names that every client takes: some make parts of tool names of them.
fn entry_name(text: &str) -> Result<String, String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.len() <= 64 && text.chars().all(is_legal) {
        return Ok(text.to_owned());
    }
    Err("use 1 to 64 letters, digits, `_` or `-`".to_owned())
}

impl From<ScopeChoice> for Scope {
    fn from(choice: ScopeChoice) -> Self {
        match choice {
            ScopeChoice::User => Self::User,
            ScopeChoice::Project => Self::Project,
        }
    }
}
