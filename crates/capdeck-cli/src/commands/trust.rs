//! `capdeck trust [DIR]`: lets a project's files act, exactly as they are now.

use std::{path::PathBuf, sync::Arc};

use capdeck_catalog::ProjectTrust;
use capdeck_definition::{Deck, Definition};
use capdeck_host::TrustStore;
use serde_json::{Value, json};

use crate::{
    args::GlobalArgs,
    context::CommandContext,
    errors::{CommandFailure, CommandResult},
    plan::plan,
    printer::{ColorPalette, TextStyle},
    settings::CommandSettings,
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
}

pub(crate) fn trust(args: &TrustArgs, context: &CommandContext<'_>) -> CommandResult {
    let TrustArgs { dir, yes } = args;
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
    let was_trusted = host.trust() == ProjectTrust::Trusted;
    if !printer.wants_json() {
        printer.note(&render(&definitions, printer.note_palette()));
        let broken = deck.quarantined.iter().filter(|entry| entry.source.layer.needs_trust());
        for entry in broken {
            printer.warn(&format!("`{}` does not load: {}", entry.id, entry.reason));
        }
    }
    let asks = !was_trusted && !yes && printer.can_ask();
    if asks && !printer.confirm(&format!("Trust {}?", project.dir.display())) {
        return Err(CommandFailure::request("CANCELLED", "not trusted"));
    }
    TrustStore::new(&settings.state_dir).trust(&project.dir, hash).map_err(|error| {
        CommandFailure::file("remember the trust in", &settings.state_dir, &error)
    })?;
    let capabilities: Vec<Value> = definitions
        .iter()
        .map(|one| json!({ "id": one.id, "path": one.source.path, "does": plan(one) }))
        .collect();
    let trusted = json!({
        "project": project.dir,
        "trusted": true,
        "hash": hash,
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
    CommandFailure::request(
        "NO_PROJECT",
        format!("there is no project deck in `{}` or above it", settings.start_dir.display()),
    )
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

/// Take a project's trust back
///
/// Its files do nothing from then on.
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
