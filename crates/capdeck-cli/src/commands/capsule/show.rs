//! `capdeck capsule show NAME [URI]`: a capsule at a glance, or what is known about one entry.

use capdeck_host::{CapsuleOperation, ReadBody};
use serde_json::Value;

use super::{
    facts::{entries_table, items, joined, number, text},
    moment::time,
};
use crate::{
    capsule_desk::ask,
    completion::{capsules, entries},
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    printer::Printer,
    table::{Cell, Table},
};

/// Show a capsule at a glance, or what is known about one entry
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
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

pub(crate) fn run(args: &ShowArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ShowArgs { name, uri, version } = args;
    let printer = context.printer;
    let operation = match uri {
        None => CapsuleOperation::Overview,
        Some(uri) => {
            CapsuleOperation::Read { uri: uri.clone(), version: *version, body: ReadBody::Meta }
        }
    };
    let answer = ask(context, Some(name), operation)?;
    if printer.wants_json() {
        printer.json(&answer);
    } else if uri.is_some() {
        show_entry(&answer, printer);
    } else {
        show_capsule(&answer, printer);
    }
    Ok(ExitStatus::Done)
}

fn show_capsule(answer: &Value, printer: &Printer) {
    line(printer, "capsule", text(answer, "capsule"));
    line(printer, "name", text(answer, "name"));
    line(printer, "for", text(answer, "description"));
    printer.data("\n");
    let mut table = Table::new(["SCHEME", "ENTRIES"]);
    for scheme in items(answer, "schemes") {
        table.row([
            Cell::plain(format!("{}://", text(scheme, "scheme"))),
            Cell::plain(number(scheme, "entries").to_string()),
        ]);
    }
    table.print(printer);
    let recent = items(answer, "recent");
    if !recent.is_empty() {
        printer.data("\n");
        entries_table(recent).print(printer);
    }
}

fn show_entry(answer: &Value, printer: &Printer) {
    line(printer, "uri", text(answer, "uri"));
    line(printer, "title", text(answer, "title"));
    line(printer, "version", &number(answer, "version").to_string());
    line(printer, "class", text(answer, "risk_class"));
    line(printer, "because", text(answer, "promotion_reason"));
    line(printer, "by", text(answer, "written_by"));
    let client = text(answer, "client");
    if !client.is_empty() {
        line(printer, "client", &format!("{client} (claimed)"));
    }
    line(printer, "at", &time(text(answer, "written_at")));
    line(printer, "commit", text(answer, "commit_at_write"));
    line(printer, "tags", &joined(answer, "tags"));
    line(printer, "bytes", &number(answer, "bytes").to_string());
    if let Some(blob) = answer.get("blob") {
        let shown = format!(
            "{} ({} bytes, {})",
            text(blob, "sha256"),
            number(blob, "bytes"),
            text(blob, "mime")
        );
        line(printer, "blob", &shown);
    }
    for anchor in items(answer, "anchors") {
        let state = match text(anchor, "state") {
            "unchecked" => String::new(),
            state => format!(" ({state})"),
        };
        line(printer, "cites", &format!("{}{state}", text(anchor, "path")));
    }
}

fn line(printer: &Printer, name: &str, value: &str) {
    if !value.is_empty() {
        printer.data(&format!("{name:<8}  {}\n", one_line(value)));
    }
}
