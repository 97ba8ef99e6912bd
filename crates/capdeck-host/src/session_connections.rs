//! Selects the connections of a session: the host's shared ones, or its own.
//!
//! A legacy server learns about its client once, in the handshake, and may ask it something during
//! a call. On a shared connection such a question has no recipient, so a session whose client can
//! be asked (sampling, elicitation, roots) or that mirrors one server has its own connections. A
//! modern server gets the client with every request, so its connection is shared.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use capdeck_backend::{CallError, ConnectionListener};
use capdeck_catalog::RawMembers;
use capdeck_definition::{Backend, Definition, SourceLayer};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{
    Host, HostEvent, TaskForm,
    audience::ClientAudience,
    client_questions::refuse_unaddressed,
    discover::ListCause,
    host::HostState,
    pool::{ConnectionLease, ConnectionPool},
    tasks::{CORE_NOTICE, EXTENSION_NOTICE},
};

#[derive(Clone)]
pub(crate) struct SessionConnections {
    audience: ClientAudience,
    own: Option<OwnConnections>,
}

#[derive(Clone)]
pub(crate) struct OwnConnections {
    pub(crate) pool: Arc<ConnectionPool>,
    pub(crate) session: Arc<str>,
    pub(crate) client: Arc<dyn ConnectionListener>,
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
    pub(crate) fn new(audience: ClientAudience, own: Option<OwnConnections>) -> Self {
        Self { audience, own }
    }

    pub(crate) fn shared(audience: ClientAudience) -> Self {
        Self { audience, own: None }
    }

    pub(crate) fn audience(&self) -> &ClientAudience {
        &self.audience
    }

    pub(crate) fn own(&self) -> Option<&OwnConnections> {
        self.own.as_ref()
    }

    /// True when the session uses a shared connection to this server. An attached host is modern
    /// but not shared: the servers behind it may distinguish clients, so each client needs its own
    /// sender.
    pub(crate) fn shares(&self, host: &Host, definition: &Definition) -> bool {
        let is_attached = definition.source.layer == SourceLayer::Remote;
        self.own.is_none()
            || !matches!(definition.backend, Backend::Mcp(_))
            || host.0.eras.is_modern(definition) == Some(true) && !is_attached
    }

    pub(crate) async fn lease(
        &self,
        host: &Host,
        definition: &Arc<Definition>,
        cancel: &CancellationToken,
    ) -> Result<ConnectionLease, CallError> {
        let Some(own) = &self.own else {
            return self.lease_shared(host, definition, cancel).await;
        };
        if self.shares(host, definition) {
            let lease = self.lease_shared(host, definition, cancel).await?;
            if self.shares(host, definition) {
                return Ok(lease);
            }
            // The server was modern and is legacy now: its questions need a recipient.
        }
        let lease = self.lease_own(own, host, definition, cancel).await?;
        if !self.shares(host, definition) {
            return Ok(lease);
        }
        // The era is only known after the server answered. It is remembered, so this happens once.
        drop(lease);
        own.pool.discard(&definition.id);
        self.lease_shared(host, definition, cancel).await
    }

    pub(crate) fn lease_open(
        &self,
        host: &Host,
        definition: &Definition,
    ) -> Option<ConnectionLease> {
        match &self.own {
            Some(own) if !self.shares(host, definition) => own.pool.lease_open(definition),
            _ => {
                let lease = host.0.shared.lease_open(definition)?;
                Some(lease.speaking_for(self.audience.client().clone()))
            }
        }
    }

    async fn lease_shared(
        &self,
        host: &Host,
        definition: &Arc<Definition>,
        cancel: &CancellationToken,
    ) -> Result<ConnectionLease, CallError> {
        let reach = ListenerScope::Everyone;
        let (lease, is_new) = lease_from(&host.0.shared, host, definition, reach, cancel).await?;
        if is_new {
            let connections = || Self::shared(self.audience.clone());
            host.subscribe_again(definition, None, connections);
        }
        Ok(lease.speaking_for(self.audience.client().clone()))
    }

    async fn lease_own(
        &self,
        own: &OwnConnections,
        host: &Host,
        definition: &Arc<Definition>,
        cancel: &CancellationToken,
    ) -> Result<ConnectionLease, CallError> {
        let reach = ListenerScope::One {
            pool: Arc::downgrade(&own.pool),
            session: own.session.clone(),
            client: own.client.clone(),
            notices: own.notices,
            audience: self.audience.clone(),
        };
        let (lease, is_new) = lease_from(&own.pool, host, definition, reach, cancel).await?;
        if is_new {
            host.subscribe_again(definition, Some(&own.session), || self.clone());
        }
        Ok(lease)
    }
}

