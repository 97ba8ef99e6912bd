//! The client behind one request, as a backend may reach it while the request runs.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError, Caller, RawObject};
use capdeck_mcp::server::Exchange;
use serde_json::value::RawValue;

use super::failure;

/// How long a person has to answer a question that a server asks through the client.
const PERSON_TIMEOUT: Duration = Duration::from_secs(600);

/// What the client is told while its request runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// Progress only: the client sees a deck and did not ask for servers' log messages.
    Progress,
    /// Everything the server says about this request.
    Everything,
}

struct ExchangeCaller {
    exchange: Exchange,
    telling: Telling,
}

/// The context of one request of a client.
pub(super) fn context(exchange: Exchange, telling: Telling) -> CallContext {
    CallContext {
        timeout: None,
        cancel: exchange.cancel.clone(),
        client: None,
        log_level: exchange.log_level.clone(),
        caller: Arc::new(ExchangeCaller { exchange, telling }),
    }
}

#[async_trait]
impl Caller for ExchangeCaller {
    fn wants_progress(&self) -> bool {
        self.exchange.progress_token.is_some()
    }

    fn progress(&self, params: RawObject) {
        let Some(token) = &self.exchange.progress_token else { return };
        let mut told = RawObject::from_iter([("progressToken".to_owned(), token.clone())]);
        told.extend(params);
        self.exchange.peer.notify("notifications/progress", Some(told));
    }

    fn notify(&self, method: &str, params: Option<RawObject>) {
        if self.telling == Telling::Everything {
            self.exchange.peer.notify(method, params);
        }
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, CallError> {
        let asked = self.exchange.peer.request(method, params, PERSON_TIMEOUT);
        asked.await.map_err(failure::from_client)
    }

    fn paused(&self) {
        if self.telling == Telling::Everything {
            self.exchange.peer.pause();
        }
    }
}
