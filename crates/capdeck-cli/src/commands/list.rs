//! `capdeck list`: what is in the deck.

use capdeck_host::{HealthStatus, ItemStatus, ListItem, list_items};
use serde_json::json;

use crate::{
    context::CommandContext,
    errors::{CommandResult, ExitStatus},
    plain_text::{counted, written},
    printer::TextStyle,
    table::{TextTable, cell, cell_or, styled},
};

/// Show what is in the deck
///
/// Reads files only; nothing is connected. What is usable is shown by how it did when it was last used: `ok`, `failing`,
/// or `unchecked` while nothing was asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Also show what is disabled, untrusted or broken.
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &ListArgs, context: &CommandContext<'_>) -> CommandResult {
    let ListArgs { all } = args;
    let host = context.open_host()?;
    let items = list_items(&host, &host.catalog());
    let (shown, left_out): (Vec<ListItem>, Vec<ListItem>) =
        items.into_iter().partition(|item| *all || item.status.is_listed());
    let printer = context.printer;
    printer.json_or(&json!({ "items": shown }), || {
        let nothing = "the deck is empty; put something into it with: capdeck add --help";
        table(&shown).print_or(nothing, printer);
        for item in &shown {
            if let Some(chaos) = &item.chaos {
                printer.warn(&format!("`{}` has faults injected by `chaos`: {chaos}", item.id));
            }
            if item.import_problems > 0 {
                printer.warn(&format!(
                    "`{}`: {} could not be imported; see: capdeck why {}",
                    item.id,
                    counted(item.import_problems, "part", "parts"),
                    item.id
                ));
            }
            if let Some(explanation) = item.explanation() {
                let word = item.word();
                // A failure begins with the word already.
                match item.health {
                    HealthStatus::Failing { .. } if item.status == ItemStatus::Ready => {
                        printer.warn(&format!("{} is {explanation}", item.id));
                    }
                    _ => printer.note(&format!("{} is {word}: {explanation}", item.id)),
                }
            }
        }
    })?;
    note_left_out(&left_out, context);
    Ok(ExitStatus::Done)
}

fn table(items: &[ListItem]) -> TextTable {
    let heading = ["ID", "STATUS", "BACKEND", "EXPOSURE", "TOKENS", "DESCRIPTION"];
    TextTable::new(heading, items, |item| {
        [
            cell(&item.id),
            styled(style(item), item.word()),
            cell_or("-", item.backend.map(|backend| backend.as_str())),
            cell_or("-", item.exposure.map(written)),
            cell_or("?", item.tokens),
            cell(&item.description),
        ]
    })
}

/// Broken and untrusted entries are never passed over in silence.
fn note_left_out(items: &[ListItem], context: &CommandContext<'_>) {
    for item in items.iter().filter(|item| item.status == ItemStatus::Quarantined) {
        let reason = item.reason.as_deref().unwrap_or_default();
        context.printer.warn(&format!("`{}` does not load: {reason}", item.id));
    }
    let count = |status: ItemStatus| items.iter().filter(|item| item.status == status).count();
    if count(ItemStatus::Quarantined) > 0 {
        context.printer.note("see what to correct with: capdeck validate");
    }
    let untrusted = count(ItemStatus::Untrusted);
    if untrusted > 0 {
        let what = if untrusted == 1 { "capability waits" } else { "capabilities wait" };
        context.printer.warn(&format!(
            "{untrusted} {what} for this project to be trusted; review it with: capdeck trust"
        ));
    }
}

/// The colour of a status.
pub(crate) fn style(item: &ListItem) -> TextStyle {
    match item.status {
        ItemStatus::Ready => match item.health {
            HealthStatus::Ok { .. } => TextStyle::Good,
            HealthStatus::Failing { .. } => TextStyle::Bad,
            _ => TextStyle::Careful,
        },
        ItemStatus::Stale | ItemStatus::Hidden | ItemStatus::Untrusted => TextStyle::Careful,
        ItemStatus::Quarantined => TextStyle::Bad,
        ItemStatus::Disabled => TextStyle::Dim,
    }
}
