//! Opens one session per client: the whole deck, one capability, or only capsules.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::inbound::{OAuthScope, Scopes};
use capdeck_host::{
    Access, CapsuleTool, ClientProfile, Host, Principal, SessionContinuity, SessionScope,
    SessionSettings, SharedAccess, TaskForm, ViewPolicy, capsule_scope, seal_key,
};
use capdeck_mcp::{
    Era, RpcError, TextSealer,
    server::{ClientHello, ClientPeer, MissingScopes, ServerSession, SessionFactory, SessionOwner},
};
use serde_json::value::RawValue;

use super::{
    capsule_mcp_client::{CapsuleMcpClient, CapsuleReference, ShareAccess, reach},
    capsule_mcp_session::CapsuleMcpSession,
    client_streams::{ClientListener, ClientStreams},
    deck_session::DeckSession,
    failure,
    granted_session::GrantedSession,
    params,
    transparent_session::TransparentSession,
};
use crate::request_actor::RequestActor;

pub(crate) struct McpService {
    host: Host,
    scope: SessionScope,
}

impl McpService {
    pub(crate) fn new(host: Host, scope: SessionScope) -> Arc<Self> {
        Arc::new(Self { host, scope })
    }
}

#[async_trait]
impl SessionFactory for McpService {
    async fn open(
        &self,
        hello: ClientHello,
        peer: ClientPeer,
    ) -> Result<Arc<dyn ServerSession>, RpcError> {
        let streams = ClientStreams::new(hello.revision, peer.clone());
        let via_share = hello.extensions.get::<ShareAccess>().is_some();
        let source = hello.extensions.get::<SharedAccess>();
        let bare = source.filter(|source| self.has_only_capsules(&source.access())).cloned();
        let capsules = match self.host.capsules().filter(|_| via_share || bare.is_some()) {
            Some(service) => {
                let client = CapsuleMcpClient::new(&self.host, service.clone(), &hello);
                Some(CapsuleMcpSession::open(client, streams.clone()).await?)
            }
            None => None,
        };
        match (capsules, bare) {
            // A share grants capsules and nothing of the deck.
            (Some(capsules), None) => Ok(capsules),
            (Some(capsules), Some(source)) => {
                let deck = self.open_full_session(hello, peer, streams.clone());
                Ok(GrantedSession::open(source, capsules, deck, streams))
            }
            (None, _) => Ok(self.open_full_session(hello, peer, streams)),
        }
    }

    fn missing_scopes(
        &self,
        extensions: &http::Extensions,
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<MissingScopes> {
        let enough = [OAuthScope::DeckCall, OAuthScope::CapsuleWrite];
        missing_scopes(extensions, method, params, &enough, |access, name, arguments| {
            self.host.missing_scopes(&self.scope, access, name, arguments)
        })
    }
}

impl McpService {
    /// True for a client of the deck with grants for capsules only.
    fn has_only_capsules(&self, access: &Access) -> bool {
        let SessionScope::Deck(policy) = &self.scope else { return false };
        policy.view.is_none() && access.deck.is_empty()
    }

    fn open_full_session(
        &self,
        hello: ClientHello,
        peer: ClientPeer,
        streams: Arc<ClientStreams>,
    ) -> Arc<dyn ServerSession> {
        let client_name = hello
            .info
            .get("name")
            .and_then(|name| serde_json::from_str(name.get()).ok())
            .unwrap_or_else(|| "unnamed client".to_owned());
        let access = hello.extensions.get::<SharedAccess>().cloned();
        let sender = hello.extensions.get::<SessionOwner>();
        let principal = match (&access, sender) {
            (Some(source), _) => source.access().principal.clone(),
            (None, Some(sender)) => Principal::named(&sender.0),
            (None, None) => Principal::local(),
        };
        let actor = hello.extensions.get::<RequestActor>();
        let name = actor.and_then(|one| one.name(principal.as_str()));
        // Requests over HTTP have an actor; the client may be on another machine or in a container.
        let shares_files = actor.is_none();
        let principal = principal.shown_as(name.as_deref());
        let session = self.host.session(SessionSettings {
            scope: self.scope.clone(),
            principal,
            client_name,
            client: ClientProfile {
                // A client need not say who it is; servers refuse an identity without a name.
                info: Some(hello.info).filter(|info| !info.is_empty()),
                capabilities: hello.capabilities,
            },
            listener: ClientListener::new(peer, streams.clone()),
            tasks: match (&self.scope, hello.revision.era()) {
                (SessionScope::Transparent(_), Era::Legacy) => TaskForm::Core,
                (SessionScope::Transparent(_), Era::Modern) => TaskForm::Extension,
                (SessionScope::Deck(_) | SessionScope::Operator, _) => TaskForm::Awaited,
            },
            continuity: match hello.revision.era() {
                Era::Legacy => SessionContinuity::Connection,
                Era::Modern => SessionContinuity::Requests,
            },
            access,
            shares_files,
        });
        match &self.scope {
            SessionScope::Transparent(id) => TransparentSession::open(id.clone(), session, streams),
            SessionScope::Deck(_) | SessionScope::Operator => DeckSession::open(session, streams),
        }
    }
}

pub(crate) struct CapsuleMcpService {
    host: Host,
    /// The id, which survives a rename.
    id: String,
    /// The project whose files are checked against anchors, if all clients work in one.
    project: Option<PathBuf>,
}

impl CapsuleMcpService {
    pub(crate) fn new(host: Host, id: String) -> Arc<Self> {
        Arc::new(Self { host, id, project: None })
    }

