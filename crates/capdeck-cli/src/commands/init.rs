//! `capdeck init`: the beginning of a deck.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{
    context::CommandContext,
    errors::{CommandFailure, CommandResult, TRUST_NEXT},
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

/// A file, and whether it was written.
type FileOutcome = (PathBuf, bool);

pub(crate) fn run(args: &InitArgs, context: &CommandContext<'_>) -> CommandResult {
    let InitArgs { project_deck, force } = args;
    let (folder, readers) = context.settings()?.target_deck(*project_deck);
    let (name, example) = match project_deck {
        true => ("repository.md", PROJECT_EXAMPLE),
        false => ("machine.md", settings::MACHINE),
    };
    let existing = ExistingFilePolicy::of(*force);
    let other_config = folder.join("config.json");
    let config = if other_config.exists() {
        // Two config files in one folder would leave one unread.
        (other_config, false)
    } else {
        write(folder.join("config.yaml"), CONFIG, existing, readers)?
    };
    let outcomes = [config, write(folder.join(name), example, existing, readers)?];
    let item = |(path, is_written): &FileOutcome| json!({ "path": path, "status": if *is_written { "written" } else { "kept" } });
    let items: Vec<Value> = outcomes.iter().map(item).collect();
    let printer = context.printer;
    printer.json_or(&json!({ "items": items }), || {
        for (path, is_written) in &outcomes {
            let verb = if *is_written { "wrote" } else { "kept" };
            printer.note(&format!("{verb} {}", path.display()));
        }
        if *project_deck {
            printer.note(TRUST_NEXT);
        }
        printer.note("see what is in the deck with: capdeck list");
    })
}

fn write(
    path: PathBuf,
    text: &str,
    existing: ExistingFilePolicy,
    readers: FileAccess,
) -> Result<FileOutcome, CommandFailure> {
    match write_new(&path, text, existing, readers) {
        Ok(()) => Ok((path, true)),
        Err(failure) if failure.code == "FILE_EXISTS" => Ok((path, false)),
        Err(failure) => Err(failure),
    }
}
