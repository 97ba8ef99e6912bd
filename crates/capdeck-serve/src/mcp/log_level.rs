//! Filters log messages of servers by level.

/// The levels of MCP, least severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LogLevel {
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
pub(super) enum Logs {
    None,
    AtLeast(LogLevel),
    /// The server filters by itself.
    All,
}

impl LogLevel {
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

impl Logs {
    /// The filter for a named level. An unknown level passes everything.
    pub(super) fn from_level(text: &str) -> Self {
        Self::AtLeast(LogLevel::parse(text).unwrap_or(LogLevel::Debug))
    }

    pub(super) fn level(self) -> Option<&'static str> {
        match self {
            Self::AtLeast(level) => Some(level.as_str()),
            Self::None | Self::All => None,
        }
    }

    /// True when a message of this level passes. Unknown levels pass.
    pub(super) fn pass(self, level: Option<&str>) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::AtLeast(least) => {
                level.and_then(LogLevel::parse).is_none_or(|level| level >= least)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_from_the_wanted_level_on() {
        let logs = Logs::from_level("warning");
        assert!(logs.pass(Some("warning")) && logs.pass(Some("emergency")) && logs.pass(None));
        assert!(!logs.pass(Some("notice")) && !Logs::None.pass(Some("emergency")));
        assert!(Logs::All.pass(Some("debug")));
        assert_eq!(Logs::from_level("loud").level(), Some("debug"));
    }
}
