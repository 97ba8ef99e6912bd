//! `capdeck vault`: secrets kept on this machine, encrypted, for the capabilities they are granted to.

mod delete;
mod get;
mod grant;
mod list;
mod rekey;
mod revoke;
mod set;

use capdeck_auth::{EntryFacts, Grant, Holder, VaultError};
use capdeck_host::{Host, known_capability, vault_holder};
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Keep secrets, encrypted, and say which capability may read them
///
/// A definition names an entry with `$vault:NAME`. It gets the value only after `capdeck vault grant`.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultArgs {
    #[command(subcommand)]
    command: VaultCommand,
}

#[derive(Debug, Subcommand)]
enum VaultCommand {
    Set(set::SetArgs),
    Get(get::GetArgs),
    List(list::ListArgs),
    Delete(delete::DeleteArgs),
    Grant(grant::GrantArgs),
    Revoke(revoke::RevokeArgs),
    Rekey(rekey::RekeyArgs),
}

pub(crate) fn run(args: &VaultArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        VaultCommand::Set(args) => set::run(args, context),
        VaultCommand::Get(args) => get::run(args, context),
        VaultCommand::List(args) => list::run(args, context),
        VaultCommand::Delete(args) => delete::run(args, context),
        VaultCommand::Grant(args) => grant::run(args, context),
        VaultCommand::Revoke(args) => revoke::run(args, context),
        VaultCommand::Rekey(args) => rekey::run(args, context),
    }
}

/// As whom the capability of this id reads the vault, in the definition that is in force.
fn holder(host: &Host, id: &str) -> Result<Holder, Failure> {
    Ok(vault_holder(&known_capability(host, id)?.definition))
}

/// `{name, bytes, createdAt, updatedAt, grants}`.
fn to_json(facts: &EntryFacts, grants: &[Grant]) -> Value {
    json!({
        "name": facts.name,
        "bytes": facts.bytes,
        "createdAt": time(facts.created_at),
        "updatedAt": time(facts.updated_at),
        "grants": grants_of(&facts.name, grants).map(grant_to_json).collect::<Vec<_>>(),
    })
}

/// `{capability, reference, name, source: {kind, path}}`.
fn grant_to_json(grant: &Grant) -> Value {
    let Grant { holder: Holder { name, kind, path }, reference, entry } = grant;
    json!({
        "capability": name,
        "reference": reference,
        "name": entry,
        "source": { "kind": kind, "path": path },
    })
}

/// The grants of one entry.
fn grants_of<'a>(name: &str, grants: &'a [Grant]) -> impl Iterator<Item = &'a Grant> {
    grants.iter().filter(move |grant| grant.entry == name)
}

/// `github, linear (as LINEAR_KEY)`.
fn readers<'a>(grants: impl Iterator<Item = &'a Grant>) -> String {
    let shown = grants.map(|grant| {
        if grant.reference == grant.entry {
            grant.holder.name.clone()
        } else {
            format!("{} (as {})", grant.holder.name, grant.reference)
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn time(seconds: u64) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        let message = error.to_string();
        let failure = match &error {
            VaultError::BadName { .. }
            | VaultError::BadReference { .. }
            | VaultError::BadValue { .. } => Self::usage(message),
            VaultError::Missing { .. } => Self::request("VAULT_ENTRY_NOT_FOUND", message),
            VaultError::Sealed(_) if error.is_about_the_key() => {
                Self::setup("INVALID_KEY_SOURCE", message)
            }
            VaultError::Sealed(_) => Self::setup("VAULT_UNAVAILABLE", message),
        };
        failure.hint(error.hint())
    }
}
