//! Why a request to a server gave no result.

use std::time::Duration;

use crate::RpcError;

/// A failed request, in words for the log and for whoever made it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The server answered with an error of its own.
    #[error(transparent)]
    Rpc(RpcError),
    #[error("no answer to `{method}` within {} ms", after.as_millis())]
    Timeout { method: String, after: Duration },
    #[error("the request was cancelled")]
    Cancelled,
    /// The connection is over; nothing more will come.
    #[error("{reason}")]
    Closed { reason: String },
    /// The server no longer knows our session, and so did not process the request.
    #[error("the server no longer knows this session")]
    SessionExpired,
    #[error("the server answered with HTTP status {status}{}", quoted(excerpt))]
    Http { status: u16, excerpt: String, www_authenticate: Option<String> },
    /// No HTTP answer at all. `sent` is false when the request certainly never left.
    #[error("the server cannot be reached: {reason}")]
    Unreachable { reason: String, sent: bool },
    #[error("the server broke the protocol: {message}")]
    Protocol { message: String },
    /// The server needs an answer to go on, and whoever was asked gave none.
    #[error("the server asked for `{method}` and got no answer: {}", error.message)]
    Unanswered { method: String, error: RpcError },
    #[error("the server sent a message over the limit of {limit} bytes")]
    TooLarge { limit: usize },
}

impl ClientError {
    pub(super) fn protocol(message: impl Into<String>) -> Self {
        Self::Protocol { message: message.into() }
    }

    /// Names the deepest cause, and never the URL: it may hold a credential.
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
