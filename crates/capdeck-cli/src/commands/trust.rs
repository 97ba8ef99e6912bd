//! `capdeck trust` and `approve`: what a person agrees to.

use std::{path::PathBuf, sync::Arc};

use capdeck_catalog::ProjectTrust;
use capdeck_definition::{Deck, Definition};
use capdeck_host::{Approval, ApprovalDuration, ApprovalState, TrustStore};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    args::GlobalArgs,
    commands::CommandContext,
    errors::{CommandFailure, CommandResult},
    plain_text::{one_line, time},
    plan::plan,
    printer::{ColorPalette, TextStyle},
    settings::CommandSettings,
    table::{TextTable, cell, cell_or, styled},
};

/// Allow a project's files to act, exactly as they are now
///
/// Shows every program they would start and every address they would reach, and asks when stdin is a terminal. Any
/// later change to the files needs new trust.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// A folder of the project; the current project by default.
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Also let its APIs be in private networks, until `capdeck untrust`.
    #[arg(long)]
    network: bool,
}

pub(crate) fn trust(args: &TrustArgs, context: &CommandContext<'_>) -> CommandResult {
    let TrustArgs { dir, yes, network } = args;
    let printer = context.printer;
    let settings = project_settings(dir.as_ref(), context)?;
    let host = settings.open_host()?;
    // What is shown and what is trusted come from one reading of the files.
    let deck = host.deck();
    let (Some(project), Some(hash)) = (&settings.project, &deck.project_hash) else {
        return Err(nothing_to_trust(&settings));
    };
    if !project.has_deck() {
        return Err(nothing_to_trust(&settings));
    }
    let definitions = project_definitions(&deck);
    let trust_store = TrustStore::new(&settings.state_dir);
    let had_networks = trust_store.has_private_networks(&project.dir);
    let private_networks = *network || had_networks;
    let was_trusted = host.trust() == ProjectTrust::Trusted && private_networks == had_networks;
    if !printer.wants_json() {
        printer.note(&render(&definitions, printer.note_palette));
        if private_networks {
            printer.note("Their APIs may be in private networks and on this machine.\n");
        }
        let broken = deck.quarantined.iter().filter(|entry| entry.source.layer.needs_trust());
        for entry in broken {
            printer.warn(&format!("`{}` does not load: {}", entry.id, entry.reason));
        }
    }
    let asks = !was_trusted && !yes && printer.can_ask();
    if asks && !printer.confirm(&format!("Trust {}?", project.dir.display())) {
        return Err(CommandFailure::request("CANCELLED", "not trusted"));
    }
    settings.trust(project, hash)?;
    if *network {
        trust_store.open_private_networks(&project.dir).map_err(|error| {
            CommandFailure::file("remember the trust in", &settings.state_dir, &error)
        })?;
    }
    let capabilities: Vec<Value> = definitions
        .iter()
        .map(|one| json!({ "id": one.id, "path": one.source.path, "does": plan(one) }))
        .collect();
    let trusted = json!({
        "project": project.dir,
        "trusted": true,
        "hash": hash,
        "privateNetworks": private_networks,
        "capabilities": capabilities,
    });
    printer.answer(&trusted, &format!("trusted: {}", project.dir.display()))
}

/// The settings as if the command had been started in `dir`.
fn project_settings(
    dir: Option<&PathBuf>,
    context: &CommandContext<'_>,
) -> Result<CommandSettings, CommandFailure> {
    let global = GlobalArgs {
        project: dir.cloned().or_else(|| context.global.project.clone()),
        ..context.global.clone()
    };
    CommandSettings::resolve(&global, &context.env)
}

fn nothing_to_trust(settings: &CommandSettings) -> CommandFailure {
    let message =
        format!("there is no project deck in `{}` or above it", settings.start_dir.display());
    CommandFailure::request("NO_PROJECT", message)
    .hint("a project deck is a folder named `.capdeck` or `.caplets`, or a file `capabilities.yaml`; begin one with: capdeck init --project-deck")
}

/// The definitions that trust is about: the project's own, and the members of its sets.
fn project_definitions(deck: &Deck) -> Vec<Arc<Definition>> {
    let mut inside = false;
    let belongs = |definition: &&Arc<Definition>| {
        // Members follow their set directly, so they share its answer.
        if definition.member_of.is_none() {
            inside = definition.source.layer.needs_trust();
        }
        inside
    };
    deck.definitions.iter().filter(belongs).cloned().collect()
}

