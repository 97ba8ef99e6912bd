//! `capdeck runs`: recorded runs of code mode.

mod list;
mod replay;
mod resume;
mod show;

use clap::Subcommand;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Recorded runs of code: list and show them, go on with paused ones, repeat them
///
/// Every run of code is recorded: its code, its calls with their answers, and what came of it. A run that waits for your
/// approval goes on where it stopped. Records are kept for some days; `runs` in your config says how long, or turns them off.
#[derive(Debug, clap::Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Resume(resume::ResumeArgs),
    Replay(replay::ReplayArgs),
}

pub(crate) fn run(args: &RunsArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        RunsCommand::List(args) => list::run(args, context),
        RunsCommand::Show(args) => show::run(args, context),
        RunsCommand::Resume(args) => resume::run(args, context),
        RunsCommand::Replay(args) => replay::run(args, context),
    }
}
