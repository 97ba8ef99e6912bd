//! `capdeck auth refresh ID`: renews a sign-in now.

use capdeck_host::{CallError, sign_in};

use super::{to_json, to_line};
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    runtime::with_operator,
};

/// Renew a sign-in now
///
/// Not needed in general: a sign-in that can be renewed is renewed when it is used.
#[derive(Debug, clap::Args)]
pub(crate) struct RefreshArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
}

pub(crate) fn run(args: &RefreshArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RefreshArgs { id } = args;
    let status = with_operator(context, async |session, _call| {
        let renewed = sign_in(&session.snapshot(), id)?.renew().await;
        renewed.map_err(|error| {
            let needs_sign_in = error.needs_sign_in();
            let failure = Failure::from(CallError::from(error));
            if needs_sign_in {
                failure.hint(format!("run: capdeck auth login {id}"))
            } else {
                failure
            }
        })
    })?;
    if context.printer.wants_json() {
        context.printer.json(&to_json(id, &status));
    } else {
        context.printer.note(&one_line(&to_line(id, &status)));
    }
    Ok(ExitStatus::Done)
}
