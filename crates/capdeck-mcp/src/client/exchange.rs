//! Sends one request and waits for its response within its deadlines.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    ClientError, RequestOptions,
    call::{self, PendingCall, PendingCallGuard, ResponseResult},
    message_hub::MessageHub,
    request_head::RequestHead,
    transport::ClientTransport,
};
use crate::{RawObject, encode, raw};

pub(super) struct OutgoingRequest<'a> {
    pub(super) method: &'a str,
    /// Stays with the caller, who may send it again; a progress token is added.
    pub(super) params: &'a mut Option<RawObject>,
    pub(super) head: Option<RequestHead>,
    /// Cancelled when the server acknowledges a subscription.
    pub(super) acknowledged: Option<CancellationToken>,
}

/// Sends a request and waits for its response, within the options and never beyond `hard_end`.
pub(super) async fn exchange(
    hub: &Arc<MessageHub>,
    transport: &Arc<dyn ClientTransport>,
    outgoing: OutgoingRequest<'_>,
    options: &RequestOptions,
    hard_end: Instant,
) -> ResponseResult {
    let OutgoingRequest { method, params, head, acknowledged } = outgoing;
    let id = hub.next_id();
    if options.on_progress.is_some() {
        *params = Some(call::with_progress_token(params.take().unwrap_or_default(), id));
    }
    let body = encode::request(&id.into(), method, params.as_ref());
    let waited_for = || raw::text_member(params.as_ref()?, "taskId");
    let task = (method == "tasks/result").then(waited_for).flatten();
    let call = Arc::new(PendingCall::new(id, method, options, head, acknowledged, task));
    let mut in_flight = PendingCallGuard::start(hub, transport, &call);

    let started = Instant::now();
    let exchange = transport.exchange(&call, body);
    tokio::pin!(exchange);
    loop {
        let deadline = saturating_deadline(call.last_activity(), options.timeout).min(hard_end);
        tokio::select! {
            biased;
            outcome = &mut exchange => {
                in_flight.finish();
                return outcome;
            }
            () = options.cancel.cancelled() => {
                in_flight.abandon("cancelled by the caller");
                return Err(ClientError::Cancelled);
            }
            () = hub.stopped() => {
                in_flight.finish();
                return Err(hub.closed_error());
            }
            () = sleep_until(deadline) => {
                let moved = saturating_deadline(call.last_activity(), options.timeout).min(hard_end);
                if moved <= deadline {
                    in_flight.abandon("no answer in time");
                    let after = started.elapsed();
                    return Err(ClientError::Timeout { method: method.to_owned(), after });
                }
            }
        }
    }
}

/// Returns `start + delay`, or a far time on overflow.
pub(super) fn saturating_deadline(start: Instant, delay: Duration) -> Instant {
    const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    start.checked_add(delay.min(FAR_FUTURE)).unwrap_or(start)
}
