//! What an operation is called, and what is said about it.

use std::collections::HashSet;

use super::operation::OperationLocation;

/// How much of an operation's description is kept beside its summary.
const MAX_DESCRIPTION_LENGTH: usize = 600;

/// Gives each operation a name of its own.
#[derive(Debug, Default)]
pub(super) struct OperationNames {
    taken: HashSet<String>,
}

impl OperationNames {
    /// The operation's id, else `METHOD /path`. The first of several with one id keeps it, the others are named for
    /// their place, which only they have.
    pub(super) fn assign(&mut self, spot: OperationLocation<'_>) -> String {
        let place = spot.place();
        let wanted = [spot.node.text("operationId"), Some(place.as_str())];
        for name in wanted.into_iter().flatten() {
            if self.taken.insert(name.to_owned()) {
                return name.to_owned();
            }
        }
        // Somebody's id is this operation's place.
        let mut number = 2;
        while !self.taken.insert(format!("{place} ({number})")) {
            number += 1;
        }
        format!("{place} ({number})")
    }
}

/// The title and the description of a tool.
pub(super) fn describe(spot: OperationLocation<'_>) -> (Option<String>, String) {
    let summary = spot.node.text("summary");
    let long = spot.node.text("description").filter(|text| Some(*text) != summary);
    let mut description = match (summary, long) {
        (Some(summary), Some(long)) => format!("{summary}\n\n{}", shortened(long)),
        (Some(only), None) => only.to_owned(),
        (None, Some(only)) => shortened(only),
        (None, None) => spot.place(),
    };
    if spot.node.is_true("deprecated") {
        description.insert_str(0, "Deprecated. ");
    }
    (summary.map(str::to_owned), description)
}

/// A text cut between paragraphs, else between sentences or words.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_DESCRIPTION_LENGTH {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_DESCRIPTION_LENGTH).collect();
    for (boundary, kept) in [("\n\n", 0), (". ", 1), (" ", 0)] {
        if let Some(end) = head.rfind(boundary).filter(|end| *end >= MAX_DESCRIPTION_LENGTH / 4)
            && let Some(cut) = head.get(..end + kept)
        {
            return format!("{} …", cut.trim_end());
        }
    }
    format!("{head}…")
}
