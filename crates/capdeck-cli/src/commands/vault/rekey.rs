//! `capdeck vault rekey`: a new key for everything that is sealed.

use capdeck_auth::Rekeyed;
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Make a new key and seal everything with it
///
/// Values, grants and sign-ins are all sealed anew, or nothing changes. Copies that were made before open only with the old key.
#[derive(Debug, clap::Args)]
pub(crate) struct RekeyArgs {}

pub(crate) fn run(args: &RekeyArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RekeyArgs {} = args;
    let Rekeyed { files, key, place } = context.settings()?.vault.rekey()?;
    if context.printer.wants_json() {
        context.printer.json(&json!({ "files": files, "key": key, "path": place }));
    } else {
        context.printer.note(&format!("sealed anew: {files}; the new key {key} is in {place}"));
    }
    Ok(ExitStatus::Done)
}
