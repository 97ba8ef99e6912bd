//! `capdeck untrust [DIR]`: takes a project's trust back.

use std::path::PathBuf;

use capdeck_host::TrustStore;
use serde_json::json;

use super::trust::project_settings;
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Take a project's trust back
///
/// Its files do nothing from then on.
#[derive(Debug, clap::Args)]
pub(crate) struct UntrustArgs {
    /// A folder of the project; the current project if left out.
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &UntrustArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let settings = project_settings(args.dir.as_ref(), context)?;
    let dir = settings.project.as_ref().map_or(&settings.start_dir, |project| &project.dir);
    let was_trusted = TrustStore::new(&settings.state_dir)
        .untrust(dir)
        .map_err(|error| Failure::file("change the trust in", &settings.state_dir, &error))?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "project": dir, "trusted": false, "wasTrusted": was_trusted }));
    } else if was_trusted {
        printer.note(&format!("no longer trusted: {}", dir.display()));
    } else {
        printer.note(&format!("was not trusted: {}", dir.display()));
    }
    Ok(ExitStatus::Done)
}
