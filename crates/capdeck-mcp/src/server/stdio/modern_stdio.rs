//! Modern requests on a stdio connection.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::StdioOptions;
use crate::{
    RpcError, encode,
    raw::parse_params,
    request_meta::RequestMeta,
    server::{
        SessionFactory, SessionOwner,
        conversation::IncomingRequest,
        in_flight::{InFlightRequests, MAX_IN_FLIGHT},
        message_outlet::MessageOutlet,
        modern::{self, ModernRequest, ModernServer, RequestSender, SuspensionLimits},
    },
};

/// One program uses the connection, whatever its descriptions.
const MAX_CLIENTS: usize = 64;

pub(super) struct ModernStdio {
    modern: Arc<ModernServer>,
    in_flight: Arc<InFlightRequests>,
    ended: CancellationToken,
}

impl ModernStdio {
    pub(super) fn new(service: Arc<dyn SessionFactory>, options: &StdioOptions) -> Arc<Self> {
        let limits = SuspensionLimits {
            in_all: MAX_IN_FLIGHT,
            per_principal: MAX_IN_FLIGHT,
            lifetime: options.question_lifetime,
        };
        let modern = ModernServer::new(service, Arc::clone(&options.sealer), MAX_CLIENTS, limits);
        let ended = CancellationToken::new();
        Arc::new(Self { modern, in_flight: InFlightRequests::new(ended.clone()), ended })
    }

    /// Accepts a request and returns the remaining work; a rejected request is answered at once.
    pub(super) async fn accept(
        self: Arc<Self>,
        request: IncomingRequest,
        outlet: MessageOutlet,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let id = request.id.clone();
        let started = admit(request).and_then(|request| Ok((request, self.in_flight.start(&id)?)));
        let (request, running) = match started {
            Ok(started) => started,
            Err(error) => {
                outlet.send(encode::failure(Some(&id), &error)).await;
                return None;
            }
        };
        Some(async move {
            let answering = self.modern.answer(request, outlet.clone());
            let outcome = tokio::select! {
                biased;
                // A cancelled request is not answered.
                () = running.cancel.cancelled() => None,
                outcome = answering => Some(outcome),
            };
            drop(running);
            if let Some(outcome) = outcome {
                outlet.send(encode::text_response(&id, &outcome)).await;
            }
        })
    }

    pub(super) async fn notification(&self, method: String, params: Option<Box<RawValue>>) {
        if method == "notifications/cancelled" {
            return self.cancel(params.as_deref());
        }
        // Notifications have no id, and no message uses this one.
        let handled = match admit(IncomingRequest { id: 0.into(), method, params }) {
            Ok(request) => self.modern.notification(request).await,
            Err(error) => Err(error),
        };
        if let Err(error) = handled {
            tracing::debug!(%error, "a notification was dropped");
        }
    }

    pub(super) fn cancel(&self, params: Option<&RawValue>) {
        self.in_flight.cancel(parse_params(params).ok().flatten().as_ref());
    }

    pub(super) async fn end(&self) {
        self.ended.cancel();
        self.modern.end().await;
    }

    pub(super) fn abort(&self) {
        self.ended.cancel();
    }
}

fn admit(request: IncomingRequest) -> Result<ModernRequest, RpcError> {
    let IncomingRequest { id, method, params: written } = request;
    if modern::is_removed(&method) {
        return Err(RpcError::method_not_found(&method));
    }
    let mut params = parse_params(written.as_deref())?.unwrap_or_default();
    let sender = RequestSender::read(RequestMeta::take(&mut params))?;
    Ok(ModernRequest {
        id,
        method,
        written,
        params,
        sender,
        principal: SessionOwner::default(),
        extensions: http::Extensions::new(),
        headers: None,
    })
}
