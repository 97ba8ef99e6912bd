//! `capdeck capsule history NAME URI`: all versions of an entry.

use capdeck_host::HistoryRequest;

use super::{display::ListingPage, moment::time};
use crate::{
    capsule_client::ask,
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
    let operation = HistoryRequest { uri: uri.clone() };
    let mut answer = ask(context, Some(name), operation)?;
    answer.versions.reverse();
    let printer = context.printer;
    if printer.wants_json() {
        let page = ListingPage::whole(Some(&answer.capsule), &answer.versions);
        printer.json(&ListingPage { uri: Some(answer.uri.as_str()), ..page });
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["VERSION", "WRITTEN", "BY", "CLASS", "BYTES"]);
    for info in &answer.versions {
        table.row([
            Cell::plain(info.version.to_string()),
            Cell::plain(time(info.written_at)),
            Cell::plain(info.written_by.as_str()),
            Cell::plain(info.risk_class.as_str()),
            Cell::plain(info.bytes.to_string()),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}
