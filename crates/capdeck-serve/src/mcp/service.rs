//! Opens one session per client: the whole deck, one capability as it is, or capsules alone for those who have nothing else.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_host::{
    Admission, ClientProfile, Continuity, Host, Principal, Scope, SessionSettings, TaskForm,
};
use capdeck_mcp::{
    Era, RpcError,
    server::{ClientHello, Peer, Service, Session},
};

use super::{
    capsule_client::{CapsuleClient, ViaShare},
    capsule_session::CapsuleMcpSession,
    client_listener::ClientListener,
    client_streams::ClientStreams,
    deck_session::DeckSession,
    granted_session::GrantedSession,
    transparent_session::TransparentSession,
};
use crate::actor::Actor;

/// What one endpoint serves.
pub(crate) struct McpService {
    host: Host,
    scope: Scope,
}

impl McpService {
    pub(crate) fn new(host: Host, scope: Scope) -> Arc<Self> {
        Arc::new(Self { host, scope })
    }
}

#[async_trait]
impl Service for McpService {
    async fn open(&self, hello: ClientHello, peer: Peer) -> Result<Arc<dyn Session>, RpcError> {
        let streams = ClientStreams::new(hello.revision, peer.clone());
        let via_share = hello.extensions.get::<ViaShare>().is_some();
        let bare = hello.extensions.get::<Admission>().filter(|one| self.is_bare(one)).cloned();
        let capsules = match self.host.capsules().filter(|_| via_share || bare.is_some()) {
            Some(desk) => {
                let client = CapsuleClient::new(&self.host, desk.clone(), &hello);
                Some(CapsuleMcpSession::open(client, streams.clone()).await?)
            }
            None => None,
        };
        match (capsules, bare) {
            // A share opens capsules and nothing of the deck, so there is no session of the deck to begin with.
            (Some(capsules), None) => Ok(capsules),
            (Some(capsules), Some(admission)) => {
                let deck = self.whole(hello, peer, streams.clone());
                Ok(GrantedSession::open(admission, capsules, deck, streams))
            }
            (None, _) => Ok(self.whole(hello, peer, streams)),
        }
    }
}

impl McpService {
    /// Whether somebody comes to the deck who was granted nothing of it, but capsules.
    fn is_bare(&self, admission: &Admission) -> bool {
        let Scope::Deck(policy) = &self.scope else { return false };
        policy.view.is_none() && admission.granted().deck.is_empty()
    }

    /// A session of everything that this endpoint serves.
    fn whole(
        &self,
        hello: ClientHello,
        peer: Peer,
        streams: Arc<ClientStreams>,
    ) -> Arc<dyn Session> {
        let client_name = hello
            .info
            .get("name")
            .and_then(|name| serde_json::from_str(name.get()).ok())
            .unwrap_or_else(|| "unnamed client".to_owned());
        let admission = hello.extensions.get::<Admission>().cloned();
        let sender = hello.extensions.get::<capdeck_mcp::server::Principal>();
        let principal = match (&admission, sender) {
            (Some(admission), _) => Principal::named(admission.principal()),
            (None, Some(sender)) => Principal::named(&sender.0),
            (None, None) => Principal::local(),
        };
        let name = hello.extensions.get::<Actor>().and_then(|one| one.name(principal.as_str()));
        let principal = principal.shown_as(name.as_deref());
        let session = self.host.session(SessionSettings {
            scope: self.scope.clone(),
            principal,
            client_name,
            client: ClientProfile { info: Some(hello.info), capabilities: hello.capabilities },
            listener: ClientListener::new(peer, streams.clone()),
            tasks: match (&self.scope, hello.revision.era()) {
                (Scope::Transparent(_), Era::Legacy) => TaskForm::Core,
                (Scope::Transparent(_), Era::Modern) => TaskForm::Extension,
                (Scope::Deck(_) | Scope::Operator, _) => TaskForm::Awaited,
            },
            continuity: match hello.revision.era() {
                Era::Legacy => Continuity::Connection,
                Era::Modern => Continuity::Requests,
            },
            admission,
        });
        match &self.scope {
            Scope::Transparent(id) => TransparentSession::open(id.clone(), session, streams),
            Scope::Deck(_) | Scope::Operator => DeckSession::open(session, streams),
        }
    }
}
