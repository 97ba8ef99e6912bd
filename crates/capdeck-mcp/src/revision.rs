//! The protocol revisions spoken here and what differs between them.
//!
//! All revisions here open with an `initialize` handshake. A revision that does not is an addition to this
//! list plus its own way in beside the session table; answering requests does not change.

use std::fmt;

/// A protocol revision this crate speaks. Ordered by date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(&'static str);

impl Revision {
    pub const V2024_11_05: Self = Self("2024-11-05");
    pub const V2025_03_26: Self = Self("2025-03-26");
    pub const V2025_06_18: Self = Self("2025-06-18");
    pub const V2025_11_25: Self = Self("2025-11-25");

    /// The newest revision that opens with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// What an HTTP request speaks when it does not say.
    pub const ASSUMED_OVER_HTTP: Self = Self::V2025_03_26;

    /// Every revision spoken here, oldest first.
    pub const SUPPORTED: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// The revision with this date, if it is spoken here.
    pub fn parse(text: &str) -> Option<Self> {
        Self::SUPPORTED.into_iter().find(|revision| revision.0 == text)
    }

    /// A server's answer to what a client asked for: the same if known, else our newest.
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested).unwrap_or(Self::LATEST_LEGACY)
    }

    /// The date, as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// JSON-RPC batches came and went: a peer of this revision may send them.
    pub fn has_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// Clients of this revision understand an event with an id and no data at the head of a stream.
    pub fn has_priming_event(self) -> bool {
        self >= Self::V2025_11_25
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_ordered_by_date_and_unknown_ones_get_the_newest() {
        assert!(Revision::SUPPORTED.is_sorted());
        assert_eq!(Revision::negotiate("2024-11-05"), Revision::V2024_11_05);
        assert_eq!(Revision::negotiate("1999-01-01"), Revision::LATEST_LEGACY);
        assert_eq!(Revision::parse("2026-07-28"), None);
        assert!(Revision::V2025_03_26.has_batches());
        assert!(!Revision::V2025_06_18.has_batches());
    }
}