    pub(crate) fn in_project(host: Host, id: String) -> Arc<Self> {
        let project = host.settings().project.as_ref().map(|project| project.dir.clone());
        Arc::new(Self { host, id, project })
    }
}

#[async_trait]
impl SessionFactory for CapsuleMcpService {
    async fn open(
        &self,
        hello: ClientHello,
        peer: ClientPeer,
    ) -> Result<Arc<dyn ServerSession>, RpcError> {
        let place =
            CapsuleReference::find_within(&self.host, &self.id, reach(&hello.extensions)).await;
        let place = place.map_err(|failure| failure::of_capsules(&failure))?;
        let (Some(place), Some(service)) = (place, self.host.capsules()) else {
            let message = format!("there is no capsule `{}`", self.id);
            return Err(RpcError::new(RpcError::REFUSED, message));
        };
        let client = CapsuleMcpClient::new(&self.host, service.clone(), &hello)
            .bound_to(&place)
            .in_project(self.project.clone());
        CapsuleMcpSession::open(client, ClientStreams::new(hello.revision, peer)).await
    }

    fn missing_scopes(
        &self,
        extensions: &http::Extensions,
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<MissingScopes> {
        let enough = [OAuthScope::CapsuleWrite];
        missing_scopes(extensions, method, params, &enough, |access, name, arguments| {
            let needed = CapsuleTool::named(name).map(|tool| capsule_scope(tool, arguments));
            access.missing(needed)
        })
    }
}

/// The scopes that a tool call needs and the token of its sender lacks, for a challenge before any stream begins. The call
/// is not read for a token that has enough for any. The access is read before the session reads it for the call: what is
/// revoked or granted in between is seen by the gate, which alone allows.
fn missing_scopes(
    extensions: &http::Extensions,
    method: &str,
    params: Option<&RawValue>,
    enough: &[OAuthScope],
    missing: impl FnOnce(&Access, &str, Option<&RawValue>) -> Scopes,
) -> Option<MissingScopes> {
    let access = extensions.get::<SharedAccess>()?.access();
    if enough.iter().all(|scope| access.scopes.allows(*scope)) {
        return None;
    }
    let (name, arguments) = params::called_tool(method, params)?;
    let missing = missing(&access, &name, arguments.as_deref());
    (!missing.is_empty()).then(|| MissingScopes(missing.to_string()))
}

/// Uses the host's persistent key, so that a question survives a restart. Endpoints cannot open each other's state.
pub(crate) fn sealer(host: &Host, scope: &SessionScope) -> TextSealer {
    let sealer = match seal_key(host) {
        Ok(key) => TextSealer::new(&key),
        Err(error) => {
            tracing::warn!(%error, "the host has no persistent key; open questions end with the process");
            TextSealer::random()
        }
    };
    match scope {
        SessionScope::Deck(ViewPolicy { view: Some(name), .. }) => {
            sealer.scoped(format!("view {name}"))
        }
        SessionScope::Deck(_) | SessionScope::Operator => sealer.scoped("deck"),
        SessionScope::Transparent(id) => sealer.scoped(format!("server {id}")),
    }
}
