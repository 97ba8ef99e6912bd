//! `capdeck auth logout ID`: forgets a sign-in.

use capdeck_host::{CallError, Revocation, SignedOut, sign_in};
use serde_json::json;

use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    runtime::with_operator,
};

/// Forget a sign-in
///
/// Removes the tokens kept on this machine, and tells the service to take them back where it offers that. It may go on listing the
/// permission itself.
#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
}

pub(crate) fn run(args: &LogoutArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let LogoutArgs { id } = args;
    let outcome = with_operator(context, async |session, _call| {
        sign_in(&session.snapshot(), id)?
            .sign_out()
            .await
            .map_err(|error| CallError::from(error).into())
    })?;
    let SignedOut { was_signed_in, revocation } = outcome;
    if let Revocation::Failed { error } = &revocation {
        let message = format!("{id}: forgotten here, but the service could not be told: {error}");
        context.printer.warn(&message);
    }
    let revoked = revocation == Revocation::Done;
    if context.printer.wants_json() {
        let shown = json!({
            "id": id, "state": "signedOut", "wasSignedIn": was_signed_in, "revoked": revoked,
        });
        context.printer.json(&shown);
        return Ok(ExitStatus::Done);
    }
    context.printer.note(&match (was_signed_in, revoked) {
        (true, true) => format!("{id}: signed out, here and at the service"),
        (true, false) => format!("{id}: signed out"),
        (false, _) => format!("{id}: was not signed in"),
    });
    Ok(ExitStatus::Done)
}
