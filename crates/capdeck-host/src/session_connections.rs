//! Selects the connections of a session: the host's shared ones, or its own.
//!
//! A legacy server learns about its client once, in the handshake, and may ask it something during
//! a call. On a shared connection such a question has no recipient, so a session whose client can
//! be asked (sampling, elicitation, roots) or that mirrors one server has its own connections, in
//! the client's own era where the server speaks it. A modern server gets the client with every
//! request, so modern clients share one connection to it.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use capdeck_backend::{CallContext, CallError, CallerHandle, EraHint};
use capdeck_catalog::{RawMembers, ServerDetails};
use capdeck_definition::{Backend, Definition, SourceLayer};

use crate::{
    Host, HostEvent, TaskForm,
    audience::ClientAudience,
    client_questions::refuse_unaddressed,
    discover::{ListCause, relist_for_everyone},
    host::HostState,
    pool::{ConnectPreparation, ConnectionLease, ConnectionPool},
    process_turns::is_single_process,
    raw,
    start_wait::start_limit,
    subscriptions,
    tasks::{self, CORE_NOTICE, EXTENSION_NOTICE},
};

/// How one client reaches the servers of a host.
#[derive(Clone)]
pub(crate) struct SessionConnections {
    pub(crate) host: Host,
    audience: ClientAudience,
    pub(crate) own: Option<OwnConnections>,
}

#[derive(Clone)]
pub(crate) struct OwnConnections {
    pub(crate) pool: Arc<ConnectionPool>,
    pub(crate) client: Arc<ConnectedClient>,
}

/// The client behind connections of its own.
pub(crate) struct ConnectedClient {
    pub(crate) session: Arc<str>,
    /// The client opened its session with a handshake.
    pub(crate) is_legacy: bool,
    pub(crate) listener: Arc<dyn CallerHandle>,
    pub(crate) notices: NotificationMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotificationMode {
    /// The client mirrors one server: everything is forwarded, except tasks in a form it does not
    /// know.
    PassOn(TaskForm),
    /// The client has a deck: lists go through the catalog, and resources have other names.
    Follow,
}

impl SessionConnections {
    pub(crate) fn new(host: Host, audience: ClientAudience, own: Option<OwnConnections>) -> Self {
        Self { host, audience, own }
    }

    /// The shared connections, for clients of this audience.
    pub(crate) fn shared(host: &Host, audience: ClientAudience) -> Self {
        Self::new(host.clone(), audience, None)
    }

    pub(crate) fn audience(&self) -> &ClientAudience {
        &self.audience
    }

    /// True when the session uses a shared connection to this server.
    pub(crate) fn shares(&self, definition: &Definition) -> bool {
        let Some(own) = &self.own else { return true };
        if !matches!(definition.backend, Backend::Mcp(_)) || is_single_process(definition) {
            return true;
        }
        // It is modern but not shared: the servers behind it may distinguish clients, so each client
        // needs its own sender.
        if is_attached(definition) {
            return false;
        }
        let spoken = self.host.0.eras.spoken(definition);
        match own.client.is_legacy {
            // In the client's era the server can ask during a call, which some tools need.
            true => spoken.legacy == Some(false),
            false => spoken.modern == Some(true),
        }
    }

    /// True when the session reaches this server with self-contained requests. The server is
    /// connected, so that its eras are known.
    pub(crate) fn is_modern(&self, definition: &Definition) -> bool {
        let may_be_modern = self.shares(definition) || is_attached(definition);
        may_be_modern && self.host.0.eras.is_modern(definition)
    }

    fn era_hint(&self, definition: &Definition, own: Option<&OwnConnections>) -> EraHint {
        let spoken = self.host.0.eras.spoken(definition);
        let is_legacy = own.is_some_and(|own| own.client.is_legacy) && !is_attached(definition);
        let legacy_first = spoken.modern == Some(false) || is_legacy;
        let other = if legacy_first { spoken.modern } else { spoken.legacy };
        EraHint { legacy_first, is_only_era: other == Some(false) }
    }

    fn own_for(&self, definition: &Definition) -> Option<&OwnConnections> {
        self.own.as_ref().filter(|_| !self.shares(definition))
    }

    /// The pool with the connection to this server.
    pub(crate) fn pool(&self, definition: &Definition) -> &ConnectionPool {
        self.own_for(definition).map_or(&self.host.0.shared, |own| &*own.pool)
    }

    /// The connection for a request: the open one, which is all that most requests need, or a new one. The server's
    /// list is read again in the background when that is due.
    pub(crate) async fn lease(
        &self,
        definition: &Arc<Definition>,
        context: &CallContext,
    ) -> Result<ConnectionLease, CallError> {
        let (client, shared) = (self.audience.client(), &self.host.0.shared);
        let open = match self.own_for(definition) {
            Some(own) => own.pool.lease_open(definition),
            None => shared.lease_open(definition).map(|lease| lease.speaking_for(client.clone())),
        };
        let lease = match open {
            Some(lease) => lease,
            None => self.lease_unchecked(definition, context).await?,
        };
        self.check_list_when_due(definition, &lease);
        Ok(lease)
    }

