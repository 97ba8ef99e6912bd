//! `capdeck vault get NAME`: what is known of an entry, or its value.

use serde_json::json;

use super::{grants_of, readers, time, to_json};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Show what is known of an entry
///
/// The value itself is printed only with --show.
#[derive(Debug, clap::Args)]
pub(crate) struct GetArgs {
    /// What the entry is called.
    #[arg(value_name = "NAME")]
    name: String,
    /// Print the value.
    #[arg(long)]
    show: bool,
}

pub(crate) fn run(args: &GetArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let GetArgs { name, show } = args;
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
        nobody if nobody.is_empty() => line.push_str(", read by nobody"),
        readers => line.push_str(&format!(", read by: {readers}")),
    }
    printer.data(&line);
    Ok(ExitStatus::Done)
}
