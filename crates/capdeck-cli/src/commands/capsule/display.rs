//! How entries are shown, as tables and as pages of JSON.

use capdeck_host::{EntryInfo, PromotionReason, WriteOutcome};
use serde::Serialize;

use super::time::time;
use crate::{
    printer::{Printer, TextStyle},
    table::{TableCell, TextTable},
};

/// A page as every listing is printed.
#[derive(Serialize)]
pub(super) struct ListingPage<'a, T> {
    pub(super) items: &'a [T],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) capsule: Option<&'a str>,
    /// The entry that the items are versions of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<&'a str>,
    /// How many there are on all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<usize>,
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<&'a str>,
}

impl<'a, T> ListingPage<'a, T> {
    /// All items of a capsule.
    pub(super) fn whole(capsule: Option<&'a str>, items: &'a [T]) -> Self {
        Self { items, capsule, uri: None, total: None, next_cursor: None }
    }
}

/// Entries, one a line.
pub(super) fn entries_table(entries: &[EntryInfo]) -> TextTable {
    let mut table = TextTable::new(["URI", "VERSION", "WRITTEN", "BY", "TITLE"]);
    for entry in entries {
        table.row([
            TableCell::styled(TextStyle::Strong, entry.uri.as_str()),
            TableCell::plain(entry.version.to_string()),
            TableCell::plain(time(entry.written_at)),
            TableCell::plain(entry.written_by.as_str()),
            TableCell::plain(entry.title.as_str()),
        ]);
    }
    table
}

/// Says how to get the next page.
pub(super) fn more(next_cursor: Option<&str>, printer: &Printer) {
    if let Some(cursor) = next_cursor {
        printer.note(&format!("there are more; go on with: --cursor {cursor}"));
    }
}

/// `written version 3 of docs://api (specific_code: it cites files)`.
pub(super) fn written_line(done: &str, outcome: &WriteOutcome) -> String {
    let why = match outcome.promotion_reason {
        Some(PromotionReason::FileAnchor) => ": it cites files",
        Some(PromotionReason::FunctionSignature) => ": it shows code",
        None => "",
    };
    let (uri, version, class) = (&outcome.uri, outcome.version, outcome.risk_class.as_str());
    format!("{done} version {version} of {uri} ({class}{why})")
}