fn render(definitions: &[Arc<Definition>], palette: ColorPalette) -> String {
    let mut text = "These files would be allowed to act:\n".to_owned();
    for definition in definitions {
        text.push_str(&format!(
            "\n{}  {}\n",
            palette.paint(TextStyle::Strong, definition.id.as_str()),
            palette.paint(TextStyle::Dim, &definition.source.path.display().to_string())
        ));
        for line in plan(definition) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

/// Take back the trust in a project's files
///
/// The opposite of `capdeck trust`. Its files do nothing from then on.
#[derive(Debug, clap::Args)]
pub(crate) struct UntrustArgs {
    /// A folder of the project; the current project by default.
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn untrust(args: &UntrustArgs, context: &CommandContext<'_>) -> CommandResult {
    let settings = project_settings(args.dir.as_ref(), context)?;
    let dir = settings.project_dir();
    let was_trusted = TrustStore::new(&settings.state_dir).untrust(dir).map_err(|error| {
        CommandFailure::file("change the trust in", &settings.state_dir, &error)
    })?;
    let outcome = json!({ "project": dir, "trusted": false, "wasTrusted": was_trusted });
    let done = if was_trusted { "no longer trusted" } else { "was not trusted" };
    context.printer.answer(&outcome, &format!("{done}: {}", dir.display()))
}

/// List calls that wait for your approval, and what you approved
///
/// A waiting call is approved with `capdeck approve ID`. Standing approvals hold until the tool's definition changes or you
/// take them back.
#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsArgs {}

pub(crate) fn approvals(_: &ApprovalsArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let items = context.settings()?.approvals().list(Timestamp::now())?;
    printer.json_or(&json!({ "items": items }), || {
        let heading = ["ID", "STATE", "CALL", "ASKED BY", "UNTIL", "ARGUMENTS"];
        let table = TextTable::new(heading, &items, |item| {
            [
                styled(TextStyle::Strong, &item.id),
                styled(style(item.state), item.state.as_str()),
                cell(target(item)),
                cell(asked_by(item)),
                cell_or("its definition changes", item.expires_at.map(time)),
                cell(&item.arguments),
            ]
        });
        table.print_or("No pending or standing approvals", printer);
        if items.iter().any(|item| item.state == ApprovalState::Waiting) {
            printer.note("approve one with: capdeck approve ID");
        }
    })
}

/// The tool an approval is about.
fn target(approval: &Approval) -> String {
    format!("{}.{}", approval.capability, approval.tool)
}

/// The client's own name, and who is behind it when that is not the person at this machine.
fn asked_by(approval: &Approval) -> String {
    match approval.principal.as_str() {
        "local" => approval.client.clone(),
        principal => format!("{} ({principal})", approval.client),
    }
}

fn style(state: ApprovalState) -> TextStyle {
    match state {
        ApprovalState::Waiting => TextStyle::Careful,
        ApprovalState::Approved | ApprovalState::Standing => TextStyle::Good,
    }
}

/// Approve a call that waits for you; without an ID, list them
///
/// The client can then repeat the same call, with the same arguments, once within ten minutes. A running host notices by
/// itself.
#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The id that the refused call named, or that the list shows.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Approve the tool for good: any call of it, by any client, until its definition changes.
    #[arg(long, requires = "id")]
    always: bool,
    /// Take the approval back, or drop the waiting call.
    #[arg(long, conflicts_with = "always", requires = "id")]
    revoke: bool,
}

pub(crate) fn approve(args: &ApproveArgs, context: &CommandContext<'_>) -> CommandResult {
    let ApproveArgs { id, always, revoke } = args;
    let Some(id) = id else { return approvals(&ApprovalsArgs {}, context) };
    let printer = context.printer;
    let store = context.settings()?.approvals();
    let now = Timestamp::now();
    let (approval, done) = match (revoke, always) {
        (true, _) => (store.revoke(id, now)?, "revoked"),
        (false, true) => (store.approve(id, ApprovalDuration::Always, now)?, "approved for good"),
        (false, false) => (store.approve(id, ApprovalDuration::Once, now)?, "approved once"),
    };
    printer.json_or(&json!({ "done": done, "approval": approval }), || {
        printer.note(&format!("{done}: {}", one_line(&target(&approval))));
        if !approval.arguments.is_empty() {
            printer.note(&format!("arguments: {}", one_line(&approval.arguments)));
        }
        if !revoke && !always {
            printer.note("the same call can now be repeated, once within ten minutes");
        }
    })
}
