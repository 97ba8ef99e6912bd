//! `capdeck vault`: secrets kept on this machine, encrypted, for the capabilities they are granted to.

use std::io::{self, IsTerminal as _, Read as _};

use capdeck_auth::{
    KeyLocation, RekeyReport, Secret, VaultEntryInfo, VaultError, VaultGrant, VaultHolder,
};
use capdeck_host::{Host, known_capability, vault_holder};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::command_table;
use crate::{
    args::{ChoiceRow, choice},
    commands::CommandContext,
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus},
    printer::{TextStyle, hidden_input},
    table::{TextTable, cell, cell_or, styled},
};

command_table! {
    /// Store secrets, encrypted, and choose which capabilities may read them
    ///
    /// For keys and tokens that servers need, instead of writing them into files. A definition names an entry with `$vault:NAME`. It gets the value only after `capdeck vault grant`.
    pub(crate) enum VaultCommand default List {
        Set(VaultSetArgs) => set,
        Get(VaultGetArgs) => get,
        List(VaultListArgs) => list,
        Delete(VaultDeleteArgs) => delete,
        Grant(VaultGrantArgs) => grant,
        Revoke(VaultRevokeArgs) => revoke,
        Rekey(VaultRekeyArgs) => rekey,
    }
}

/// The identity with which the capability of this id reads the vault, in the current definition.
fn holder(host: &Host, id: &str) -> Result<VaultHolder, CommandFailure> {
    Ok(vault_holder(&known_capability(host, id)?.definition))
}

/// `{name, bytes, createdAt, updatedAt, grants}`.
fn to_json(facts: &VaultEntryInfo, grants: &[VaultGrant]) -> Value {
    json!({
        "name": facts.name,
        "bytes": facts.bytes,
        "createdAt": time(facts.created_at),
        "updatedAt": time(facts.updated_at),
        "grants": grants_to_json(&facts.name, grants),
    })
}

fn grants_to_json(name: &str, grants: &[VaultGrant]) -> Vec<Value> {
    grants.iter().filter(|grant| grant.entry == name).map(grant_to_json).collect()
}

/// `{capability, reference, name, source: {kind, path}}`.
fn grant_to_json(grant: &VaultGrant) -> Value {
    let VaultGrant { holder: VaultHolder { name, kind, path }, reference, entry } = grant;
    json!({
        "capability": name,
        "reference": reference,
        "name": entry,
        "source": { "kind": kind, "path": path },
    })
}

