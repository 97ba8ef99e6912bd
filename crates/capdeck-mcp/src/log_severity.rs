//! The severities of log messages.

use crate::{RawObject, raw::text_member};

/// Least severe first.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The severity of a log message. The default is the least severe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogSeverity(usize);

impl LogSeverity {
    /// The names of all severities.
    pub fn names() -> String {
        LEVELS.join(", ")
    }

    /// `None` for a name that MCP does not have.
    pub fn parse(text: &str) -> Option<Self> {
        LEVELS.iter().position(|level| *level == text).map(Self)
    }

    pub fn as_str(self) -> &'static str {
        LEVELS.get(self.0).copied().unwrap_or("debug")
    }

    /// Returns whether a message with these params is severe enough. One without a level counts as severe.
    pub fn admits(self, params: Option<&RawObject>) -> bool {
        params
            .and_then(|params| text_member(params, "level"))
            .and_then(|level| Self::parse(&level))
            .is_none_or(|level| level >= self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_severe_enough_is_admitted() {
        let warning = LogSeverity::parse("warning").unwrap();
        let admits = |level: &str| {
            warning.admits(serde_json::from_str(&format!(r#"{{"level":"{level}"}}"#)).ok().as_ref())
        };
        assert!(admits("warning") && admits("emergency") && admits("odd"));
        assert!(!admits("notice") && !admits("debug"));
        assert!(LogSeverity::parse("loud").is_none());
        assert_eq!(warning.as_str(), "warning");
        assert!(warning.admits(None));
        assert_eq!(LogSeverity::default().as_str(), "debug");
    }
}
