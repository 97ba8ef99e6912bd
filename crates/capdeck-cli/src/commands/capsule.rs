//! `capdeck capsule`: context that agents share, from the command line.

mod collect;
mod deleted;
mod diff;
mod display;
mod edit;
mod export;
mod history;
mod import;
mod list;
mod new;
mod read;
mod restore;
mod rm;
mod schemes;
mod search;
mod share;
mod show;
mod time;
mod update;
mod verify;
mod write;

use clap::Subcommand;

pub(super) use self::{
    time::{past, time},
    verify::{CapsuleReport, each, problem_place},
};

use crate::{
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
};

/// Context that agents share: entries with versions and provenance
///
/// A capsule holds entries such as `docs://architecture` or `skills://review-pr`, as plain files in the data folder. Agents read
/// and write them through `capdeck serve` and `capdeck up`; here you do the same, and what only you may do.
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleArgs {
    #[command(subcommand)]
    command: CapsuleCommand,
}

#[derive(Debug, Subcommand)]
enum CapsuleCommand {
    New(new::CapsuleNewArgs),
    List(list::CapsuleListArgs),
    Show(show::CapsuleShowArgs),
    Update(update::CapsuleUpdateArgs),
    Read(read::CapsuleReadArgs),
    Write(write::CapsuleWriteArgs),
    Edit(edit::CapsuleEditArgs),
    Search(search::CapsuleSearchArgs),
    History(history::CapsuleHistoryArgs),
    Diff(diff::CapsuleDiffArgs),
    Restore(restore::CapsuleRestoreArgs),
    Rm(rm::CapsuleRmArgs),
    Deleted(deleted::CapsuleDeletedArgs),
    Schemes(schemes::CapsuleSchemesArgs),
    Share(share::CapsuleShareArgs),
    Export(export::CapsuleExportArgs),
    Import(import::CapsuleImportArgs),
    Verify(verify::CapsuleVerifyArgs),
    Collect(collect::CapsuleCollectArgs),
}

pub(crate) fn run(
    args: &CapsuleArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    match &args.command {
        CapsuleCommand::New(args) => new::run(args, context),
        CapsuleCommand::List(args) => list::run(args, context),
        CapsuleCommand::Show(args) => show::run(args, context),
        CapsuleCommand::Update(args) => update::run(args, context),
        CapsuleCommand::Read(args) => read::run(args, context),
        CapsuleCommand::Write(args) => write::run(args, context),
        CapsuleCommand::Edit(args) => edit::run(args, context),
        CapsuleCommand::Search(args) => search::run(args, context),
        CapsuleCommand::History(args) => history::run(args, context),
        CapsuleCommand::Diff(args) => diff::run(args, context),
        CapsuleCommand::Restore(args) => restore::run(args, context),
        CapsuleCommand::Rm(args) => rm::run(args, context),
        CapsuleCommand::Deleted(args) => deleted::run(args, context),
        CapsuleCommand::Schemes(args) => schemes::run(args, context),
        CapsuleCommand::Share(args) => share::run(args, context),
        CapsuleCommand::Export(args) => export::run(args, context),
        CapsuleCommand::Import(args) => import::run(args, context),
        CapsuleCommand::Verify(args) => verify::run(args, context),
        CapsuleCommand::Collect(args) => collect::run(args, context),
    }
}