/// Who may read one entry: `github, linear (as LINEAR_KEY)`.
fn readers(name: &str, grants: &[VaultGrant]) -> String {
    let shown = grants.iter().filter(|grant| grant.entry == name).map(|grant| {
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

impl From<VaultError> for CommandFailure {
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

/// Shorter values cannot be distinguished from other text, so they are not taken out of what is shown.
const MIN_RECOGNISED_LENGTH: usize = 6;

/// More than any value may have; the vault says so.
const MAX_VALUE_INPUT_BYTES: u64 = 70_000;

/// Save a value, replacing an earlier one
///
/// The value is read from stdin, without the line break at its end, or typed without being shown. It is never an argument: those are
/// visible to other programs.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultSetArgs {
    /// What the entry is called: `A` to `Z`, `0` to `9` and `_`.
    #[arg(value_name = "NAME")]
    name: String,
    /// Let this capability read it, too. Can be repeated.
    #[arg(long = "grant", value_name = "CAPABILITY", add = ids())]
    grants: Vec<String>,
    /// The name that the granted capabilities know it by; its own by default.
    #[arg(long = "as", value_name = "REFERENCE", requires = "grants")]
    reference: Option<String>,
}

fn set(args: &VaultSetArgs, context: &CommandContext<'_>) -> CommandResult {
    let VaultSetArgs { name, grants, reference } = args;
    let settings = context.settings()?;
    let printer = context.printer;
    // A misspelled capability fails before a secret is typed.
    let holders: Vec<VaultHolder> = if grants.is_empty() {
        Vec::new()
    } else {
        let host = settings.open_host()?;
        grants.iter().map(|id| holder(&host, id)).collect::<Result<_, _>>()?
    };
    let was_there = match settings.vault.facts(name) {
        Ok(_) => true,
        Err(error @ VaultError::BadName { .. }) => return Err(error.into()),
        Err(_) => false,
    };
    let value = read_value(name)?;
    if value.expose().len() < MIN_RECOGNISED_LENGTH {
        printer.warn(
            "a value this short cannot be recognised, so it is not taken out of logs and results",
        );
    }
    let facts = settings.vault.set(name, &value)?;
    for holder in holders {
        let reference = reference.clone().unwrap_or_else(|| name.clone());
        settings.vault.grant(VaultGrant { holder, reference, entry: name.clone() })?;
    }
    let granted = settings.vault.grants()?;
    let mut shown = to_json(&facts, &granted);
    shown["replaced"] = json!(was_there);
    printer.json_or(&shown, || {
        let done = if was_there { "Replaced" } else { "Saved" };
        printer.note(&format!("{done} {name}"));
        printer.note(&match readers(name, &granted) {
            readers if readers.is_empty() => format!(
                "no capability may read it yet; grant it with: capdeck vault grant CAPABILITY {name}"
            ),
            readers => format!("read by: {readers}"),
        });
    })
}

pub(super) fn read_value(name: &str) -> Result<Secret, CommandFailure> {
    let failed = |error: io::Error| {
        let message = format!("the value of `{name}` cannot be read: {error}");
        CommandFailure::request("NO_VALUE", message)
            .hint(format!("give it on stdin, as in: capdeck vault set {name} < file"))
    };
    if io::stdin().is_terminal() {
        let typed = hidden_input(&format!("value of {name} (not shown): ")).map_err(failed)?;
        return typed.ok_or_else(|| CommandFailure::request("CANCELLED", "nothing was saved"));
    }
    let mut text = String::new();
    io::stdin().lock().take(MAX_VALUE_INPUT_BYTES).read_to_string(&mut text).map_err(failed)?;
    let value = text.strip_suffix('\n').unwrap_or(&text);
    let value = Secret::new(value.strip_suffix('\r').unwrap_or(value));
    drop(Secret::new(text));
    Ok(value)
}

/// Show what is known of an entry
///
/// The value itself is printed only with --show.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultGetArgs {
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
    /// Print the value.
    #[arg(long)]
    show: bool,
}

fn get(args: &VaultGetArgs, context: &CommandContext<'_>) -> CommandResult {
    let VaultGetArgs { name, show } = args;
    let vault = context.settings()?.vault;
    let printer = context.printer;
    let facts = vault.facts(name)?;
    let value = if *show { Some(vault.value(name)?) } else { None };
    let grants = vault.grants();
    if printer.wants_json() {
        let mut shown = to_json(&facts, &grants?);
        if let Some(value) = &value {
            shown["value"] = json!(value.expose());
        }
        printer.json(&shown);
        return Ok(ExitStatus::Done);
    }
    if let Some(value) = value {
        printer.data(value.expose());
        return Ok(ExitStatus::Done);
    }
    let mut line = format!("{name}: {} bytes", facts.bytes);
    if let Some(at) = time(facts.updated_at) {
        line.push_str(&format!(", set {at}"));
    }
    match readers(name, &grants?) {
        readers if readers.is_empty() => line.push_str(", no readers"),
        readers => line.push_str(&format!(", read by: {readers}")),
    }
    printer.data(&line);
    Ok(ExitStatus::Done)
}

/// List entries and who may read them, without values
#[derive(Debug, Default, clap::Args)]
pub(crate) struct VaultListArgs {}

fn list(_: &VaultListArgs, context: &CommandContext<'_>) -> CommandResult {
    let vault = context.settings()?.vault;
    let printer = context.printer;
    let entries = vault.list()?;
    let grants = vault.grants()?;
    // A deleted entry keeps its grants, so they are shown as well.
    let mut missing: Vec<&str> = grants.iter().map(|grant| grant.entry.as_str()).collect();
    missing.sort_unstable();
    missing.dedup();
    missing.retain(|name| !entries.iter().any(|entry| entry.name == *name));
    let known = entries.iter().map(|entry| (entry.name.as_str(), Some(&entry.facts)));
    let rows: Vec<_> = known.chain(missing.into_iter().map(|name| (name, None))).collect();
    let item = |(name, facts): &(&str, Option<&Result<VaultEntryInfo, VaultError>>)| match facts {
        Some(Ok(facts)) => to_json(facts, &grants),
        Some(Err(error)) => json!({
            "name": name,
            "problem": error.to_string(),
            "hint": error.hint(),
            "grants": grants_to_json(name, &grants),
        }),
        None => {
            let grants = grants_to_json(name, &grants);
            json!({ "name": name, "problem": "there is no value", "grants": grants })
        }
    };
    let items: Vec<Value> = rows.iter().map(item).collect();
    printer.json_or(&json!({ "items": items }), || {
        let table = TextTable::new(["NAME", "BYTES", "SET", "READ BY"], &rows, |(name, facts)| {
            let (bytes, set) = match facts {
                Some(Ok(facts)) => (cell(facts.bytes), cell_or("", time(facts.updated_at))),
                Some(Err(_)) => (cell("?"), styled(TextStyle::Bad, "unreadable")),
                None => (cell("-"), styled(TextStyle::Careful, "no value")),
            };
            [styled(TextStyle::Strong, name), bytes, set, cell(readers(name, &grants))]
        });
        table.print_or("the vault is empty; save a value with: capdeck vault set NAME", printer);
        for error in entries.iter().filter_map(|entry| entry.facts.as_ref().err()) {
            printer.warn(&format!("{error}; {}", error.hint()));
        }
    })
}

/// Delete a value
///
/// Its grants stay for the next value of this name; take them back with `capdeck vault revoke`.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultDeleteArgs {
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
}

fn delete(args: &VaultDeleteArgs, context: &CommandContext<'_>) -> CommandResult {
    let VaultDeleteArgs { name } = args;
    if !context.settings()?.vault.delete(name)? {
        return Err(CommandFailure::from(VaultError::Missing { name: name.clone() })
            .hint("see what there is with: capdeck vault list"));
    }
    let deleted = json!({ "name": name, "deleted": true });
    context.printer.answer(&deleted, &format!("{name}: deleted"))
}

/// Let a capability read an entry
///
/// The grant is for the capability as its present file defines it. The same id in another file, such as one of a project, has to be
/// granted again.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultGrantArgs {
    /// The capability's id.
    #[arg(value_name = "CAPABILITY", add = ids())]
    id: String,
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
    /// The name that the capability knows it by; its own by default.
    #[arg(long = "as", value_name = "REFERENCE")]
    reference: Option<String>,
}

