//! The client behind one request, as a backend can reach it while the request runs, and the log messages it gets.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{AGENT_START_WAIT, CallContext, CallError, CallerHandle, RawMembers};
use capdeck_mcp::{Era, LogSeverity, server::RequestExchange};
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
    notices: NotificationPolicy,
    logs: LogFilter,
}

/// The context of one request. `legacy_logs` applies to clients that cannot set the level per request.
pub(super) fn context(
    exchange: RequestExchange,
    notices: NotificationPolicy,
    legacy_logs: LogFilter,
) -> CallContext {
    let logs = match exchange.revision.era() {
        Era::Modern => exchange.log_level.map_or(LogFilter::None, LogFilter::AtLeast),
        Era::Legacy => legacy_logs,
    };
    CallContext {
        timeout: None,
        cancel: exchange.cancel.clone(),
        client: None,
        start_timeout: None,
        start_wait: Some(AGENT_START_WAIT),
        log_level: match logs {
            LogFilter::AtLeast(level) => Some(level.as_str().to_owned()),
            LogFilter::None | LogFilter::All => None,
        },
        caller: Arc::new(ExchangeCaller { exchange, notices, logs }),
    }
}

#[async_trait]
impl CallerHandle for ExchangeCaller {
    fn wants_progress(&self) -> bool {
        self.exchange.progress_token.is_some()
    }

    fn progress(&self, params: RawMembers) {
        let Some(token) = &self.exchange.progress_token else { return };
        let mut sent = RawMembers::from_iter([("progressToken".to_owned(), token.clone())]);
        sent.extend(params);
        self.exchange.peer.notify("notifications/progress", Some(sent));
    }

    fn notify(&self, method: &str, params: Option<RawMembers>) {
        let passes = match (method, self.logs) {
            ("notifications/message", LogFilter::None) => false,
            ("notifications/message", LogFilter::AtLeast(level)) => level.admits(params.as_ref()),
            ("notifications/message", LogFilter::All) => true,
            _ => self.notices == NotificationPolicy::Everything,
        };
        if passes {
            self.exchange.peer.notify(method, params);
        }
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        let answer = self.exchange.peer.request(method, params, PERSON_TIMEOUT);
        answer.await.map_err(failure::from_client)
    }

    fn takes_input_required(&self) -> bool {
        self.exchange.revision.era() == Era::Modern
    }

    fn paused(&self) {
        if self.notices == NotificationPolicy::Everything {
            self.exchange.peer.pause();
        }
    }
}

/// Which log messages a client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFilter {
    None,
    AtLeast(LogSeverity),
    /// The server filters by itself.
    All,
}
