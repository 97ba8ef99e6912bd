//! `capdeck vault set NAME`: keeps a value.

use std::io::{self, IsTerminal as _, Read as _};

use capdeck_auth::{Grant, Holder, Secret, VaultError};
use serde_json::json;

use super::{holder, readers, to_json};
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    printer::hidden_input,
};

/// Shorter values cannot be told from other text, so they are not taken out of what is shown.
const RECOGNISED: usize = 6;

/// More than any value may have; the vault says so.
const MOST_READ: u64 = 70_000;

/// Keep a value, in place of an earlier one
///
/// The value is read from stdin, without the line break at its end, or typed where it is not shown. It is never an argument: those are
/// visible to other programs.
#[derive(Debug, clap::Args)]
pub(crate) struct SetArgs {
    /// What the entry is called: `A` to `Z`, `0` to `9` and `_`.
    #[arg(value_name = "NAME")]
    name: String,
    /// Let this capability read it, too. Can be repeated.
    #[arg(long = "grant", value_name = "CAPABILITY", add = ids())]
    grants: Vec<String>,
    /// The name that the granted capabilities know it by; its own if left out.
    #[arg(long = "as", value_name = "REFERENCE", requires = "grants")]
    reference: Option<String>,
}

pub(crate) fn run(args: &SetArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let SetArgs { name, grants, reference } = args;
    let settings = context.settings()?;
    let printer = context.printer;
    // A misspelled capability is told before anybody types a secret.
    let holders: Vec<Holder> = if grants.is_empty() {
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
    if value.expose().len() < RECOGNISED {
        printer.warn(
            "a value this short cannot be recognised, so it is not taken out of logs and results",
        );
    }
    let facts = settings.vault.set(name, &value)?;
    for holder in holders {
        let reference = reference.clone().unwrap_or_else(|| name.clone());
        settings.vault.grant(Grant { holder, reference, entry: name.clone() })?;
    }
    let granted = settings.vault.grants()?;
    if printer.wants_json() {
        let mut shown = to_json(&facts, &granted);
        shown["replaced"] = json!(was_there);
        printer.json(&shown);
        return Ok(ExitStatus::Done);
    }
    let done = if was_there { "replaced" } else { "kept" };
    printer.note(&format!("{name}: {done}"));
    match readers(super::grants_of(name, &granted)) {
        nobody if nobody.is_empty() => printer.note(&format!(
            "no capability may read it yet; grant it with: capdeck vault grant CAPABILITY {name}"
        )),
        readers => printer.note(&format!("read by: {readers}")),
    }
    Ok(ExitStatus::Done)
}

fn read_value(name: &str) -> Result<Secret, Failure> {
    let failed = |error: io::Error| {
        Failure::request("NO_VALUE", format!("the value of `{name}` cannot be read: {error}"))
            .hint(format!("give it on stdin, as in: capdeck vault set {name} < file"))
    };
    if io::stdin().is_terminal() {
        let typed = hidden_input(&format!("value of {name} (not shown): ")).map_err(failed)?;
        return typed.ok_or_else(|| Failure::request("CANCELLED", "nothing was kept"));
    }
    let mut text = String::new();
    io::stdin().lock().take(MOST_READ).read_to_string(&mut text).map_err(failed)?;
    let value = text.strip_suffix('\n').unwrap_or(&text);
    let value = Secret::new(value.strip_suffix('\r').unwrap_or(value));
    drop(Secret::new(text));
    Ok(value)
}