fn grant(args: &VaultGrantArgs, context: &CommandContext<'_>) -> CommandResult {
    let VaultGrantArgs { id, name, reference } = args;
    let settings = context.settings()?;
    let printer = context.printer;
    let grant = VaultGrant {
        holder: holder(&settings.open_host()?, id)?,
        reference: reference.clone().unwrap_or_else(|| name.clone()),
        entry: name.clone(),
    };
    settings.vault.grant(grant.clone())?;
    let VaultGrant { holder, reference, entry } = &grant;
    let note = format!("{id} in {} reads {entry} as $vault:{reference}", holder.path);
    printer.answer(&grant_to_json(&grant), &note)?;
    if let Err(VaultError::Missing { .. }) = settings.vault.facts(name) {
        printer.warn(&format!("there is no value yet; run: capdeck vault set {name}"));
    }
    Ok(ExitStatus::Done)
}

/// Take back what a capability may read
///
/// A connection that is open keeps the value it was opened with.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultRevokeArgs {
    /// The capability's id. It need not exist now.
    #[arg(value_name = "CAPABILITY", add = ids())]
    id: String,
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
    /// Only the grant under this reference.
    #[arg(long = "as", value_name = "REFERENCE")]
    reference: Option<String>,
}

fn revoke(args: &VaultRevokeArgs, context: &CommandContext<'_>) -> CommandResult {
    let VaultRevokeArgs { id, name, reference } = args;
    let taken = context.settings()?.vault.revoke(id, name, reference.as_deref())?;
    if taken.is_empty() {
        let message = format!("`{id}` has no grant for vault entry `{name}`");
        return Err(CommandFailure::request("GRANT_NOT_FOUND", message)
            .hint("see who may read what with: capdeck vault list"));
    }
    let items: Vec<Value> = taken.iter().map(grant_to_json).collect();
    context.printer.answer(&json!({ "revoked": items }), &format!("{id} can no longer read {name}"))
}

/// Replace the key and encrypt everything with the new one
///
/// After the key may have been read by others. All values, grants and sign-ins are encrypted again, or nothing changes. Backups that
/// were made before need the old key.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultRekeyArgs {
    /// Where to keep the new key; the place of the old one by default
    #[arg(long, value_name = "PLACE", value_parser = choice(KEY_PLACES))]
    to: Option<KeyLocation>,
}

const KEY_PLACES: [ChoiceRow<KeyLocation>; 2] = [
    ("file", "The key file, readable by you only", KeyLocation::File),
    ("keyring", "The keyring of the system, open while you are logged in", KeyLocation::Keyring),
];

fn rekey(args: &VaultRekeyArgs, context: &CommandContext<'_>) -> CommandResult {
    let RekeyReport { files, key, place, home } = context.settings()?.vault.rekey(args.to)?;
    let (word, shown_place) = match home {
        KeyLocation::File => ("file", place.clone()),
        KeyLocation::Keyring => ("keyring", format!("the keyring of the system, as {place} says")),
    };
    let outcome = json!({ "files": files, "key": key, "path": place, "home": word });
    let note = format!("sealed again: {files}; the new key {key} is in {shown_place}");
    context.printer.answer(&outcome, &note)
}
