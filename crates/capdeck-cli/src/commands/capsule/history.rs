//! `capdeck capsule history NAME URI`: all versions of an entry.

use capdeck_host::CapsuleOperation;

use super::{
    facts::{items, number, page, text},
    moment::time,
};
use crate::{
    capsule_desk::ask,
    completion::{capsules, entries},
    context::Context,
    errors::{ExitStatus, Failure},
    table::{Cell, Table},
};

/// List all versions of an entry, the latest first
#[derive(Debug, clap::Args)]
pub(crate) struct HistoryArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: String,
}

pub(crate) fn run(args: &HistoryArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let HistoryArgs { name, uri } = args;
    let operation = CapsuleOperation::History { uri: uri.clone() };
    let mut answer = ask(context, Some(name), operation)?;
    if let Some(versions) = answer.get_mut("versions").and_then(|found| found.as_array_mut()) {
        versions.reverse();
    }
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&page(&answer, "versions", &["capsule", "uri"]));
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["VERSION", "WRITTEN", "BY", "CLASS", "BYTES"]);
    for version in items(&answer, "versions") {
        table.row([
            Cell::plain(number(version, "version").to_string()),
            Cell::plain(time(text(version, "written_at"))),
            Cell::plain(text(version, "written_by")),
            Cell::plain(text(version, "risk_class")),
            Cell::plain(number(version, "bytes").to_string()),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}
