//! The clients of one connection and their log levels: set once for a legacy server, sent with each request to a modern
//! one.

use std::sync::{Arc, Weak};

use capdeck_catalog::RawMembers;
use capdeck_mcp::{LogSeverity, client::ClientDescription};
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};

use super::McpSession;
use crate::{CallContext, CallError, CallResult, ClientProfile, mcp::subscriptions::empty_result};

/// The introduction and the log level of each client. Clients that are gone are removed.
pub(super) struct McpClientRecords {
    /// The host's own `clientInfo`, for clients without one.
    own_info: RawMembers,
    own_level: Mutex<Option<String>>,
    known: Mutex<Vec<McpClientRecord>>,
}

struct McpClientRecord {
    profile: Weak<ClientProfile>,
    hello: Arc<ClientDescription>,
    level: Option<String>,
}

impl McpClientRecords {
    pub(super) fn new(own_info: RawMembers) -> Self {
        Self { own_info, own_level: Mutex::default(), known: Mutex::default() }
    }

    pub(super) fn hello(&self, profile: &Arc<ClientProfile>) -> Arc<ClientDescription> {
        self.with(profile, |known| Arc::clone(&known.hello))
    }

    pub(super) fn level(&self, profile: Option<&Arc<ClientProfile>>) -> Option<String> {
        match profile {
            None => self.own_level.lock().clone(),
            Some(profile) => self.with(profile, |known| known.level.clone()),
        }
    }

    pub(super) fn set_level(&self, profile: Option<&Arc<ClientProfile>>, level: String) {
        match profile {
            None => *self.own_level.lock() = Some(level),
            Some(profile) => self.with(profile, |known| known.level = Some(level)),
        }
    }

    fn with<T>(
        &self,
        profile: &Arc<ClientProfile>,
        work: impl FnOnce(&mut McpClientRecord) -> T,
    ) -> T {
        let mut known = self.known.lock();
        let same = |one: &McpClientRecord| std::ptr::eq(one.profile.as_ptr(), Arc::as_ptr(profile));
        let place = known.iter().position(same).unwrap_or_else(|| {
            known.retain(|one| one.profile.strong_count() > 0);
            let info = profile.info.clone().unwrap_or_else(|| self.own_info.clone());
            let hello =
                Arc::new(ClientDescription { info, capabilities: profile.capabilities.clone() });
            known.push(McpClientRecord { profile: Arc::downgrade(profile), hello, level: None });
            known.len() - 1
        });
        work(&mut known[place])
    }
}

const SET_LEVEL: &str = "logging/setLevel";

impl McpSession {
    /// Sets a client's log level. Sent to a legacy server; stored for the client's later requests to a modern one.
    pub(super) async fn set_level(
        &self,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> CallResult {
        let level = params
            .as_ref()
            .and_then(|params| serde_json::from_str::<String>(params.get("level")?.get()).ok());
        if !self.is_modern() {
            let mut sent = self.sent_level.lock().await;
            let answer = self.forward(SET_LEVEL, params, context).await?;
            *sent = level;
            return Ok(answer);
        }
        match level.filter(|level| LogSeverity::parse(level).is_some()) {
            Some(level) => {
                self.clients.set_level(context.client.as_ref(), level);
                Ok(empty_result())
            }
            None => Err(CallError::invalid_request("there is no such log level")
                .hint(format!("choose one of {}", LogSeverity::names()))),
        }
    }

    /// Sends the level of a call to a legacy server if it differs from the last one. A refusal does not fail the
    /// call.
    pub(super) async fn send_log_level(&self, context: &CallContext) {
        let Some(level) = &context.log_level else { return };
        if self.is_modern() || !self.facts.lock().capabilities.contains_key("logging") {
            return;
        }
        let mut sent = self.sent_level.lock().await;
        if sent.as_ref() == Some(level) {
            return;
        }
        let text = to_raw_value(level).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let params = RawMembers::from_iter([("level".to_owned(), text)]);
        match self.forward(SET_LEVEL, Some(params), context).await {
            Ok(_) => *sent = Some(level.clone()),
            Err(error) => tracing::debug!(server = self.id(), %error, "the log level was refused"),
        }
    }
}
