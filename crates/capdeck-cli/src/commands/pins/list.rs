//! `capdeck pins list [ID]`: every known tool and how it compares with its pin.

use capdeck_definition::PinMode;
use capdeck_host::{PinItem, pin_items};
use serde_json::json;

use super::reviews;
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    printer::Style,
    table::{Cell, Table},
};

/// List known tools and whether they are as they were pinned
///
/// Nothing is connected: what is listed is what the servers said last.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only this capability.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
}

pub(super) fn run(args: &ListArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    let host = context.open_host()?;
    let reviews = reviews(&host, args.id.as_deref())?;
    let items: Vec<PinItem> = reviews
        .iter()
        .flat_map(|(capability, review)| {
            pin_items(capability, host.offered_to_anyone(capability).as_ref(), review)
        })
        .collect();
    if printer.wants_json() {
        printer.json(&json!({ "items": items }));
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["CAPABILITY", "TOOL", "STATUS", "PINS", "DIGEST", "NOTE"]);
    for item in &items {
        let style = if item.status == "pinned" { Style::Good } else { Style::Careful };
        let digest: String =
            item.digest.iter().flat_map(|digest| digest.chars().take(12)).collect();
        table.row([
            Cell::plain(&item.capability),
            Cell::plain(&item.tool),
            Cell::styled(style, item.status),
            Cell::plain(mode_name(item.mode)),
            Cell::dim(digest),
            Cell::plain(note(item)),
        ]);
    }
    table.print(printer);
    for (capability, review) in &reviews {
        if review.book.as_ref().is_some_and(|book| book.is_repointed) {
            let id = &capability.definition.id;
            printer.warn(&format!(
                "`{id}` leads somewhere else than before; its tools were pinned anew"
            ));
        }
    }
    if reviews.iter().any(|(_, review)| !review.is_clean()) {
        printer.note("see what changed with: capdeck pins diff");
    }
    Ok(ExitStatus::Done)
}

/// The mode as it is written in files.
pub(crate) fn mode_name(mode: PinMode) -> &'static str {
    match mode {
        PinMode::Off => "off",
        PinMode::Warn => "warn",
        PinMode::Block => "block",
    }
}

fn note(item: &PinItem) -> String {
    let mut notes = Vec::new();
    if let Some(reason) = item.held {
        notes.push(format!("held: {}", reason.as_str()));
    }
    if let Some(first) = item.hidden_text.first() {
        let kinds: Vec<&str> = first.kinds.iter().map(|kind| kind.as_str()).collect();
        notes.push(format!("hidden text in {}: {}", first.at, kinds.join(", ")));
    }
    notes.join("; ")
}
