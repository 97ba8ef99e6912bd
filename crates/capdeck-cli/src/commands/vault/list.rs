//! `capdeck vault list`: every entry, and who may read it.

use capdeck_auth::{Grant, ListedEntry};
use serde_json::{Value, json};

use super::{grant_to_json, grants_of, readers, time, to_json};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    printer::Style,
    table::{Cell, Table},
};

/// List entries and who may read them, without values
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {}

pub(crate) fn run(args: &ListArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ListArgs {} = args;
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
        let known = entries.iter().map(|ListedEntry { name, facts }| match facts {
            Ok(facts) => to_json(facts, &grants),
            Err(error) => json!({
                "name": name,
                "problem": error.to_string(),
                "hint": error.hint(),
                "grants": shown(name, &grants),
            }),
        });
        let gone = missing.iter().map(|name| {
            json!({ "name": name, "problem": "there is no value", "grants": shown(name, &grants) })
        });
        let items: Vec<Value> = known.chain(gone).collect();
        printer.json(&json!({ "items": items }));
        return Ok(ExitStatus::Done);
    }
    if entries.is_empty() && missing.is_empty() {
        printer.note("the vault is empty; keep something with: capdeck vault set NAME");
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["NAME", "BYTES", "SET", "READ BY"]);
    for ListedEntry { name, facts } in &entries {
        let [bytes, set] = match facts {
            Ok(facts) => {
                let set = time(facts.updated_at).map(|at| at.to_string()).unwrap_or_default();
                [Cell::plain(facts.bytes.to_string()), Cell::plain(set)]
            }
            Err(_) => [Cell::plain("?"), Cell::styled(Style::Bad, "unreadable")],
        };
        let readers = readers(grants_of(name, &grants));
        table.row([Cell::styled(Style::Strong, name), bytes, set, Cell::plain(readers)]);
    }
    for name in missing {
        let readers = readers(grants_of(name, &grants));
        let [bytes, set] = [Cell::plain("-"), Cell::styled(Style::Careful, "no value")];
        table.row([Cell::styled(Style::Strong, name), bytes, set, Cell::plain(readers)]);
    }
    table.print(printer);
    for entry in entries {
        if let Err(error) = entry.facts {
            printer.warn(&format!("{error}; {}", error.hint()));
        }
    }
    Ok(ExitStatus::Done)
}

fn shown(name: &str, grants: &[Grant]) -> Vec<Value> {
    grants_of(name, grants).map(grant_to_json).collect()
}
