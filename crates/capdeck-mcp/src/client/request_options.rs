//! Options of one request.

use std::{fmt, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{ClientDescription, ClientHandler};
use crate::RawObject;

/// Receives the params of a progress notification, without the token.
pub type ProgressCallback = Arc<dyn Fn(RawObject) + Send + Sync>;

#[derive(Clone)]
pub struct RequestOptions {
    /// Idle timeout; progress resets it.
    pub timeout: Duration,
    /// Total timeout, regardless of progress.
    pub max_timeout: Duration,
    pub cancel: CancellationToken,
    /// Requests progress with a generated token, and receives it.
    pub on_progress: Option<ProgressCallback>,
    pub events: Option<Arc<dyn ClientHandler>>,
    /// Requests with the same number are for the same person. A question on a shared stream that could be for several
    /// of them goes to the newest; without a number it goes to the connection's handler.
    pub group: Option<u64>,
    /// The sender that a modern server sees. `None` means the connection's own introduction.
    pub client: Option<Arc<ClientDescription>>,
    /// The minimum log level of messages from a modern server during the request. `None` disables them.
    pub log_level: Option<String>,
    pub input_required: InputRequiredMode,
}

/// The reaction to an `input_required` result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputRequiredMode {
    /// Sends its questions to the request's events, then sends the request again with the responses.
    #[default]
    Answer,
    HandBack,
}

impl RequestOptions {
    /// Options with only a deadline, which progress does not move.
    pub fn within(timeout: Duration) -> Self {
        Self {
            timeout,
            max_timeout: timeout,
            cancel: CancellationToken::new(),
            on_progress: None,
            events: None,
            group: None,
            client: None,
            log_level: None,
            input_required: InputRequiredMode::Answer,
        }
    }
}

impl fmt::Debug for RequestOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RequestOptions")
            .field("timeout", &self.timeout)
            .field("max_timeout", &self.max_timeout)
            .field("input_required", &self.input_required)
            .finish_non_exhaustive()
    }
}
