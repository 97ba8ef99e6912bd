//! What surrounds one request.

use std::{fmt, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{ClientHandler, ClientHello};
use crate::RawObject;

/// Takes the params of a progress notification, without the token.
pub type OnProgress = Arc<dyn Fn(RawObject) + Send + Sync>;

/// Deadlines, who hears of the request, and for whom it speaks.
#[derive(Clone)]
pub struct RequestOptions {
    /// Longest silence allowed; progress starts it again.
    pub timeout: Duration,
    /// Longest time in all, whatever progress is made.
    pub max_timeout: Duration,
    pub cancel: CancellationToken,
    /// Asks for progress by a token of our own, and takes it.
    pub on_progress: Option<OnProgress>,
    /// Takes the server's requests and notifications that belong to this request.
    pub events: Option<Arc<dyn ClientHandler>>,
    /// Requests with the same number are made for the same person. A question on a shared stream that could be for
    /// several of them then goes to the newest; without a number it goes to the connection's owner.
    pub group: Option<u64>,
    /// Whom a modern server is told that the request comes from. `None` means the connection's own introduction.
    pub client: Option<Arc<ClientHello>>,
    /// The least severe log message a modern server may send while the request runs. `None` means none at all.
    pub log_level: Option<String>,
    pub input_required: OnInputRequired,
}

/// What happens when a modern server answers that it needs input first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnInputRequired {
    /// Its questions go to the request's events, and the request is sent again with the answers.
    #[default]
    Answer,
    /// The result is given back as it came.
    HandBack,
}

impl RequestOptions {
    /// A deadline that progress does not move, and nothing else.
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
            input_required: OnInputRequired::Answer,
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