async fn lease_from(
    pool: &ConnectionPool,
    host: &Host,
    definition: &Arc<Definition>,
    reach: ListenerScope,
    cancel: &CancellationToken,
) -> Result<(ConnectionLease, bool), CallError> {
    let mut is_new = false;
    let listener = || {
        is_new = true;
        ServerListener::new(host, definition, reach)
    };
    let known_revision = || host.0.eras.revision(definition);
    let lease = pool.lease(definition, listener, known_revision, cancel).await?;
    if is_new && let Some(facts) = lease.server() {
        host.0.eras.note(definition, &facts);
    }
    Ok((lease, is_new))
}

struct ServerListener {
    host: Weak<HostState>,
    definition: Arc<Definition>,
    reach: ListenerScope,
}

enum ListenerScope {
    Everyone,
    /// The pool is held weakly: it owns the connection that owns this listener.
    One {
        pool: Weak<ConnectionPool>,
        session: Arc<str>,
        client: Arc<dyn ConnectionListener>,
        notices: NotificationMode,
        audience: ClientAudience,
    },
}

impl ServerListener {
    #[expect(clippy::new_ret_no_self, reason = "callers only ever want the trait object")]
    fn new(
        host: &Host,
        definition: &Arc<Definition>,
        reach: ListenerScope,
    ) -> Arc<dyn ConnectionListener> {
        Arc::new(Self { host: host.downgrade(), definition: definition.clone(), reach })
    }

    fn relist(&self, host: Host) {
        match self.reach.connections() {
            Some(connections) => {
                host.relist(self.definition.clone(), connections, ListCause::Announced);
            }
            None if matches!(self.reach, ListenerScope::Everyone) => {
                host.relist_for_everyone(&self.definition);
            }
            None => {}
        }
    }
}

#[async_trait]
impl ConnectionListener for ServerListener {
    fn notified(&self, method: &str, params: Option<RawMembers>) {
        let Some(host) = self.host.upgrade().map(Host) else { return };
        let lists = method.ends_with("/list_changed");
        if lists {
            self.relist(host.clone());
        }
        match &self.reach {
            _ if method == EXTENSION_NOTICE => {
                host.extension_task_changed(&self.definition.id, params.unwrap_or_default());
            }
            ListenerScope::One { session, .. }
                if method == CORE_NOTICE
                    && params.as_ref().is_some_and(|params| {
                        host.core_task_changed(&self.definition.id, session, params)
                    }) => {}
            // A client with the other form of tasks gets nothing about a task that is not known
            // yet.
            ListenerScope::One { notices: NotificationMode::PassOn(form), .. }
                if method == CORE_NOTICE && *form != TaskForm::Core => {}
            ListenerScope::One { client, notices: NotificationMode::PassOn(_), .. } => {
                client.notified(method, params);
            }
            ListenerScope::One { session, .. } if method == RESOURCE_UPDATED => {
                self.announce(&host, Some(session.clone()), method, params);
            }
            ListenerScope::Everyone if lists || method == RESOURCE_UPDATED => {
                self.announce(&host, None, method, params);
            }
            ListenerScope::One { .. } | ListenerScope::Everyone => {}
        }
    }

    async fn requested(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        match &self.reach {
            ListenerScope::Everyone => Err(refuse_unaddressed(method, params.as_ref())),
            ListenerScope::One { client, session, .. } => {
                if let Some(host) = self.host.upgrade().map(Host)
                    && let id = &self.definition.id
                    && let Some(answer) =
                        host.ask_for_task(id, session, method, params.as_ref()).await
                {
                    return answer;
                }
                client.requested(method, params).await
            }
        }
    }
}

pub(crate) const RESOURCE_UPDATED: &str = "notifications/resources/updated";

impl ServerListener {
    fn announce(
        &self,
        host: &Host,
        session: Option<Arc<str>>,
        method: &str,
        params: Option<RawMembers>,
    ) {
        host.announce(HostEvent::ServerNotified {
            capability: self.definition.id.clone(),
            session,
            method: method.into(),
            params: params.map(Arc::new),
        });
    }
}

impl ListenerScope {
    fn connections(&self) -> Option<SessionConnections> {
        let Self::One { pool, session, client, notices, audience } = self else { return None };
        let own = OwnConnections {
            pool: pool.upgrade()?,
            session: session.clone(),
            client: client.clone(),
            notices: *notices,
        };
        Some(SessionConnections::new(audience.clone(), Some(own)))
    }
}
