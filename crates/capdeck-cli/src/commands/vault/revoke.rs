//! `capdeck vault revoke CAPABILITY NAME`: takes a grant back.

use serde_json::{Value, json};

use super::grant_to_json;
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Take back what a capability may read
///
/// A connection that is open keeps the value it was opened with.
#[derive(Debug, clap::Args)]
pub(crate) struct RevokeArgs {
    /// The capability's id. It need not exist any more.
    #[arg(value_name = "CAPABILITY", add = ids())]
    id: String,
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
    /// Only the grant under this reference.
    #[arg(long = "as", value_name = "REFERENCE")]
    reference: Option<String>,
}

pub(crate) fn run(args: &RevokeArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RevokeArgs { id, name, reference } = args;
    let taken = context.settings()?.vault.revoke(id, name, reference.as_deref())?;
    if taken.is_empty() {
        let message = format!("`{id}` has no grant for vault entry `{name}`");
        return Err(Failure::request("GRANT_NOT_FOUND", message)
            .hint("see who may read what with: capdeck vault list"));
    }
    if context.printer.wants_json() {
        let items: Vec<Value> = taken.iter().map(grant_to_json).collect();
        context.printer.json(&json!({ "revoked": items }));
    } else {
        context.printer.note(&format!("{id} may not read {name} any more"));
    }
    Ok(ExitStatus::Done)
}
