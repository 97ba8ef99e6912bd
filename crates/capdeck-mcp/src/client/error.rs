//! Errors of a request to a server.

use std::time::Duration;

use crate::RpcError;

#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    #[error(transparent)]
    Rpc(RpcError),
    #[error("no answer to `{method}` within {} ms", after.as_millis())]
    Timeout { method: String, after: Duration },
    #[error("the request was cancelled")]
    Cancelled,
    #[error("{reason}")]
    Closed { reason: String },
    /// The server lost the session and did not process the request.
    #[error("the server no longer knows this session")]
    SessionExpired,
    #[error("the server answered with HTTP status {status}{}", quoted(excerpt))]
    Http { status: u16, excerpt: String, www_authenticate: Option<String> },
    /// No HTTP response. `sent` is false when the request certainly was not sent.
    #[error("the server cannot be reached: {reason}")]
    Unreachable { reason: String, sent: bool },
    #[error("the server broke the protocol: {message}")]
    Protocol { message: String },
    /// The server needs input, and no handler provided it.
    #[error("the server asked for `{method}` and got no answer: {}", error.message)]
    Unanswered { method: String, error: RpcError },
    #[error("the server sent a message over the limit of {limit} bytes")]
    TooLarge { limit: usize },
}

impl ClientError {
    pub(super) fn protocol(message: impl Into<String>) -> Self {
        Self::Protocol { message: message.into() }
    }

    /// Names the innermost cause without the URL, which may contain a credential.
    pub(super) fn unreachable(error: reqwest::Error) -> Self {
        let sent = !error.is_connect() && !error.is_builder();
        let error = error.without_url();
        let mut reason: &dyn std::error::Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Self::Unreachable { reason: reason.to_string(), sent }
    }
}

fn quoted(excerpt: &str) -> String {
    if excerpt.is_empty() { String::new() } else { format!(": {excerpt}") }
}
