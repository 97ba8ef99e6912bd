//! `capdeck vault grant CAPABILITY NAME`: lets a capability read an entry.

use capdeck_auth::{Grant, VaultError};

use super::{grant_to_json, holder};
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Let a capability read an entry
///
/// The grant is for the capability as its present file defines it. The same id in another file, such as one of a project, has to be
/// granted anew.
#[derive(Debug, clap::Args)]
pub(crate) struct GrantArgs {
    /// The capability's id.
    #[arg(value_name = "CAPABILITY", add = ids())]
    id: String,
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
    /// The name that the capability knows it by; its own if left out.
    #[arg(long = "as", value_name = "REFERENCE")]
    reference: Option<String>,
}

pub(crate) fn run(args: &GrantArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let GrantArgs { id, name, reference } = args;
    let settings = context.settings()?;
    let printer = context.printer;
    let grant = Grant {
        holder: holder(&settings.open_host()?, id)?,
        reference: reference.clone().unwrap_or_else(|| name.clone()),
        entry: name.clone(),
    };
    settings.vault.grant(grant.clone())?;
    if printer.wants_json() {
        printer.json(&grant_to_json(&grant));
    } else {
        let Grant { holder, reference, entry } = &grant;
        printer.note(&format!("{id} in {} reads {entry} as $vault:{reference}", holder.path));
    }
    if let Err(VaultError::Missing { .. }) = settings.vault.facts(name) {
        printer.warn(&format!("there is no value yet; run: capdeck vault set {name}"));
    }
    Ok(ExitStatus::Done)
}
