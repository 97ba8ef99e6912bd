//! The rest of a request body that a handler did not read.
//!
//! Most error responses need only the head, and many clients send the body in a separate packet. If the connection were closed
//! because of it, the client would notice only when its next request is lost. So the rest is read and discarded, with limits of
//! time and length. Otherwise the response has `connection: close`.

use std::future::poll_fn;

use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};

use super::request_progress::IncomingBody;

/// Longer rests are not read.
const MAX_UNREAD_BYTES: u64 = 256 * 1024;

pub(super) struct UnreadBody {
    pub(super) incoming: IncomingBody,
    pub(super) begun: Instant,
    /// The client waits for `100 Continue`.
    pub(super) is_on_demand: bool,
}

impl UnreadBody {
    /// Reads the rest during the response, or ends the connection with the response.
    pub(super) fn finish(self) {
        let (progress, request) = (self.incoming.progress().clone(), self.incoming.request());
        let deadline = self.begun + progress.limits().body_timeout;
        let is_long = self.incoming.size_hint().lower() > MAX_UNREAD_BYTES;
        if self.is_on_demand || is_long || deadline <= Instant::now() {
            progress.end_with_request(request);
        }
        // Read what is in transit even if the connection ends: unread bytes cause a reset, which can overtake the response.
        if let (false, Ok(runtime)) = (self.is_on_demand, Handle::try_current()) {
            progress.begin_unread_body(request);
            runtime.spawn(async move {
                progress.stop().run_until_cancelled(timeout_at(deadline, self.read())).await;
                progress.end_unread_body(request);
            });
        }
    }

    async fn read(mut self) {
        let mut length = 0;
        while let Some(Ok(frame)) = poll_fn(|context| self.incoming.poll_frame(context)).await {
            length += frame.data_ref().map_or(0, |data| data.len() as u64);
            if length > MAX_UNREAD_BYTES {
                break;
            }
        }
    }
}
