//! `capdeck artifacts delete URI…`.

use capdeck_host::artifacts;
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::counted,
};

/// Remove large results by name
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// The URIs; see: capdeck artifacts list
    #[arg(value_name = "URI", required = true)]
    uris: Vec<String>,
}

pub(crate) fn run(args: &DeleteArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let session = context.open_host()?.operator();
    for uri in &args.uris {
        artifacts::delete(&session.snapshot(), uri)?;
    }
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "deleted": args.uris }));
    } else {
        printer.note(&format!("{} removed", counted(args.uris.len(), "artifact", "artifacts")));
    }
    Ok(ExitStatus::Done)
}
