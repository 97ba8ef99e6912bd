//! `capdeck auth logout ID`: forgets a sign-in.

use capdeck_host::CallError;
use serde_json::json;

use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Forget a sign-in
///
/// Removes the tokens kept on this machine. The service may go on listing the permission; it is taken back there.
#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
}

pub(crate) fn run(args: &LogoutArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let LogoutArgs { id } = args;
    let session = context.open_host()?.operator();
    let was_signed_in = session.sign_in(id)?.sign_out().map_err(CallError::from)?;
    if context.printer.wants_json() {
        let outcome = json!({ "id": id, "state": "signedOut", "wasSignedIn": was_signed_in });
        context.printer.json(&outcome);
    } else if was_signed_in {
        context.printer.note(&format!("{id}: signed out"));
    } else {
        context.printer.note(&format!("{id}: was not signed in"));
    }
    Ok(ExitStatus::Done)
}
