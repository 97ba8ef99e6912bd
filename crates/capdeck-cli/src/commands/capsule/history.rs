//! `capdeck capsule history NAME URI`: all versions of an entry.

use capdeck_host::HistoryRequest;

use super::{display::ListingPage, time::time};
use crate::{
    capsule_client::ask,
    completion::{capsules, entries},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    table::{TableCell, TextTable},
};

/// List all versions of an entry, the latest first
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleHistoryArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: String,
}

pub(crate) fn run(
    args: &CapsuleHistoryArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleHistoryArgs { name, uri } = args;
    let operation = HistoryRequest { uri: uri.clone() };
    let mut answer = ask(context, Some(name), operation)?;
    answer.versions.reverse();
    let printer = context.printer;
    if printer.wants_json() {
        let page = ListingPage::whole(Some(&answer.capsule), &answer.versions);
        printer.json(&ListingPage { uri: Some(answer.uri.as_str()), ..page });
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(["VERSION", "WRITTEN", "BY", "CLASS", "BYTES"]);
    for info in &answer.versions {
        table.row([
            TableCell::plain(info.version.to_string()),
            TableCell::plain(time(info.written_at)),
            TableCell::plain(info.written_by.as_str()),
            TableCell::plain(info.risk_class.as_str()),
            TableCell::plain(info.bytes.to_string()),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}
