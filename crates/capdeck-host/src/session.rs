//! One client of the host: what it may see, whose connections it uses, how it can be reached.

use std::sync::Arc;

use capdeck_backend::{CallContext, CallError, ClientProfile, Listener};
use capdeck_catalog::{Capability, Catalog, RawObject};
use capdeck_definition::{CapabilityId, Exposure};
use serde_json::value::RawValue;

use crate::{
    Host, View, ViewPolicy,
    connections::{Connections, Notices, OwnConnections},
    gate,
    pool::{ConnectionPool, Lease},
};

/// Client capabilities that let a server ask the client something in the middle of a call.
const ASKABLE: [&str; 3] = ["sampling", "elicitation", "roots"];

/// What a session is opened with.
pub struct SessionSettings {
    pub scope: Scope,
    /// What the client calls itself, for the audit trail and for servers it speaks to directly.
    pub client_name: String,
    /// The client's own MCP identity and capabilities; empty for the command line.
    pub client: ClientProfile,
    /// How servers reach the client outside a call.
    pub listener: Arc<dyn Listener>,
}

/// Which part of the deck a session is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// What agents see of the whole deck.
    Deck(ViewPolicy),
    /// One capability as it is: its own names, its own URIs.
    Transparent(CapabilityId),
    /// The person's own command line: everything usable, whatever its exposure.
    Operator,
}

/// One client of the host. Ends its own connections when closed.
pub struct Session {
    pub(crate) host: Host,
    pub(crate) id: String,
    pub(crate) client_name: String,
    pub(crate) scope: Scope,
    pub(crate) connections: Connections,
}

impl Host {
    /// Opens a session. Nothing is connected yet.
    pub fn session(&self, settings: SessionSettings) -> Arc<Session> {
        let SessionSettings { scope, client_name, client, listener } = settings;
        let transparent = matches!(scope, Scope::Transparent(_));
        let askable = ASKABLE.iter().any(|key| client.capabilities.contains_key(*key));
        let connections = if transparent || askable {
            let pool = Arc::new(ConnectionPool::new(self.0.connector.clone(), client));
            self.adopt(&pool);
            Connections::Own(OwnConnections {
                pool,
                client: listener,
                notices: if transparent { Notices::PassOn } else { Notices::Follow },
            })
        } else {
            Connections::Shared
        };
        Arc::new(Session {
            host: self.clone(),
            id: uuid::Uuid::now_v7().to_string(),
            client_name,
            scope,
            connections,
        })
    }
}

impl Session {
    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        self.host.catalog()
    }

    /// What this client sees now.
    pub fn view(&self) -> Arc<View> {
        match &self.scope {
            Scope::Deck(policy) => self.host.view(policy),
            Scope::Transparent(_) | Scope::Operator => self.host.view(&ViewPolicy::default()),
        }
    }

    /// What this client sees, after asking directly offered backends that never answered.
    pub async fn discovered_view(&self) -> Arc<View> {
        let view = self.view();
        let waiting: Vec<_> = view.undiscovered().cloned().collect();
        if waiting.is_empty() {
            return view;
        }
        let failures = self.host.discover_unknown(waiting.into_iter(), &self.connections).await;
        for (id, error) in failures {
            tracing::warn!(capability = %id, %error, "the capability could not be listed");
        }
        self.view()
    }

    /// True when this client may know that the capability exists.
    pub(crate) fn may_see(&self, capability: &Capability) -> bool {
        match &self.scope {
            Scope::Operator => true,
            Scope::Transparent(id) => {
                *id == capability.definition.id && capability.exposure != Exposure::None
            }
            Scope::Deck(policy) => policy.exposure_of(capability) != Exposure::None,
        }
    }

    /// The capability of this id, if this client may use it.
    pub fn capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        gate::admit(self, &self.catalog(), id)
    }

    pub(crate) async fn lease(
        &self,
        capability: &Capability,
        context: &CallContext,
    ) -> Result<Lease, CallError> {
        self.connections.lease(&self.host, &capability.definition, &context.cancel).await
    }

    /// Sends an MCP request of the client's to one server, as it is.
    pub async fn forward(
        &self,
        id: &str,
        method: &str,
        params: Option<RawObject>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let capability = self.capability(id)?;
        let lease = self.lease(&capability, context).await?;
        lease.request(method, params, context).await
    }

    /// Passes a notification of the client's on to one server, if it is connected.
    pub async fn forward_notification(&self, id: &str, method: &str, params: Option<RawObject>) {
        let Ok(capability) = self.capability(id) else { return };
        let context = CallContext::detached(std::time::Duration::from_secs(10));
        if let Ok(lease) = self.lease(&capability, &context).await {
            lease.notify(method, params).await;
        }
    }

    /// Ends the session's own connections and the processes behind them.
    pub async fn close(&self) {
        if let Connections::Own(own) = &self.connections {
            own.pool.close().await;
        }
    }
}
