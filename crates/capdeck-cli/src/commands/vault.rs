//! `capdeck vault`: secrets kept on this machine, encrypted, for the capabilities they are granted to.

use std::io::{self, IsTerminal as _, Read as _};

use capdeck_auth::{
    KeyLocation, RekeyReport, Secret, VaultEntryInfo, VaultError, VaultGrant, VaultHolder,
    VaultListItem,
};
use capdeck_host::{Host, known_capability, vault_holder};
use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::command_table;
use crate::{
    completion::ids,
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    printer::{TextStyle, hidden_input},
    table::{TableCell, TextTable},
};

/// Store secrets, encrypted, and choose which capabilities may read them
///
/// A definition names an entry with `$vault:NAME`. It gets the value only after `capdeck vault grant`.
#[derive(Debug, clap::Args)]
pub(crate) struct VaultArgs {
    #[command(subcommand)]
    command: VaultCommand,
}

command_table! {
    enum VaultCommand {
        Set(VaultSetArgs) => set,
        Get(VaultGetArgs) => get,
        List(VaultListArgs) => list,
        Delete(VaultDeleteArgs) => delete,
        Grant(VaultGrantArgs) => grant,
        Revoke(VaultRevokeArgs) => revoke,
        Rekey(VaultRekeyArgs) => rekey,
    }
}

pub(crate) fn run(args: &VaultArgs, context: &CommandContext<'_>) -> CommandResult {
    args.command.run(context)
}

/// As whom the capability of this id reads the vault, in the definition that is in force.
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
        "grants": grants_of(&facts.name, grants).map(grant_to_json).collect::<Vec<_>>(),
    })
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

/// The grants of one entry.
fn grants_of<'a>(name: &str, grants: &'a [VaultGrant]) -> impl Iterator<Item = &'a VaultGrant> {
    grants.iter().filter(move |grant| grant.entry == name)
}

