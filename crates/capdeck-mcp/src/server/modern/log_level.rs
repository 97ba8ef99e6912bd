//! Log severities.

use crate::{RawObject, raw::text_member};

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) struct LogSeverity(usize);

impl LogSeverity {
    pub(in crate::server) fn parse(text: &str) -> Option<Self> {
        LEVELS.iter().position(|level| *level == text).map(Self)
    }

    pub(in crate::server) fn as_str(self) -> &'static str {
        LEVELS.get(self.0).copied().unwrap_or("debug")
    }

    /// Returns whether a message with these params is severe enough. One without a level counts as severe.
    pub(super) fn admits(self, params: Option<&RawObject>) -> bool {
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
    }
}
