//! One request, as the fixture's handlers see it.

use std::sync::Arc;

use capdeck_mcp::{
    RawObject, RpcError,
    server::{ClientPeer, RequestExchange},
};
use serde_json::{Value, json};

use super::fixture::ConformanceFixture;

/// How handlers answer.
pub(super) type FixtureResult = Result<Value, RpcError>;

/// A request and what surrounds it.
pub(super) struct FixtureCall<'a> {
    pub(super) fixture: &'a Arc<ConformanceFixture>,
    /// What the client said it can be asked for.
    pub(super) capabilities: &'a Value,
    pub(super) is_modern: bool,
    /// Reaches the client when this request is over.
    pub(super) session: &'a ClientPeer,
    pub(super) params: Value,
    pub(super) exchange: &'a RequestExchange,
}

impl FixtureCall<'_> {
    /// One of a tool's arguments or a prompt's; `null` when it was not given.
    pub(super) fn argument(&self, name: &str) -> &Value {
        &self.params["arguments"][name]
    }

    /// A text argument that has to be there.
    pub(super) fn text_argument(&self, name: &str) -> Result<&str, RpcError> {
        self.argument(name)
            .as_str()
            .ok_or_else(|| RpcError::invalid_params(format!("`{name}` has to be a text")))
    }

    /// Sends a notification on this request's own stream.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.exchange.peer.notify(method, Some(raw_object(params)));
    }

    /// Sends a log message. A modern client hears it only if it said so with this request.
    pub(super) fn log(&self, data: &str) {
        if !self.is_modern || self.exchange.log_level.is_some() {
            let message = json!({ "level": "info", "logger": "fixture", "data": data });
            self.notify("notifications/message", &message);
        }
    }

    /// Whether the client named this extension.
    pub(super) fn has_extension(&self, name: &str) -> bool {
        self.capabilities["extensions"].get(name).is_some()
    }
}

/// A tool result of one text.
pub(super) fn says(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// A value that is known to be an object, as the wire takes it.
pub(super) fn raw_object(value: &Value) -> RawObject {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// A raw object, opened all the way down.
pub(super) fn value_of(object: &RawObject) -> Value {
    serde_json::to_value(object).unwrap()
}
