//! JSON-RPC errors.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{ProtocolRevision, RawObject, raw::raw};

/// The `error` member of a JSON-RPC response.
#[derive(Debug, Clone, thiserror::Error, Serialize)]
#[error("{message} (code {code})")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// The answer to a request.
pub(crate) type RpcResult = Result<Box<RawValue>, RpcError>;

impl RpcError {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    pub const REQUEST_CANCELLED: i64 = -32800;
    /// The Streamable HTTP transport rejects the request.
    pub const REFUSED: i64 = -32000;
    /// The session does not exist (any more).
    pub const SESSION_NOT_FOUND: i64 = -32001;
    /// The sender has its maximum number of sessions.
    pub const TOO_MANY_SESSIONS: i64 = -32005;

    pub(crate) fn is_of_modern_protocol(code: i64) -> bool {
        (-32099..=-32020).contains(&code)
    }

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(Self::PARSE_ERROR, message)
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("method not found: `{method}`"))
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(Self::HEADER_MISMATCH, message)
    }

    pub fn unsupported_version(requested: &str) -> Self {
        let supported: Vec<&str> =
            ProtocolRevision::modern().map(ProtocolRevision::as_str).collect();
        let facts = RawObject::from_iter([
            ("supported".to_owned(), raw(&supported)),
            ("requested".to_owned(), raw(requested)),
        ]);
        let message = format!(
            "protocol version `{requested}` is not supported; supported: {}",
            supported.join(", ")
        );
        Self::new(Self::UNSUPPORTED_VERSION, message).with_data(raw(&facts))
    }

    pub fn missing_capability(message: impl Into<String>, required: &RawObject) -> Self {
        let facts = RawObject::from_iter([("requiredCapabilities".to_owned(), raw(required))]);
        Self::new(Self::MISSING_CAPABILITY, message).with_data(raw(&facts))
    }

    pub(crate) fn too_many_sessions(most: usize) -> Self {
        let message = format!(
            "all {most} sessions that this sender may have open are in use; end one of them or wait for an answer"
        );
        Self::new(Self::TOO_MANY_SESSIONS, message)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(Self::REQUEST_CANCELLED, "the request was cancelled")
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL_ERROR, message)
    }

    #[must_use]
    pub fn with_data(mut self, data: Box<RawValue>) -> Self {
        self.data = Some(data);
        self
    }
}
