//! What became of each server, line by line.

use capdeck_install::ClientEntryChange;
use serde_json::{Value, json};

use super::{
    ImportArgs, ImportItem, ReadSource, ServerSource, ServersImport, deck::ServerImport,
    sources_to_json,
};
use crate::{
    commands::{
        CommandContext,
        connect::{plan_to_json, report},
    },
    errors::{CommandFailure, TRUST_NEXT},
    plain_text::{counted, one_line},
    printer::hidden_input,
    settings::CommandSettings,
};

/// As text, or as `{items: [{name, scope?, project?, status, id?, path?, secrets?, missing?, ignored?, reason?}], sources: [{file,
/// servers}], files: [...], dryRun}`.
pub(super) fn print(outcome: &ServersImport, args: &ImportArgs, context: &CommandContext<'_>) {
    let ServersImport { source, read, items, plans, elsewhere } = outcome;
    let printer = context.printer;
    let (dry_run, project_deck) = (args.dry_run, args.project_deck);
    if printer.wants_json() {
        let files: Vec<Value> = plans.iter().map(|plan| plan_to_json(plan, dry_run)).collect();
        let sources = sources_to_json(read);
        let answer =
            json!({ "items": items, "sources": sources, "files": files, "dryRun": dry_run });
        printer.json(&answer);
        return;
    }
    for one in read {
        let count = one.blocks.iter().map(|block| block.servers.len()).sum::<usize>();
        printer.note(&format!("Read {}: {}", one.title(), counted(count, "server", "servers")));
    }
    if read.is_empty() {
        printer.note(&format!("{} has no configuration file here", source.title()));
    } else if items.is_empty() {
        printer.note(&format!("{} has no servers to import", source.title()));
    }
    for item in items {
        item_lines(item, dry_run).iter().for_each(|line| printer.note(line));
    }
    if *elsewhere > 0
        && let ServerSource::Agent(client) = source
    {
        let servers = counted(*elsewhere, "server", "servers");
        let file = read.first().map(ReadSource::title).unwrap_or_default();
        printer.note(&format!(
            "{} has {servers} of other projects; import them with: capdeck import {file}",
            client.name
        ));
    }
    if !plans.is_empty() {
        report(plans, dry_run, context);
    }
    if args.replace && items.iter().any(|item| item.project.is_some() && item.is_kept()) {
        printer.note("servers that the agent has for one project only stay in its file as well");
    }
    let kept = items.iter().any(ImportItem::is_kept);
    let is_replaced = plans.iter().any(|plan| plan.change != ClientEntryChange::None);
    if kept && !dry_run && project_deck {
        printer.note(TRUST_NEXT);
    }
    if kept && !dry_run && !is_replaced {
        printer.note("Test them: capdeck check");
    }
}

/// The line of one server, and one for everything about it that is not in its file.
fn item_lines(item: &ImportItem, dry_run: bool) -> Vec<String> {
    let name = match &item.project {
        Some(project) => format!("{} of {}", one_line(&item.name), one_line(project)),
        None => one_line(&item.name),
    };
    match &item.outcome {
        ServerImport::Kept { path, secrets, wanted, ignored, carried, .. } => {
            let verb = if dry_run { "Would import" } else { "Imported" };
            let mut lines = vec![format!("{verb} {name} → {}", path.display())];
            if !secrets.is_empty() {
                lines.push(format!("  in the vault: {}", secrets.join(", ")));
            }
            lines.extend(carried.iter().map(|line| format!("  {}", one_line(line))));
            lines.extend(wanted.iter().map(|secret| {
                let what = one_line(&secret.description);
                format!("  needs a value ({what}): capdeck vault set {}", secret.name)
            }));
            lines.extend(
                ignored
                    .iter()
                    .map(|key| format!("  not imported: {}{}", one_line(key), because(key))),
            );
            lines
        }
        ServerImport::Exists { path } => vec![format!("{name} is already in {}", path.display())],
        ServerImport::Refused { reason } => {
            vec![format!("{name}: not imported: {}", one_line(reason))]
        }
    }
}

/// Why a key that many agents have means nothing here.
fn because(key: &str) -> &'static str {
    match key {
        "autoApprove"
        | "alwaysAllow"
        | "always_allow"
        | "trust"
        | "approval_mode"
        | "default_tools_approval_mode" => {
            " (which calls need approval is set by `policy` in the config)"
        }
        "envFile" => " (put its variables into `env`)",
        "oauth" | "auth" => " (sign in with: capdeck auth login)",
        _ => "",
    }
}

/// Asks the person for the values that the agent would have asked for. Where no one can be asked, the report says how to
/// set them.
pub(super) fn ask_for_missing(
    items: &[ImportItem],
    settings: &CommandSettings,
    context: &CommandContext<'_>,
) -> Result<(), CommandFailure> {
    if !context.printer.can_ask() {
        return Ok(());
    }
    let wanted = items.iter().flat_map(|item| match &item.outcome {
        ServerImport::Kept { wanted, .. } => wanted.as_slice(),
        ServerImport::Exists { .. } | ServerImport::Refused { .. } => &[],
    });
    for secret in wanted {
        let what = one_line(&secret.description);
        let prompt = format!("{what} (not shown; empty to set {} later): ", secret.name);
        let typed = hidden_input(&prompt)
            .map_err(|error| CommandFailure::request("NO_VALUE", error.to_string()))?;
        let Some(value) = typed else { return Ok(()) };
        if !value.expose().is_empty() {
            settings.vault.set(&secret.name, &value)?;
            context.printer.note(&format!("Saved {}", secret.name));
        }
    }
    Ok(())
}
