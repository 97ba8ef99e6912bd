//! Streams stay open for hours. Each ends with the credential that it was opened with.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use capdeck_auth::inbound::{AuthenticatedClient, OperatorSession};
use capdeck_host::{CapsuleAuthor, CapsuleCaller, CapsuleChange};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use http::{HeaderMap, HeaderValue, header};

use super::authenticate::bearer_token;
use crate::{http_state::HttpState, registry_grants::changes, request_actor::RequestActor};

/// How often a credential is checked without a change: it may have expired.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(15);

/// The credential that a stream was opened with. Built for every request and used only for streams, so it copies nothing.
pub(super) enum StreamCredential {
    Client(Arc<AuthenticatedClient>),
    Session(Arc<OperatorSession>),
    /// The `Authorization` header with the key of an operator.
    OperatorKey(HeaderValue),
    /// The `Authorization` header with the token of a share.
    ShareToken(HeaderValue),
}

impl StreamCredential {
    /// The credential of a request. The owner's cannot be revoked while the host runs.
    pub(super) fn from_actor(
        actor: &RequestActor,
        session: Option<&Arc<OperatorSession>>,
        headers: &HeaderMap,
    ) -> Option<Self> {
        let sent = || headers.get(header::AUTHORIZATION).cloned();
        match actor {
            RequestActor::Owner => None,
            RequestActor::Credential(client) => Some(Self::Client(Arc::clone(client))),
            RequestActor::Operator(_) => match session {
                Some(session) => Some(Self::Session(Arc::clone(session))),
                None => sent().map(Self::OperatorKey),
            },
            RequestActor::Share(_) => sent().map(Self::ShareToken),
        }
    }

    async fn is_valid(&self, http_state: &HttpState) -> bool {
        let registry = http_state.registry();
        match self {
            Self::Client(client) => {
                registry.is_some_and(|registry| registry.tokens().is_connected(&client.credential))
            }
            Self::Session(session) => registry
                .is_some_and(|registry| registry.sessions().operator_of(&session.id).is_some()),
            Self::OperatorKey(sent) => {
                let key = bearer_token(sent).unwrap_or_default();
                registry.is_some_and(|registry| registry.operators().is_key(key))
            }
            Self::ShareToken(sent) => {
                http_state.open_share(bearer_token(sent).unwrap_or_default()).await.is_some()
            }
        }
    }

    /// Yields whenever the credential may have been revoked.
    async fn changes(&self, http_state: &HttpState) -> BoxStream<'static, ()> {
        match self {
            Self::Client(_) | Self::Session(_) | Self::OperatorKey(_) => {
                http_state.registry().map_or_else(|| stream::pending().boxed(), changes)
            }
            Self::ShareToken(_) => share_changes(http_state).await,
        }
    }

    async fn wait_until_invalid(self, http_state: Arc<HttpState>) {
        // Subscribed before the first check, so that no revocation is missed.
        let mut changes = self.changes(&http_state).await;
        while self.is_valid(&http_state).await {
            // Without changes the credential is checked again after a while.
            let change = async {
                if changes.next().await.is_none() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::time::timeout(EXPIRY_INTERVAL, change).await.ok();
        }
    }
}

async fn share_changes(http_state: &HttpState) -> BoxStream<'static, ()> {
    let caller = CapsuleCaller::local(CapsuleAuthor::client("capdeck"));
    let changes = match http_state.host.capsules() {
        Some(service) => service.changes(caller).await.ok(),
        None => None,
    };
    let Some(changes) = changes else { return stream::pending().boxed() };
    let is_of_shares = |change: CapsuleChange| {
        matches!(change, CapsuleChange::Capsules | CapsuleChange::Missed).then_some(())
    };
    let each = stream::unfold(changes, async |mut changes| Some((changes.next().await?, changes)));
    each.filter_map(move |change| std::future::ready(is_of_shares(change))).boxed()
}

/// Ends a streamed response with its credential. Other responses end soon.
pub(super) fn end_with(
    credential: StreamCredential,
    http_state: &Arc<HttpState>,
    response: Response,
) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind != Some(&HeaderValue::from_static("text/event-stream")) {
        return response;
    }
    let end = credential.wait_until_invalid(Arc::clone(http_state));
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))))
}
