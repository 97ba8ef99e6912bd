//! Filters log messages of servers by level.

/// The levels of MCP, least severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum McpLogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFilter {
    None,
    AtLeast(McpLogLevel),
    /// The server filters by itself.
    All,
}

impl McpLogLevel {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl LogFilter {
    /// The filter for a named level. An unknown level passes everything.
    pub(super) fn from_level(text: &str) -> Self {
        Self::AtLeast(McpLogLevel::parse(text).unwrap_or(McpLogLevel::Debug))
    }

    pub(super) fn level(self) -> Option<&'static str> {
        match self {
            Self::AtLeast(level) => Some(level.as_str()),
            Self::None | Self::All => None,
        }
    }

    /// True when a message of this level passes. Unknown levels pass.
    pub(super) fn allows(self, level: Option<&str>) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::AtLeast(least) => {
                level.and_then(McpLogLevel::parse).is_none_or(|level| level >= least)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_from_the_wanted_level_on() {
        let logs = LogFilter::from_level("warning");
        assert!(
            logs.allows(Some("warning")) && logs.allows(Some("emergency")) && logs.allows(None)
        );
        assert!(!logs.allows(Some("notice")) && !LogFilter::None.allows(Some("emergency")));
        assert!(LogFilter::All.allows(Some("debug")));
        assert_eq!(LogFilter::from_level("loud").level(), Some("debug"));
    }
}
