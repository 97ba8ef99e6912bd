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
mod moment;
mod new;
mod read;
mod restore;
mod rm;
mod schemes;
mod search;
mod share;
mod show;
mod update;
mod verify;
mod write;

use clap::Subcommand;

pub(super) use self::{
    moment::{past, time},
    verify::{CapsuleReport, each, problem_place},
};

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
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
    New(new::NewArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Update(update::UpdateArgs),
    Read(read::ReadArgs),
    Write(write::WriteArgs),
    Edit(edit::EditArgs),
    Search(search::SearchArgs),
    History(history::HistoryArgs),
    Diff(diff::DiffArgs),
    Restore(restore::RestoreArgs),
    Rm(rm::RmArgs),
    Deleted(deleted::DeletedArgs),
    Schemes(schemes::SchemesArgs),
    Share(share::ShareArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Verify(verify::VerifyArgs),
    Collect(collect::CollectArgs),
}

pub(crate) fn run(args: &CapsuleArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
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
