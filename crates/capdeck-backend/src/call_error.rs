//! The error of a failed call, for agents and people.

use std::{borrow::Cow, fmt};

use capdeck_auth::SecretScrubber;
use serde::{Deserialize, de::value::StrDeserializer};
use serde_json::{Value, value::RawValue};

/// A failed call. `message` is safe to show to an agent, `detail` is for the log only.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    pub code: ErrorCode,
    pub message: String,
    /// For the log; may name paths and hosts, never secrets.
    pub detail: Option<String>,
    /// The next step: a command to run, or a value to correct.
    pub hint: Option<String>,
    /// Machine-readable facts, such as schema errors and the expected signature.
    pub data: Option<Value>,
    /// The remote's JSON-RPC error, unchanged, to pass through.
    pub rpc: Option<Box<RpcFailure>>,
    /// True when the reason is the host (idle, reload, shutdown, no process left), not the capability.
    pub host_stopped: bool,
}

#[derive(Debug, Clone)]
pub struct RpcFailure {
    pub code: i64,
    pub message: String,
    pub data: Option<Box<RawValue>>,
}

/// The closed list of reasons; each edge maps them to its own errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    NotFound,
    BadInput,
    Denied,
    NeedsLogin,
    Unavailable,
    TimedOut,
    Cancelled,
    BackendFailed,
    Unsupported,
    Bug,
}

/// Stable error codes, with the names that Caplets clients know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    ConfigInvalid,
    RequestInvalid,
    ServerNotFound,
    ServerUnavailable,
    ServerStartTimeout,
    /// A launcher installs it, and the caller did not wait for that.
    ServerStarting,
    UnknownOperation,
    UnsupportedOperation,
    UnsupportedCapability,
    ToolNotFound,
    PromptNotFound,
    ResourceNotFound,
    ToolCallTimeout,
    Cancelled,
    Denied,
    ApprovalRequired,
    AuthRequired,
    AuthFailed,
    DownstreamProtocolError,
    DownstreamToolError,
    DownstreamResourceError,
    DownstreamPromptError,
    DownstreamCompletionError,
    ContentTooLarge,
    InternalError,
}

impl CallError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            data: None,
            rpc: None,
            host_stopped: false,
        }
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::RequestInvalid, message)
    }

    pub fn invalid_config(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ConfigInvalid, message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ServerUnavailable, message)
    }

    pub fn protocol_error(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::DownstreamProtocolError, message)
    }

    pub fn internal(problem: impl fmt::Display) -> Self {
        Self::new(ErrorCode::InternalError, problem.to_string())
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn detail(mut self, detail: impl fmt::Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.code.kind()
    }

    #[must_use]
    pub(crate) fn scrubbed(mut self, scrubber: &SecretScrubber) -> Self {
        if !scrubber.is_empty() {
            self.message = scrubber.text(&self.message).into_owned();
            self.detail = self.detail.map(|detail| scrubber.text(&detail).into_owned());
            self.hint = self.hint.map(|hint| scrubber.text(&hint).into_owned());
            if let Some(data) = &mut self.data {
                scrub_json(data, scrubber);
            }
            self.rpc = self.rpc.map(|failure| Box::new(failure.scrubbed(scrubber)));
        }
        self
    }
}

impl RpcFailure {
    /// A server may echo its input; its data stays byte for byte when it does not.
    fn scrubbed(mut self, scrubber: &SecretScrubber) -> Self {
        self.message = scrubber.text(&self.message).into_owned();
        let leaks = |data: &RawValue| matches!(scrubber.text(data.get()), Cow::Owned(_));
        if let Some(data) = self.data.take_if(|data| leaks(data)) {
            let mut value: Value = serde_json::from_str(data.get()).unwrap_or_default();
            scrub_json(&mut value, scrubber);
            self.data = serde_json::value::to_raw_value(&value).ok();
        }
        self
    }
}

impl ErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigInvalid => "CONFIG_INVALID",
            Self::RequestInvalid => "REQUEST_INVALID",
            Self::ServerNotFound => "SERVER_NOT_FOUND",
            Self::ServerUnavailable => "SERVER_UNAVAILABLE",
            Self::ServerStartTimeout => "SERVER_START_TIMEOUT",
            Self::ServerStarting => "SERVER_STARTING",
            Self::UnknownOperation => "UNKNOWN_OPERATION",
            Self::UnsupportedOperation => "UNSUPPORTED_OPERATION",
            Self::UnsupportedCapability => "UNSUPPORTED_CAPABILITY",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::PromptNotFound => "PROMPT_NOT_FOUND",
            Self::ResourceNotFound => "RESOURCE_NOT_FOUND",
            Self::ToolCallTimeout => "TOOL_CALL_TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::Denied => "DENIED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::AuthRequired => "AUTH_REQUIRED",
            Self::AuthFailed => "AUTH_FAILED",
            Self::DownstreamProtocolError => "DOWNSTREAM_PROTOCOL_ERROR",
            Self::DownstreamToolError => "DOWNSTREAM_TOOL_ERROR",
            Self::DownstreamResourceError => "DOWNSTREAM_RESOURCE_ERROR",
            Self::DownstreamPromptError => "DOWNSTREAM_PROMPT_ERROR",
            Self::DownstreamCompletionError => "DOWNSTREAM_COMPLETION_ERROR",
            Self::ContentTooLarge => "CONTENT_TOO_LARGE",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::deserialize(StrDeserializer::<serde::de::value::Error>::new(name)).ok()
    }

    pub fn kind(self) -> ErrorKind {
        match self {
            Self::ServerNotFound
            | Self::ToolNotFound
            | Self::PromptNotFound
            | Self::ResourceNotFound => ErrorKind::NotFound,
            Self::RequestInvalid | Self::UnknownOperation => ErrorKind::BadInput,
            Self::Denied | Self::ApprovalRequired => ErrorKind::Denied,
            Self::AuthRequired => ErrorKind::NeedsLogin,
            Self::ServerUnavailable
            | Self::ServerStartTimeout
            | Self::ServerStarting
            | Self::ConfigInvalid => ErrorKind::Unavailable,
            Self::ToolCallTimeout => ErrorKind::TimedOut,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::AuthFailed
            | Self::DownstreamProtocolError
            | Self::DownstreamToolError
            | Self::DownstreamResourceError
            | Self::DownstreamPromptError
            | Self::DownstreamCompletionError
            | Self::ContentTooLarge => ErrorKind::BackendFailed,
            Self::UnsupportedOperation | Self::UnsupportedCapability => ErrorKind::Unsupported,
            Self::InternalError => ErrorKind::Bug,
        }
    }
}

/// Scrubs all strings at any depth; keys stay.
pub(crate) fn scrub_json(value: &mut Value, scrubber: &SecretScrubber) {
    match value {
        Value::String(text) => *text = scrubber.text(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub_json(item, scrubber)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| scrub_json(member, scrubber));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
