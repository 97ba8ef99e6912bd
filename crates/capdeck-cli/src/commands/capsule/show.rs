//! `capdeck capsule show NAME [URI]`: a capsule at a glance, or what is known about one entry.

use capdeck_host::{
    AnchorState, OverviewRequest, OverviewResponse, ReadBody, ReadRequest, ReadResponse,
};
use serde::Serialize;

use super::{display::entries_table, time::time};
use crate::{
    capsule_client::ask,
    completion::{capsules, entries},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    plain_text::one_line,
    printer::Printer,
    table::{TableCell, TextTable},
};

/// Show a capsule at a glance, or what is known about one entry
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleShowArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: Option<String>,
    /// An older version of the entry.
    #[arg(long, value_name = "N", requires = "uri")]
    version: Option<u64>,
}

pub(crate) fn run(
    args: &CapsuleShowArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleShowArgs { name, uri, version } = args;
    let printer = context.printer;
    match uri.clone() {
        None => show(&ask(context, Some(name), OverviewRequest)?, show_capsule, printer),
        Some(uri) => {
            let read = ReadRequest { uri, version: *version, body: ReadBody::Meta };
            show(&ask(context, Some(name), read)?, show_entry, printer);
        }
    }
    Ok(ExitStatus::Done)
}

fn show<T: Serialize>(response: &T, as_text: fn(&T, &Printer), printer: &Printer) {
    if printer.wants_json() {
        printer.json(response);
    } else {
        as_text(response, printer);
    }
}

fn show_capsule(overview: &OverviewResponse, printer: &Printer) {
    line(printer, "capsule", &overview.capsule);
    line(printer, "name", &overview.name);
    line(printer, "for", &overview.description);
    printer.data("\n");
    let mut table = TextTable::new(["SCHEME", "ENTRIES"]);
    for count in &overview.schemes {
        table.row([
            TableCell::plain(format!("{}://", count.scheme)),
            TableCell::plain(count.entries.to_string()),
        ]);
    }
    table.print(printer);
    if !overview.recent.is_empty() {
        printer.data("\n");
        entries_table(&overview.recent).print(printer);
    }
}

fn show_entry(entry: &ReadResponse, printer: &Printer) {
    let info = &entry.info;
    line(printer, "uri", info.uri.as_str());
    line(printer, "title", &info.title);
    line(printer, "version", &info.version.to_string());
    line(printer, "class", info.risk_class.as_str());
    line(printer, "because", info.promotion_reason.map_or("", |reason| reason.as_str()));
    line(printer, "by", &info.written_by);
    if let Some(client) = &info.client {
        line(printer, "client", &format!("{client} (claimed)"));
    }
    line(printer, "at", &time(info.written_at));
    let commit = info.commit_at_write.as_ref().map(ToString::to_string);
    line(printer, "commit", &commit.unwrap_or_default());
    line(printer, "tags", &info.tags.join(", "));
    line(printer, "bytes", &info.bytes.to_string());
    if let Some(blob) = &info.blob {
        line(printer, "blob", &format!("{} ({} bytes, {})", blob.sha256, blob.bytes, blob.mime));
    }
    for anchor in &entry.anchors {
        let state = match anchor.state {
            AnchorState::Unchecked => String::new(),
            state => format!(" ({})", state.as_str()),
        };
        line(printer, "cites", &format!("{}{state}", anchor.path));
    }
}

fn line(printer: &Printer, name: &str, value: &str) {
    if !value.is_empty() {
        printer.data(&format!("{name:<8}  {}\n", one_line(value)));
    }
}