    /// Opens a connection or uses an open one, without a look at the age of its list. Which of them is right, shared or
    /// own, depends on the server's era, which is only known after it answered. It is remembered, so another attempt is
    /// rare.
    pub(crate) async fn lease_unchecked(
        &self,
        definition: &Arc<Definition>,
        context: &CallContext,
    ) -> Result<ConnectionLease, CallError> {
        let host = &self.host;
        let mut attempts = 0;
        loop {
            let own = self.own_for(definition);
            let pool = own.map_or(&host.0.shared, |own| &*own.pool);
            let prepare = || ConnectPreparation {
                listener: Arc::new(ServerListener::new(self, definition, own)),
                era: self.era_hint(definition, own),
                turn: match own {
                    Some(_) => Box::pin(host.process_turn(definition, context)),
                    None => Box::pin(std::future::ready(Ok(None))),
                },
                start_limit: start_limit(host, definition, context),
                opened: self.after_opening(definition, own),
            };
            let mut lease = pool.lease(definition, prepare, context).await?;
            if own.is_none() {
                lease = lease.speaking_for(self.audience.client().clone());
            }
            attempts += 1;
            if self.shares(definition) == own.is_none() || attempts == MAX_ATTEMPTS {
                return Ok(lease);
            }
            drop(lease);
            if let Some(own) = own {
                own.pool.discard(&definition.id);
            }
        }
    }

    /// What follows on a new connection, whether or not its caller has waited for it.
    fn after_opening(
        &self,
        definition: &Arc<Definition>,
        own: Option<&OwnConnections>,
    ) -> Box<dyn FnOnce(Option<ServerDetails>) + Send> {
        let (connections, definition, own) = (self.clone(), definition.clone(), own.cloned());
        Box::new(move |facts| {
            if let Some(facts) = facts {
                connections.host.0.eras.note(&definition, &facts);
            }
            subscriptions::subscribe_again(&connections, &definition, own.as_ref());
        })
    }
}

fn is_attached(definition: &Definition) -> bool {
    definition.source.layer == SourceLayer::Remote
}

struct ServerListener {
    host: Weak<HostState>,
    definition: Arc<Definition>,
    audience: ClientAudience,
    /// `None` for a shared connection. The pool is held weakly: it owns the connection that owns
    /// this listener.
    own: Option<(Weak<ConnectionPool>, Arc<ConnectedClient>)>,
}

impl ServerListener {
    fn new(
        connections: &SessionConnections,
        definition: &Arc<Definition>,
        own: Option<&OwnConnections>,
    ) -> Self {
        Self {
            host: Arc::downgrade(&connections.host.0),
            definition: definition.clone(),
            audience: connections.audience.clone(),
            own: own.map(|own| (Arc::downgrade(&own.pool), own.client.clone())),
        }
    }

    fn relist(&self, host: &Host) {
        let Some((pool, client)) = &self.own else {
            return relist_for_everyone(host, &self.definition);
        };
        let Some(pool) = pool.upgrade() else { return };
        let own = OwnConnections { pool, client: client.clone() };
        let connections = SessionConnections::new(host.clone(), self.audience.clone(), Some(own));
        connections.relist(self.definition.clone(), ListCause::Announced);
    }

    fn announce(&self, host: &Host, method: &str, params: Option<RawMembers>) {
        host.announce(HostEvent::ServerNotified {
            capability: self.definition.id.clone(),
            session: self.own.as_ref().map(|(_, client)| client.session.clone()),
            method: method.into(),
            params: params.map(Arc::new),
        });
    }
}

#[async_trait]
impl CallerHandle for ServerListener {
    fn notify(&self, method: &str, params: Option<RawMembers>) {
        let Some(host) = self.host.upgrade().map(Host) else { return };
        let (id, is_update) = (&self.definition.id, method == RESOURCE_UPDATED);
        let lists = method.ends_with("/list_changed");
        if lists {
            self.relist(&host);
        }
        if method == EXTENSION_NOTICE {
            return tasks::extension_task_changed(&host, id, params.unwrap_or_default());
        }
        let Some((_, client)) = &self.own else {
            if lists || is_update {
                self.announce(&host, method, params);
            }
            return;
        };
        let is_followed = |params: &RawMembers| {
            method == CORE_NOTICE && tasks::core_task_changed(&host, id, &client.session, params)
        };
        match client.notices {
            _ if params.as_ref().is_some_and(is_followed) => {}
            // A client with the other form of tasks gets nothing about a task that is not known
            // yet.
            NotificationMode::PassOn(form) if method == CORE_NOTICE && form != TaskForm::Core => {}
            NotificationMode::PassOn(_) => client.listener.notify(method, params),
            NotificationMode::Follow if is_update => self.announce(&host, method, params),
            NotificationMode::Follow => {}
        }
    }

    async fn request(&self, method: &str, params: Option<RawMembers>) -> raw::Answer {
        let Some((_, client)) = &self.own else {
            return Err(refuse_unaddressed(method, params.as_ref()));
        };
        if let Some(host) = self.host.upgrade().map(Host)
            && let (id, session) = (&self.definition.id, &client.session)
            && let Some(answer) =
                tasks::ask_for_task(&host, id, session, method, params.as_ref()).await
        {
            return answer;
        }
        client.listener.request(method, params).await
    }
}

pub(crate) const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// A server that changes its era with every connection gets the connection of the last attempt.
const MAX_ATTEMPTS: u32 = 3;
