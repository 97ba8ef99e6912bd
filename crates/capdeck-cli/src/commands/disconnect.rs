//! `capdeck disconnect CLIENT…`: the entry for Capdeck out of an agent's configuration again.

use capdeck_install::{EntryChange, Foreign, Plan, Records, Scope, Target, plan_disconnect};

use super::connect::{NAME, ScopeChoice, client, client_ids, folders, report};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Take Capdeck out of agents' configuration again
///
/// A file that nobody else changed gets its former bytes back, and one that was made for the entry goes. In any other file only the
/// entry goes.
#[derive(Debug, clap::Args)]
pub(crate) struct DisconnectArgs {
    /// The agents.
    #[arg(value_name = "CLIENT", value_parser = client_ids(), required = true)]
    clients: Vec<String>,
    /// Only in this scope; in every one if left out.
    #[arg(long, value_enum, value_name = "SCOPE")]
    scope: Option<ScopeChoice>,
    /// What the entry is called.
    #[arg(long, value_name = "NAME", default_value = NAME)]
    name: String,
    /// Show what would change as a diff, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take the entry out even if it is not Capdeck's.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &DisconnectArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let DisconnectArgs { clients, scope, name, dry_run, force } = args;
    let settings = context.settings()?;
    let records = Records::new(&settings.state_dir);
    let folders = folders(&settings, context)?;
    let scope = scope.map(Scope::from);
    let foreign = if *force { Foreign::Replace } else { Foreign::Keep };
    let _alone = if *dry_run { None } else { Some(records.hold()?) };
    let mut plans: Vec<Plan> = Vec::new();
    for id in clients {
        let client = client(id)?;
        match scope {
            Some(scope) => {
                let target = Target::new(client, scope, name, &folders)?;
                plans.push(plan_disconnect(&target, foreign, &records)?);
            }
            None => {
                let all = client.scopes().into_iter();
                for target in
                    all.filter_map(|scope| Target::new(client, scope, name, &folders).ok())
                {
                    plans.push(plan_disconnect(&target, foreign, &records)?);
                }
            }
        }
    }
    if !*dry_run {
        for plan in &plans {
            plan.apply(&records)?;
        }
    }
    // Where one scope had the entry, that another had none is no news.
    let found = plans.iter().any(|plan| plan.change != EntryChange::None);
    if found && scope.is_none() {
        plans.retain(|plan| plan.change != EntryChange::None);
    }
    report(&plans, *dry_run, context);
    Ok(ExitStatus::Done)
}
