//! `capdeck init`: the beginning of a deck.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    new_file::{ExistingFilePolicy, FileAccess, write_new},
    settings,
};

const CONFIG: &str = include_str!("../../starter/config.yaml");
const PROJECT_EXAMPLE: &str = include_str!("../../starter/repository.md");

/// Start a deck: a config file and an example
///
/// Files that are already there are kept.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Start the project's deck, `.capdeck`, instead of your own.
    #[arg(long)]
    project_deck: bool,
    /// Replace files that are already there.
    #[arg(long)]
    force: bool,
}

/// What became of one file.
struct FileOutcome {
    path: PathBuf,
    written: bool,
}

pub(crate) fn run(args: &InitArgs, context: &CommandContext<'_>) -> CommandResult {
    let InitArgs { project_deck, force } = args;
    let (folder, example, readers) = if *project_deck {
        let folder = context.settings()?.project_deck_dir();
        (folder, ("repository.md", PROJECT_EXAMPLE), FileAccess::Everyone)
    } else {
        (context.settings()?.config_dir, ("machine.md", settings::MACHINE), FileAccess::Owner)
    };
    let existing = if *force { ExistingFilePolicy::Replace } else { ExistingFilePolicy::Keep };
    let mut outcomes = Vec::new();
    let other_config = folder.join("config.json");
    if other_config.exists() {
        // Two config files in one folder would leave one unread.
        outcomes.push(FileOutcome { path: other_config, written: false });
    } else {
        outcomes.push(write(folder.join("config.yaml"), CONFIG, existing, readers)?);
    }
    outcomes.push(write(folder.join(example.0), example.1, existing, readers)?);
    report(&outcomes, *project_deck, context);
    Ok(ExitStatus::Done)
}

fn write(
    path: PathBuf,
    text: &str,
    existing: ExistingFilePolicy,
    readers: FileAccess,
) -> Result<FileOutcome, CommandFailure> {
    match write_new(&path, text, existing, readers) {
        Ok(()) => Ok(FileOutcome { path, written: true }),
        Err(failure) if failure.code == "FILE_EXISTS" => Ok(FileOutcome { path, written: false }),
        Err(failure) => Err(failure),
    }
}

fn report(outcomes: &[FileOutcome], project_deck: bool, context: &CommandContext<'_>) {
    let printer = context.printer;
    if printer.wants_json() {
        let items: Vec<_> = outcomes
            .iter()
            .map(|one| json!({ "path": one.path, "status": if one.written { "written" } else { "kept" } }))
            .collect();
        printer.json(&json!({ "items": items }));
        return;
    }
    for one in outcomes {
        let verb = if one.written { "wrote" } else { "kept" };
        printer.note(&format!("{verb} {}", one.path.display()));
    }
    if project_deck {
        printer.note("review the project's files and allow them to act with: capdeck trust");
    }
    printer.note("see what is in the deck with: capdeck list");
}
