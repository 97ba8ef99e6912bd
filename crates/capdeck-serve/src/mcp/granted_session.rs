//! The session of a client with grants for capsules only. It becomes a session of the deck when the client gets a grant for the
//! deck.

use std::{future::ready, sync::Arc};

use async_trait::async_trait;
use capdeck_host::{AccessSource, CapsuleTool, RawMembers, SharedAccess};
use capdeck_mcp::{
    HeaderParams, RpcError,
    server::{RequestExchange, ServerSession},
};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::{client_streams::ClientStreams, event_reaction::ListKind, params::MethodResult};

/// Two sessions of one client, selected per request.
pub(super) struct GrantedSession {
    source: SharedAccess,
    capsules: Arc<dyn ServerSession>,
    deck: Arc<dyn ServerSession>,
    ended: CancellationToken,
}

impl GrantedSession {
    pub(super) fn open(
        source: SharedAccess,
        capsules: Arc<dyn ServerSession>,
        deck: Arc<dyn ServerSession>,
        streams: Arc<ClientStreams>,
    ) -> Arc<dyn ServerSession> {
        let ended = CancellationToken::new();
        if let Some(changes) = source.changes() {
            let (holder, mut known, stop) = (source.clone(), has_deck(&*source), ended.clone());
            let notifying = changes.for_each(move |()| {
                let before = std::mem::replace(&mut known, has_deck(&*holder));
                if before != known {
                    ListKind::ALL.iter().for_each(|list| streams.notify(list.changed(), None));
                }
                ready(())
            });
            tokio::spawn(async move { stop.run_until_cancelled(notifying).await });
        }
        Arc::new(Self { source, capsules, deck, ended })
    }

    fn current(&self) -> &dyn ServerSession {
        if has_deck(&*self.source) { &*self.deck } else { &*self.capsules }
    }

    /// The session for a tool call. Tools from before the change still work.
    fn with_tool(&self, name: Option<&str>) -> &dyn ServerSession {
        match name.and_then(CapsuleTool::named) {
            Some(_) => &*self.capsules,
            None => self.current(),
        }
    }
}

fn has_deck(source: &dyn AccessSource) -> bool {
    !source.access().deck.is_empty()
}

#[async_trait]
impl ServerSession for GrantedSession {
    async fn describe(&self) -> Result<RawMembers, RpcError> {
        self.current().describe().await
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
        exchange: RequestExchange,
    ) -> MethodResult {
        let session = match method {
            "tools/call" => {
                let name = params.as_ref().and_then(|params| params.get("name"));
                let name = name.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
                self.with_tool(name.as_deref())
            }
            _ => self.current(),
        };
        session.request(method, params, exchange).await
    }

    async fn notification(&self, method: &str, params: Option<RawMembers>) {
        self.current().notification(method, params).await;
    }

    async fn header_params(&self, tool: &str) -> HeaderParams {
        self.with_tool(Some(tool)).header_params(tool).await
    }

    async fn resting(&self) {
        self.deck.resting().await;
    }

    async fn closed(&self) {
        self.ended.cancel();
        self.capsules.closed().await;
        self.deck.closed().await;
    }
}
