//! `capdeck vault delete NAME`: forgets a value.

use capdeck_auth::VaultError;
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Forget a value
///
/// Its grants stay for the next value of this name; take them back with `capdeck vault revoke`.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &DeleteArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let DeleteArgs { name } = args;
    if !context.settings()?.vault.delete(name)? {
        return Err(Failure::from(VaultError::Missing { name: name.clone() })
            .hint("see what there is with: capdeck vault list"));
    }
    if context.printer.wants_json() {
        context.printer.json(&json!({ "name": name, "deleted": true }));
    } else {
        context.printer.note(&format!("{name}: deleted"));
    }
    Ok(ExitStatus::Done)
}