/// `github, linear (as LINEAR_KEY)`.
fn readers<'a>(grants: impl Iterator<Item = &'a VaultGrant>) -> String {
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
/// The value is read from stdin, without the line break at its end, or typed where it is not shown. It is never an argument: those are
/// visible to other programs.
#[derive(Debug, clap::Args)]
struct VaultSetArgs {
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
    if printer.wants_json() {
        let mut shown = to_json(&facts, &granted);
        shown["replaced"] = json!(was_there);
        printer.json(&shown);
        return Ok(ExitStatus::Done);
    }
    let done = if was_there { "Replaced" } else { "Saved" };
    printer.note(&format!("{done} {name}"));
    match readers(grants_of(name, &granted)) {
        readers if readers.is_empty() => printer.note(&format!(
            "no capability may read it yet; grant it with: capdeck vault grant CAPABILITY {name}"
        )),
        readers => printer.note(&format!("read by: {readers}")),
    }
    Ok(ExitStatus::Done)
}

fn read_value(name: &str) -> Result<Secret, CommandFailure> {
    let failed = |error: io::Error| {
        CommandFailure::request(
            "NO_VALUE",
            format!("the value of `{name}` cannot be read: {error}"),
        )
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
struct VaultGetArgs {
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
    if printer.wants_json() {
        let mut shown = to_json(&facts, &vault.grants()?);
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
    match readers(grants_of(name, &vault.grants()?)) {
        readers if readers.is_empty() => line.push_str(", no readers"),
        readers => line.push_str(&format!(", read by: {readers}")),
    }
    printer.data(&line);
    Ok(ExitStatus::Done)
}

/// List entries and who may read them, without values
#[derive(Debug, clap::Args)]
struct VaultListArgs {}

fn list(args: &VaultListArgs, context: &CommandContext<'_>) -> CommandResult {
    let VaultListArgs {} = args;
    let vault = context.settings()?.vault;
    let printer = context.printer;
    let entries = vault.list()?;
    let grants = vault.grants()?;
    // A deleted entry keeps its grants, so they are shown as well.
    let mut missing: Vec<&str> = grants.iter().map(|grant| grant.entry.as_str()).collect();
    missing.sort_unstable();
    missing.dedup();
    missing.retain(|name| !entries.iter().any(|entry| entry.name == *name));
    if printer.wants_json() {
        let known = entries.iter().map(|VaultListItem { name, facts }| match facts {
            Ok(facts) => to_json(facts, &grants),
            Err(error) => json!({
                "name": name,
                "problem": error.to_string(),
                "hint": error.hint(),
                "grants": grants_to_json(name, &grants),
            }),
        });
        let gone = missing.iter().map(|name| {
            json!({ "name": name, "problem": "there is no value", "grants": grants_to_json(name, &grants) })
        });
        let items: Vec<Value> = known.chain(gone).collect();
        printer.json(&json!({ "items": items }));
        return Ok(ExitStatus::Done);
    }
    if entries.is_empty() && missing.is_empty() {
        printer.note("the vault is empty; save a value with: capdeck vault set NAME");
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(["NAME", "BYTES", "SET", "READ BY"]);
    for VaultListItem { name, facts } in &entries {
        let [bytes, set] = match facts {
            Ok(facts) => {
                let set = time(facts.updated_at).map(|at| at.to_string()).unwrap_or_default();
                [TableCell::plain(facts.bytes.to_string()), TableCell::plain(set)]
            }
            Err(_) => [TableCell::plain("?"), TableCell::styled(TextStyle::Bad, "unreadable")],
        };
        let readers = readers(grants_of(name, &grants));
        table.row([
            TableCell::styled(TextStyle::Strong, name),
            bytes,
            set,
            TableCell::plain(readers),
        ]);
    }
    for name in missing {
        let readers = readers(grants_of(name, &grants));
        let [bytes, set] =
            [TableCell::plain("-"), TableCell::styled(TextStyle::Careful, "no value")];
        table.row([
            TableCell::styled(TextStyle::Strong, name),
            bytes,
            set,
            TableCell::plain(readers),
        ]);
    }
    table.print(printer);
    for entry in entries {
        if let Err(error) = entry.facts {
            printer.warn(&format!("{error}; {}", error.hint()));
        }
    }
    Ok(ExitStatus::Done)
}

fn grants_to_json(name: &str, grants: &[VaultGrant]) -> Vec<Value> {
    grants_of(name, grants).map(grant_to_json).collect()
}

/// Forget a value
///
/// Its grants stay for the next value of this name; take them back with `capdeck vault revoke`.
#[derive(Debug, clap::Args)]
struct VaultDeleteArgs {
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
    Ok(context
        .printer
        .answer(&json!({ "name": name, "deleted": true }), &format!("{name}: deleted")))
}

/// Let a capability read an entry
///
/// The grant is for the capability as its present file defines it. The same id in another file, such as one of a project, has to be
/// granted again.
#[derive(Debug, clap::Args)]
struct VaultGrantArgs {
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
    if printer.wants_json() {
        printer.json(&grant_to_json(&grant));
    } else {
        let VaultGrant { holder, reference, entry } = &grant;
        printer.note(&format!("{id} in {} reads {entry} as $vault:{reference}", holder.path));
    }
    if let Err(VaultError::Missing { .. }) = settings.vault.facts(name) {
        printer.warn(&format!("there is no value yet; run: capdeck vault set {name}"));
    }
    Ok(ExitStatus::Done)
}

/// Take back what a capability may read
///
/// A connection that is open keeps the value it was opened with.
#[derive(Debug, clap::Args)]
struct VaultRevokeArgs {
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
    if context.printer.wants_json() {
        let items: Vec<Value> = taken.iter().map(grant_to_json).collect();
        context.printer.json(&json!({ "revoked": items }));
    } else {
        context.printer.note(&format!("{id} can no longer read {name}"));
    }
    Ok(ExitStatus::Done)
}

/// Make a new key and seal everything with it
///
/// Values, grants and sign-ins are all sealed again, or nothing changes. Copies that were made before open only with the old key.
#[derive(Debug, clap::Args)]
struct VaultRekeyArgs {
    /// Where to keep the new key; the place of the old one by default
    #[arg(long, value_name = "PLACE")]
    to: Option<KeyPlaceChoice>,
}

/// Where a key can be kept.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum KeyPlaceChoice {
    /// The key file, readable by you only
    File,
    /// The keyring of the system, open while you are logged in
    Keyring,
}

fn rekey(args: &VaultRekeyArgs, context: &CommandContext<'_>) -> CommandResult {
    let VaultRekeyArgs { to } = args;
    let home = to.map(|place| match place {
        KeyPlaceChoice::File => KeyLocation::File,
        KeyPlaceChoice::Keyring => KeyLocation::Keyring,
    });
    let RekeyReport { files, key, place, home } = context.settings()?.vault.rekey(home)?;
    let (word, shown_place) = match home {
        KeyLocation::File => ("file", place.clone()),
        KeyLocation::Keyring => ("keyring", format!("the keyring of the system, as {place} says")),
    };
    if context.printer.wants_json() {
        let outcome = json!({ "files": files, "key": key, "path": place, "home": word });
        context.printer.json(&outcome);
    } else {
        context
            .printer
            .note(&format!("sealed again: {files}; the new key {key} is in {shown_place}"));
    }
    Ok(ExitStatus::Done)
}
