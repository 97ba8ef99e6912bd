//! The log level of a server: set once for a legacy server, sent with each request to a modern one.

use capdeck_catalog::RawMembers;
use serde_json::value::{RawValue, to_raw_value};

use super::{super::subscriptions::empty_result, McpSession};
use crate::{CallContext, CallError, ErrorCode};

const SET_LEVEL: &str = "logging/setLevel";

/// Least severe first.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl McpSession {
    /// Sets a client's log level. Sent to a legacy server; stored for the client's later requests to a modern one.
    pub(super) async fn set_level(
        &self,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let level = params
            .as_ref()
            .and_then(|params| serde_json::from_str::<String>(params.get("level")?.get()).ok());
        if !self.is_modern() {
            let mut told = self.told_level.lock().await;
            let answer = self.forward(SET_LEVEL, params, context).await?;
            *told = level;
            return Ok(answer);
        }
        match level.filter(|level| LEVELS.contains(&level.as_str())) {
            Some(level) => {
                self.clients.set_level(context.client.as_ref(), level);
                Ok(empty_result())
            }
            None => Err(CallError::new(ErrorCode::RequestInvalid, "there is no such log level")
                .hint(format!("choose one of {}", LEVELS.join(", ")))),
        }
    }

    /// Sends the level of a call to a legacy server if it differs from the last one. A refusal does not fail the
    /// call.
    pub(super) async fn send_log_level(&self, context: &CallContext) {
        let Some(level) = &context.log_level else { return };
        if self.is_modern() || !self.facts.lock().capabilities.contains_key("logging") {
            return;
        }
        let mut told = self.told_level.lock().await;
        if told.as_ref() == Some(level) {
            return;
        }
        let text = to_raw_value(level).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let params = RawMembers::from_iter([("level".to_owned(), text)]);
        match self.forward(SET_LEVEL, Some(params), context).await {
            Ok(_) => *told = Some(level.clone()),
            Err(error) => tracing::debug!(server = self.id(), %error, "the log level was refused"),
        }
    }
}
