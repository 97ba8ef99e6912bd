//! How the status of a capability looks on a terminal.

use capdeck_host::ItemStatus;

use crate::printer::Style;

/// The colour of a status.
pub(crate) fn style(status: ItemStatus) -> Style {
    match status {
        ItemStatus::Ready => Style::Good,
        ItemStatus::Stale | ItemStatus::Hidden | ItemStatus::Untrusted => Style::Careful,
        ItemStatus::Quarantined => Style::Bad,
        ItemStatus::Disabled => Style::Dim,
    }
}
