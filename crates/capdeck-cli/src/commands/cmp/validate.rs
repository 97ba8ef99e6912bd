//! `capdeck cmp validate PATH…`: the files of CMP tools, checked.

use std::path::PathBuf;

use capdeck_definition::check_cmp_paths;

use crate::{
    commands::validate::{manifest_sizes, report},
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Check the files of CMP tools
///
/// Takes tool folders, folders of them, or one of a tool's files. Fails when there is an error; warnings only inform.
#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// Tool folders, folders of tools, or a tool's `manifest.json` or `capability.json`.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

pub(super) fn run(args: &ValidateArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ValidateArgs { paths } = args;
    let mut deck = check_cmp_paths(paths);
    let sizes = manifest_sizes(&deck);
    deck.diagnostics.extend(sizes);
    Ok(report(&deck, context))
}
