//! `capdeck audit tail [NAME]`: the last calls.

use capdeck_host::AuditFilter;

use super::lines::{lines, show};
use crate::{
    completion::capsules,
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Show the last calls
#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    /// The capsule; all of them if left out, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
    /// How many lines.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(crate) fn run(args: &TailArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let TailArgs { name, limit } = args;
    let filter = AuditFilter { limit: *limit as usize, ..AuditFilter::default() };
    show(&lines(name.as_deref(), filter, context)?, context);
    Ok(ExitStatus::Done)
}
