//! How the status of a capability looks on a terminal.

use capdeck_host::{Health, ItemStatus, ListItem};

use crate::printer::Style;

/// The colour of a status.
pub(crate) fn style(item: &ListItem) -> Style {
    match item.status {
        ItemStatus::Ready => match item.health {
            Health::Ok { .. } => Style::Good,
            Health::Failing { .. } => Style::Bad,
            _ => Style::Careful,
        },
        ItemStatus::Stale | ItemStatus::Hidden | ItemStatus::Untrusted => Style::Careful,
        ItemStatus::Quarantined => Style::Bad,
        ItemStatus::Disabled => Style::Dim,
    }
}
