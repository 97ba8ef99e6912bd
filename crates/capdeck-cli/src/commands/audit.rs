//! `capdeck audit`: who did what in the capsules, and whether the record is the one that was written.

mod lines;
mod prune;
mod query;
mod tail;
mod verify;

use clap::Subcommand;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Who did what in the capsules: show, search and check the record
///
/// Every call on a capsule is one line, refused ones too, without contents, tokens or memories. Each line holds the hash of the one
/// before it, and where the log begins and ends is kept outside of it, so that a changed or missing line shows.
#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Tail(tail::TailArgs),
    Query(query::QueryArgs),
    Verify(verify::VerifyArgs),
    Prune(prune::PruneArgs),
}

pub(crate) fn run(args: &AuditArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        AuditCommand::Tail(args) => tail::run(args, context),
        AuditCommand::Query(args) => query::run(args, context),
        AuditCommand::Verify(args) => verify::run(args, context),
        AuditCommand::Prune(args) => prune::run(args, context),
    }
}
