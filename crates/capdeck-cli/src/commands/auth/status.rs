//! `capdeck auth status [ID]`: who is signed in where.

use capdeck_host::{CallError, SignInStatus, sign_in};
use serde_json::{Value, json};

use super::{to_json, to_line};
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
};

/// Show sign-ins
///
/// Reads files only; nothing is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// The capability's id; every capability that can be signed in to if left out.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
}

pub(crate) fn run(args: &StatusArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let session = context.open_host()?.operator();
    let printer = context.printer;
    if let Some(id) = &args.id {
        let status = sign_in(&session.snapshot(), id)?.status().map_err(CallError::from)?;
        if printer.wants_json() {
            printer.json(&to_json(id, &status));
        } else {
            printer.data(&one_line(&to_line(id, &status)));
        }
        return Ok(ExitStatus::Done);
    }
    let catalog = session.catalog();
    let usable = catalog.capabilities().filter(|capability| capability.is_usable());
    let mut found: Vec<(String, SignInStatus)> = Vec::new();
    for capability in usable {
        let id = capability.definition.id.to_string();
        // What cannot be signed in to is left out; a file that cannot be read is told.
        let Ok(sign_in) = sign_in(&session.snapshot(), &id) else { continue };
        match sign_in.status() {
            Ok(status) => found.push((id, status)),
            Err(error) => printer.warn(&format!("{id}: {error}")),
        }
    }
    if printer.wants_json() {
        let items: Vec<Value> = found.iter().map(|(id, status)| to_json(id, status)).collect();
        printer.json(&json!({ "items": items }));
    } else if found.is_empty() {
        printer.note("nothing in the deck is signed in to with a browser");
    } else {
        for (id, status) in &found {
            printer.data(&one_line(&to_line(id, status)));
        }
    }
    Ok(ExitStatus::Done)
}
