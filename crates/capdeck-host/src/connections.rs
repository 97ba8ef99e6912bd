//! Which connections a session uses: the host's shared ones, or its own.
//!
//! A server may ask its client for something in the middle of a call. On a connection that several
//! sessions share nobody could say whom it means, so a session whose client can be asked (sampling,
//! elicitation, roots) or that mirrors one server has connections of its own, as if it had connected directly.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use capdeck_backend::{CallError, Caller as _, Listener, NoCaller};
use capdeck_catalog::RawObject;
use capdeck_definition::Definition;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{
    Host,
    discover::relist,
    host::HostState,
    pool::{ConnectionPool, Lease},
};

/// The connections one session may use.
#[derive(Clone)]
pub(crate) enum Connections {
    Shared,
    Own(OwnConnections),
}

/// Connections that belong to one session and speak for its client.
#[derive(Clone)]
pub(crate) struct OwnConnections {
    pub(crate) pool: Arc<ConnectionPool>,
    pub(crate) client: Arc<dyn Listener>,
    pub(crate) notices: Notices,
}

/// What happens to things a server says outside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notices {
    /// The client sees one server as it is: everything is passed on.
    PassOn,
    /// The client sees a deck: only list changes matter, and they go through the catalog.
    Follow,
}

impl Connections {
    /// The live connection of this definition, opened now if need be.
    pub(crate) async fn lease(
        &self,
        host: &Host,
        definition: &Arc<Definition>,
        cancel: &CancellationToken,
    ) -> Result<Lease, CallError> {
        let (pool, audience) = match self {
            Self::Shared => (&host.0.shared, Audience::Everyone),
            Self::Own(own) => (
                own.pool.as_ref(),
                Audience::One {
                    pool: Arc::downgrade(&own.pool),
                    client: own.client.clone(),
                    notices: own.notices,
                },
            ),
        };
        let listener = || -> Arc<dyn Listener> {
            Arc::new(ServerListener {
                host: host.downgrade(),
                definition: definition.clone(),
                audience,
            })
        };
        pool.lease(definition, listener, cancel).await
    }
}

/// Hears what one server says outside any call.
struct ServerListener {
    host: Weak<HostState>,
    definition: Arc<Definition>,
    audience: Audience,
}

enum Audience {
    Everyone,
    /// The pool is held weakly: it owns the connection that owns this listener.
    One {
        pool: Weak<ConnectionPool>,
        client: Arc<dyn Listener>,
        notices: Notices,
    },
}

#[async_trait]
impl Listener for ServerListener {
    fn notified(&self, method: &str, params: Option<RawObject>) {
        if method.ends_with("/list_changed")
            && let Some(host) = self.host.upgrade().map(Host)
            && let Some(connections) = self.audience.connections()
        {
            relist(host, self.definition.clone(), connections);
        }
        if let Audience::One { client, notices: Notices::PassOn, .. } = &self.audience {
            client.notified(method, params);
        }
    }

    async fn requested(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, CallError> {
        match &self.audience {
            Audience::Everyone => NoCaller.request(method, params).await,
            Audience::One { client, .. } => client.requested(method, params).await,
        }
    }
}

impl Audience {
    fn connections(&self) -> Option<Connections> {
        match self {
            Self::Everyone => Some(Connections::Shared),
            Self::One { pool, client, notices } => Some(Connections::Own(OwnConnections {
                pool: pool.upgrade()?,
                client: client.clone(),
                notices: *notices,
            })),
        }
    }
}
