//! The client of a session, as servers reach it outside of requests.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{CallError, ConnectionListener, RawMembers};
use capdeck_mcp::server::ClientPeer;
use serde_json::value::RawValue;

use super::{client_streams::ClientStreams, failure};

/// How long a client has to answer a request such as `roots/list`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct ClientListener {
    peer: ClientPeer,
    streams: Arc<ClientStreams>,
}

impl ClientListener {
    #[expect(clippy::new_ret_no_self, reason = "callers only ever want the trait object")]
    pub(super) fn new(
        peer: ClientPeer,
        streams: Arc<ClientStreams>,
    ) -> Arc<dyn ConnectionListener> {
        Arc::new(Self { peer, streams })
    }
}

#[async_trait]
impl ConnectionListener for ClientListener {
    fn notified(&self, method: &str, params: Option<RawMembers>) {
        self.streams.notify(method, params);
    }

    async fn requested(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        self.peer.request(method, params, ANSWER_TIMEOUT).await.map_err(failure::from_client)
    }
}
