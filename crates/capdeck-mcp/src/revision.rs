//! The protocol revisions spoken here, the eras they belong to, and what differs between them.

use std::fmt;

/// A protocol revision this crate speaks. Ordered by date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(&'static str);

/// How clients and servers come together. The revisions of one era share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// A handshake opens a session; servers may send requests to their client.
    Legacy,
    /// Every request stands alone and says who sends it; servers ask by an `input_required` result.
    Modern,
}

impl Revision {
    pub const V2024_11_05: Self = Self("2024-11-05");
    pub const V2025_03_26: Self = Self("2025-03-26");
    pub const V2025_06_18: Self = Self("2025-06-18");
    pub const V2025_11_25: Self = Self("2025-11-25");
    pub const V2026_07_28: Self = Self("2026-07-28");

    /// The newest revision that opens with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest revision of all.
    pub const LATEST: Self = Self::V2026_07_28;

    /// What an HTTP request speaks when it does not say.
    pub const ASSUMED_OVER_HTTP: Self = Self::V2025_03_26;

    /// Every revision spoken here, oldest first.
    pub const SUPPORTED: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The revisions of the modern era, oldest first.
    pub fn modern() -> impl Iterator<Item = Self> {
        Self::SUPPORTED.into_iter().filter(|revision| revision.era() == Era::Modern)
    }

    /// The revision with this date, if it is spoken here.
    pub fn parse(text: &str) -> Option<Self> {
        Self::SUPPORTED.into_iter().find(|revision| revision.0 == text)
    }

    /// A server's answer to a handshake: the revision asked for if it has one, else our newest that does.
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested)
            .filter(|revision| revision.era() == Era::Legacy)
            .unwrap_or(Self::LATEST_LEGACY)
    }

    /// The era this revision belongs to.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Modern } else { Era::Legacy }
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
        self == Self::V2025_11_25
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
        assert_eq!(Revision::negotiate("2026-07-28"), Revision::LATEST_LEGACY);
        assert_eq!(Revision::LATEST.era(), Era::Modern);
        assert_eq!(Revision::LATEST_LEGACY.era(), Era::Legacy);
        assert!(Revision::V2025_03_26.has_batches());
        assert!(!Revision::V2025_06_18.has_batches());
    }
}
