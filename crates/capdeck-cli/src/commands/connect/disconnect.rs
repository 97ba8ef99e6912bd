//! `capdeck disconnect`: the entries out of agents' files again.

use capdeck_install::{
    AgentClient, ClientEntryChange, ClientEntryPlan, ClientEntryRecords, ClientEntryTarget,
    ClientScope, ConnectError, EntryPresence, OverwritePolicy, plan_disconnect, presence,
};

use super::{NAME, SCOPES, apply, client, client_ids, folders, report, targets};
use crate::{
    args::choice,
    commands::CommandContext,
    errors::{CommandResult, ExitStatus},
    settings::CommandSettings,
};

/// Take Capdeck out of agents' configuration again
///
/// A file that has not changed since gets its former bytes back, and one that was made for the entry goes. In any other file only the
/// entry goes.
#[derive(Debug, clap::Args)]
pub(crate) struct DisconnectArgs {
    /// The agents.
    #[arg(value_name = "CLIENT", value_parser = client_ids(), required_unless_present = "all")]
    clients: Vec<String>,
    /// Every agent that is connected, in every project.
    #[arg(long, conflicts_with_all = ["clients", "scope", "name", "force"])]
    all: bool,
    /// Only in this scope; in every one by default.
    #[arg(long, value_name = "SCOPE", value_parser = choice(SCOPES))]
    scope: Option<ClientScope>,
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

pub(crate) fn disconnect(args: &DisconnectArgs, context: &CommandContext<'_>) -> CommandResult {
    let DisconnectArgs { clients, all, scope, name, dry_run, force } = args;
    let settings = context.settings()?;
    let records = ClientEntryRecords::new(&settings.state_dir);
    let folders = folders(&settings, context)?;
    let foreign = OverwritePolicy::from_force(*force);
    let _alone = if *dry_run { None } else { Some(records.hold()?) };
    if *all {
        let targets = connected_entries(&settings, &records, context)?;
        return disconnect_all(&targets, *dry_run, &records, context);
    }
    let mut plans: Vec<ClientEntryPlan> = Vec::new();
    for id in clients {
        let targets = targets(client(id)?, *scope, name, &folders)?;
        for target in targets {
            plans.push(plan_disconnect(&target, foreign, &records)?);
        }
    }
    apply(&plans, *dry_run, &records)?;
    // Where one scope had the entry, that another had none is no news.
    let found = plans.iter().any(|plan| plan.change != ClientEntryChange::None);
    if found && scope.is_none() {
        plans.retain(|plan| plan.change != ClientEntryChange::None);
    }
    report(&plans, *dry_run, context);
    Ok(ExitStatus::Done)
}

/// Takes out what can be taken out. A file that cannot be read does not keep the others connected.
fn disconnect_all(
    targets: &[ClientEntryTarget],
    dry_run: bool,
    records: &ClientEntryRecords,
    context: &CommandContext<'_>,
) -> CommandResult {
    let mut plans = Vec::new();
    let mut has_failed = false;
    for target in targets {
        let outcome = plan_disconnect(target, OverwritePolicy::Keep, records).and_then(|plan| {
            if !dry_run {
                plan.apply(records)?;
            }
            Ok(plan)
        });
        match outcome {
            Ok(plan) if plan.change == ClientEntryChange::None => {}
            Ok(plan) => plans.push(plan),
            Err(error) => {
                has_failed = true;
                context.printer.warn(&error.to_string());
            }
        }
    }
    if plans.is_empty() && !has_failed && !context.printer.wants_json() {
        context.printer.note("No agent is connected");
    }
    report(&plans, dry_run, context);
    Ok(ExitStatus::done_unless(has_failed))
}

/// Every entry that leads to Capdeck: those that were written, in whichever project and under whichever name, and those
/// of the usual name in the files of this person and project.
pub(in crate::commands) fn connected_entries(
    settings: &CommandSettings,
    records: &ClientEntryRecords,
    context: &CommandContext<'_>,
) -> Result<Vec<ClientEntryTarget>, ConnectError> {
    let mut found = records.targets()?;
    let Ok(folders) = folders(settings, context) else { return Ok(found) };
    for client in AgentClient::all() {
        for target in targets(client, None, NAME, &folders)? {
            let is_known =
                found.iter().any(|one| (&one.file, &one.name) == (&target.file, &target.name));
            let is_ours = matches!(presence(&target, records), Ok(EntryPresence::Ours));
            if !is_known && is_ours {
                found.push(target);
            }
        }
    }
    Ok(found)
}
