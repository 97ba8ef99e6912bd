//! Selects the connections of a session: the host's shared ones, or its own.
//!
//! A legacy server learns about its client once, in the handshake, and may ask it something during
//! a call. On a shared connection such a question has no recipient, so a session whose client can
//! be asked (sampling, elicitation, roots) or that mirrors one server has its own connections. A
//! modern server gets the client with every request, so its connection is shared.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use capdeck_backend::{CallContext, CallError, CallerHandle};
use capdeck_catalog::{RawMembers, ServerDetails};
use capdeck_definition::{Backend, Definition, SourceLayer};

use crate::{
    Host, HostEvent, TaskForm,
    audience::ClientAudience,
    client_questions::refuse_unaddressed,
    discover::{ListCause, relist_for_everyone},
    host::HostState,
    pool::{ConnectPreparation, ConnectionLease, ConnectionPool},
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

    /// True when the session uses a shared connection to this server. An attached host is modern
    /// but not shared: the servers behind it may distinguish clients, so each client needs its own
    /// sender.
    pub(crate) fn shares(&self, definition: &Definition) -> bool {
        let is_attached = definition.source.layer == SourceLayer::Remote;
        self.own.is_none()
            || !matches!(definition.backend, Backend::Mcp(_))
            || self.host.0.eras.is_modern(definition) == Some(true) && !is_attached
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
                known_revision: host.0.eras.revision(definition),
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
