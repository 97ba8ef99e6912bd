//! The client behind one request, as a backend can reach it while the request runs, and the log messages it wants.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError, CallerHandle, RawMembers};
use capdeck_mcp::{Era, server::RequestExchange};
use serde_json::value::RawValue;

use super::failure;

/// How long a person has to answer an elicitation.
const PERSON_TIMEOUT: Duration = Duration::from_secs(600);

/// Which notifications the client gets during its request, besides progress and log messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotificationPolicy {
    /// The client sees a deck.
    Nothing,
    Everything,
}

struct ExchangeCaller {
    exchange: RequestExchange,
    telling: NotificationPolicy,
    logs: LogFilter,
}

/// The context of one request. `legacy_logs` applies to clients that cannot set the level per request.
pub(super) fn context(
    exchange: RequestExchange,
    telling: NotificationPolicy,
    legacy_logs: LogFilter,
) -> CallContext {
    let logs = match exchange.revision.era() {
        Era::Modern => exchange.log_level.as_deref().map_or(LogFilter::None, LogFilter::from_level),
        Era::Legacy => legacy_logs,
    };
    CallContext {
        timeout: None,
        cancel: exchange.cancel.clone(),
        client: None,
        log_level: logs.level().map(str::to_owned),
        caller: Arc::new(ExchangeCaller { exchange, telling, logs }),
    }
}

#[async_trait]
impl CallerHandle for ExchangeCaller {
    fn wants_progress(&self) -> bool {
        self.exchange.progress_token.is_some()
    }

    fn progress(&self, params: RawMembers) {
        let Some(token) = &self.exchange.progress_token else { return };
        let mut told = RawMembers::from_iter([("progressToken".to_owned(), token.clone())]);
        told.extend(params);
        self.exchange.peer.notify("notifications/progress", Some(told));
    }

    fn notify(&self, method: &str, params: Option<RawMembers>) {
        let is_wanted = if method == "notifications/message" {
            let level = params.as_ref().and_then(|params| params.get("level"));
            let level: Option<String> =
                level.and_then(|text| serde_json::from_str(text.get()).ok());
            self.logs.allows(level.as_deref())
        } else {
            self.telling == NotificationPolicy::Everything
        };
        if is_wanted {
            self.exchange.peer.notify(method, params);
        }
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        let asked = self.exchange.peer.request(method, params, PERSON_TIMEOUT);
        asked.await.map_err(failure::from_client)
    }

    fn takes_input_required(&self) -> bool {
        self.exchange.revision.era() == Era::Modern
    }

    fn paused(&self) {
        if self.telling == NotificationPolicy::Everything {
            self.exchange.peer.pause();
        }
    }
}

/// The levels of MCP, least severe first.
const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A place in [`LOG_LEVELS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct McpLogLevel(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFilter {
    None,
    AtLeast(McpLogLevel),
    /// The server filters by itself.
    All,
}

impl McpLogLevel {
    pub(super) fn parse(text: &str) -> Option<Self> {
        LOG_LEVELS.iter().position(|name| *name == text).map(Self)
    }
}

impl LogFilter {
    /// The filter for a named level. An unknown level passes everything.
    pub(super) fn from_level(text: &str) -> Self {
        Self::AtLeast(McpLogLevel::parse(text).unwrap_or(McpLogLevel(0)))
    }

    pub(super) fn level(self) -> Option<&'static str> {
        match self {
            Self::AtLeast(level) => LOG_LEVELS.get(level.0).copied(),
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
