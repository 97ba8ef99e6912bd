//! `capdeck import CLIENT`: the servers an agent already has, as capabilities.

mod keep;

use capdeck_install::{
    Client, EntryChange, Foreign, Plan, Records, Scope, Target, is_capdeck, plan_takeover,
    take_server,
};
use serde_json::{Value, json};

use self::keep::{Deck, Outcome};
use super::connect::{
    EntryArgs, LaunchSettings, client, client_ids, folders, plan_to_json, report,
};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
};

/// Take over the MCP servers that an agent already has
///
/// Each becomes a capability file. What looks like a secret goes into the vault, and the file only names it. The agent's own
/// configuration stays as it is, unless --replace puts Capdeck in the place of what was taken; `capdeck disconnect` brings it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck import cursor --dry-run
  capdeck import claude-desktop github linear
  capdeck import codex --replace")]
pub(crate) struct ImportArgs {
    /// The agent.
    #[arg(value_name = "CLIENT", value_parser = client_ids())]
    client: String,
    /// Only these servers, by the names the agent has for them.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    entry: EntryArgs,
    /// Write to the project's deck instead of your own.
    #[arg(long)]
    project_deck: bool,
    /// Connect Capdeck to the agent in the place of the servers that were taken.
    #[arg(long)]
    replace: bool,
    /// Show what would be taken, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace capability files and vault entries that are already there.
    #[arg(long)]
    force: bool,
}

/// One server and what became of it.
struct Item {
    name: String,
    scope: Scope,
    outcome: Outcome,
}

pub(crate) fn run(args: &ImportArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ImportArgs { client: id, ids, entry, project_deck, replace, dry_run, force } = args;
    let client = client(id)?;
    let settings = context.settings()?;
    let deck = Deck::new(&settings, *project_deck, *force, *dry_run);
    let targets = targets(client, entry, context)?;
    let mut items = Vec::new();
    for target in &targets {
        let document = target.document()?;
        for server in client.servers(&document) {
            let is_wanted = ids.is_empty() || ids.contains(&server.name);
            let path = client.server_path(&document, &server.name);
            let is_ours = document.get(&path).is_some_and(is_capdeck) || server.name == entry.name;
            if !is_wanted || is_ours {
                continue;
            }
            let outcome = match take_server(&server) {
                Ok(taken) => deck.keep(&taken),
                Err(reason) => Outcome::Refused { reason },
            };
            items.push(Item { name: server.name, scope: target.scope, outcome });
        }
    }
    if let Some(missing) = ids.iter().find(|id| !items.iter().any(|item| item.name == **id)) {
        return Err(Failure::request(
            "SERVER_NOT_FOUND",
            format!("{} has no server `{missing}`", client.name),
        )
        .hint(format!("see what it has with: capdeck import {} --dry-run", client.id)));
    }
    let plans =
        if *replace { take_over(&targets, &items, entry, *dry_run, context)? } else { Vec::new() };
    tell(client, &items, &plans, args, context);
    let failed = items.iter().any(|item| matches!(item.outcome, Outcome::Refused { .. }));
    Ok(if failed { ExitStatus::RequestFailed } else { ExitStatus::Done })
}

/// The agent's files: the one of the scope that was named, or all that are there.
fn targets(
    client: &'static Client,
    entry: &EntryArgs,
    context: &Context<'_>,
) -> Result<Vec<Target>, Failure> {
    let folders = folders(&context.settings()?, context)?;
    if let Some(scope) = entry.scope {
        return Ok(vec![Target::new(client, scope.into(), &entry.name, &folders)?]);
    }
    let all = client.scopes().into_iter();
    Ok(all.filter_map(|scope| Target::new(client, scope, &entry.name, &folders).ok()).collect())
}

/// Puts Capdeck where the servers were. What could not be taken stays with the agent.
fn take_over(
    targets: &[Target],
    items: &[Item],
    entry: &EntryArgs,
    dry_run: bool,
    context: &Context<'_>,
) -> Result<Vec<Plan>, Failure> {
    let settings = context.settings()?;
    let records = Records::new(&settings.state_dir);
    let launch = LaunchSettings::resolve(entry.url.as_deref(), &settings, context)?;
    let _alone = if dry_run { None } else { Some(records.hold()?) };
    let mut plans = Vec::new();
    for target in targets {
        let taken: Vec<String> = items
            .iter()
            .filter(|item| item.scope == target.scope && item.outcome.is_kept())
            .map(|item| item.name.clone())
            .collect();
        if !taken.is_empty() {
            let entry = launch.entry(target);
            plans.push(plan_takeover(target, &entry, &taken, Foreign::Keep, &records)?);
        }
    }
    if !dry_run {
        for plan in &plans {
            plan.apply(&records)?;
        }
    }
    Ok(plans)
}

/// Tells it: as text, or as `{items: [{name, scope, status, id?, path?, secrets?, ignored?, reason?}], files: [...]}`.
fn tell(client: &Client, items: &[Item], plans: &[Plan], args: &ImportArgs, context: &Context<'_>) {
    let printer = context.printer;
    let (dry_run, project_deck) = (args.dry_run, args.project_deck);
    if printer.wants_json() {
        let files: Vec<Value> = plans.iter().map(|plan| plan_to_json(plan, dry_run)).collect();
        let items: Vec<Value> = items.iter().map(to_json).collect();
        printer.json(&json!({ "items": items, "files": files, "dryRun": dry_run }));
        return;
    }
    if items.is_empty() {
        printer.note(&format!("{} has no servers to take over", client.name));
    }
    let would = if dry_run { "would be " } else { "" };
    for item in items {
        let name = one_line(&item.name);
        printer.note(&match &item.outcome {
            Outcome::Kept { path, secrets, ignored, .. } => {
                let vault = match secrets.as_slice() {
                    [] => String::new(),
                    names => format!(", with {} in the vault", names.join(", ")),
                };
                let left_out = match ignored.as_slice() {
                    [] => String::new(),
                    keys => format!("; left out: {}", keys.join(", ")),
                };
                format!("{name}: {would}taken to {}{vault}{left_out}", path.display())
            }
            Outcome::Exists { path } => format!("{name}: kept as it is in {}", path.display()),
            Outcome::Refused { reason } => format!("{name}: not taken: {}", one_line(reason)),
        });
    }
    if !plans.is_empty() {
        report(plans, dry_run, context);
    }
    let kept = items.iter().any(|item| matches!(item.outcome, Outcome::Kept { .. }));
    let is_replaced = plans.iter().any(|plan| plan.change != EntryChange::None);
    if kept && !dry_run && project_deck {
        printer.note("review the project's files and allow them to act with: capdeck trust");
    }
    if kept && !dry_run && !is_replaced {
        printer.note("see whether they answer with: capdeck check");
    }
}

fn to_json(item: &Item) -> Value {
    let mut shown = json!({ "name": item.name, "scope": item.scope.as_str() });
    match &item.outcome {
        Outcome::Kept { id, path, secrets, ignored } => {
            shown["status"] = json!("taken");
            shown["id"] = json!(id);
            shown["path"] = json!(path);
            shown["secrets"] = json!(secrets);
            shown["ignored"] = json!(ignored);
        }
        Outcome::Exists { path } => {
            shown["status"] = json!("exists");
            shown["path"] = json!(path);
        }
        Outcome::Refused { reason } => {
            shown["status"] = json!("refused");
            shown["reason"] = json!(reason);
        }
    }
    shown
}
