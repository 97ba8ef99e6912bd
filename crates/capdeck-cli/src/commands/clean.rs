//! `capdeck clean`: takes back what `capdeck install` wrote.

use capdeck_install::Edited;

use super::install::{Outcome, Report, apply_failed, finish_interrupted, open_installer};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Take back what `capdeck install` wrote into a project
///
/// Files are restored to what they were, byte for byte. What you changed since is kept and named.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take back what was changed by hand, too.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &CleanArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let CleanArgs { dry_run, force } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let project = settings.project.as_ref().map_or(&settings.start_dir, |project| &project.dir);
    let mut installer = open_installer(&settings, project)?;
    finish_interrupted(&mut installer, *dry_run, printer)?;
    let edited = if *force { Edited::Overwrite } else { Edited::Keep };
    let plan = installer.plan_clean(edited);
    let report = Report::new(&installer, &plan, &[]);
    report.refuse_unsound(printer)?;
    if *dry_run {
        report.print(Outcome::Planned, printer);
        return Ok(ExitStatus::Done);
    }
    let skipped = installer.apply(plan).map_err(|error| apply_failed(&error))?;
    report.print(Outcome::Done { skipped }, printer);
    Ok(ExitStatus::Done)
}
