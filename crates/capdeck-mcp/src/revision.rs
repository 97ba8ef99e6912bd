//! The supported protocol revisions, their eras and their differences.

use std::fmt;

/// A supported protocol revision. Ordered by date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolRevision(&'static str);

/// How clients and servers connect. The revisions of one era share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// A handshake opens a session; servers may send requests to their client.
    Legacy,
    /// Requests are self-contained and describe their sender; servers ask with an `input_required` result.
    Modern,
}

impl ProtocolRevision {
    pub const V2024_11_05: Self = Self("2024-11-05");
    pub const V2025_03_26: Self = Self("2025-03-26");
    pub const V2025_06_18: Self = Self("2025-06-18");
    pub const V2025_11_25: Self = Self("2025-11-25");
    pub const V2026_07_28: Self = Self("2026-07-28");

    /// The newest revision with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    pub const LATEST: Self = Self::V2026_07_28;

    /// The revision of an HTTP request that does not name one.
    pub const ASSUMED_OVER_HTTP: Self = Self::V2025_03_26;

    /// Every supported revision, oldest first.
    pub const SUPPORTED: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    pub fn modern() -> impl Iterator<Item = Self> {
        Self::SUPPORTED.into_iter().filter(|revision| revision.era() == Era::Modern)
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::SUPPORTED.into_iter().find(|revision| revision.0 == text)
    }

    /// Selects the revision of a handshake: the requested one if it has a handshake, else the newest that does.
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested)
            .filter(|revision| revision.era() == Era::Legacy)
            .unwrap_or(Self::LATEST_LEGACY)
    }

    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Returns whether a peer of this revision may send JSON-RPC batches.
    pub fn has_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// Returns whether clients of this revision understand a first event with an id and no data.
    pub fn has_priming_event(self) -> bool {
        self == Self::V2025_11_25
    }
}

impl fmt::Display for ProtocolRevision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_ordered_by_date_and_unknown_ones_get_the_newest() {
        assert!(ProtocolRevision::SUPPORTED.is_sorted());
        assert_eq!(ProtocolRevision::negotiate("2024-11-05"), ProtocolRevision::V2024_11_05);
        assert_eq!(ProtocolRevision::negotiate("1999-01-01"), ProtocolRevision::LATEST_LEGACY);
        assert_eq!(ProtocolRevision::negotiate("2026-07-28"), ProtocolRevision::LATEST_LEGACY);
        assert_eq!(ProtocolRevision::LATEST.era(), Era::Modern);
        assert_eq!(ProtocolRevision::LATEST_LEGACY.era(), Era::Legacy);
        assert!(ProtocolRevision::V2025_03_26.has_batches());
        assert!(!ProtocolRevision::V2025_06_18.has_batches());
    }
}
