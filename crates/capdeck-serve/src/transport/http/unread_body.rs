//! What a handler leaves of the body of a request.
//!
//! Most refusals are answered from the head alone, and many clients send the body in a packet of its own. If the connection
//! were closed because of it, the client would not learn that before it sends its next request, and that request would be
//! lost. So the rest is read and thrown away, within the time that a body has and up to a length. Where that is not
//! possible, the answer says that the connection ends with it.

use std::future::poll_fn;

use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};

use super::request_progress::IncomingBody;

/// Longer rests are not read.
const MAX_UNREAD_BYTES: u64 = 256 * 1024;

/// The rest of a body that no handler reads.
pub(super) struct UnreadBody {
    pub(super) incoming: IncomingBody,
    /// When the client began to send it.
    pub(super) begun: Instant,
    /// The client sends it only once it is asked for.
    pub(super) is_on_demand: bool,
}

impl UnreadBody {
    /// Reads the rest beside the answer, or has the connection end with the answer.
    pub(super) fn finish(self) {
        let (progress, request) = (self.incoming.progress().clone(), self.incoming.request());
        let deadline = self.begun + progress.limits().body_timeout;
        let is_long = self.incoming.size_hint().lower() > MAX_UNREAD_BYTES;
        if self.is_on_demand || is_long || deadline <= Instant::now() {
            progress.end_with_request(request);
        }
        // What is on its way is read even if the connection ends: the system answers unread bytes with a reset, which can
        // overtake the answer.
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
