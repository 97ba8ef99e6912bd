//! The MCP endpoints of a host: the deck, and one per capability, made when first asked for.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capdeck_host::{CapabilityId, Exposure, Host, Scope};
use capdeck_mcp::server::{HttpEndpoint, HttpOptions, Load, Principal};
use parking_lot::Mutex;

use super::HttpLimits;
use crate::mcp::{McpService, sealer};

pub(super) struct Endpoints {
    host: Host,
    deck: Arc<HttpEndpoint>,
    servers: Mutex<HashMap<CapabilityId, Arc<HttpEndpoint>>>,
    limits: HttpLimits,
}

impl Endpoints {
    pub(super) fn new(host: Host, scope: Scope, limits: HttpLimits) -> Self {
        let deck = endpoint(&host, scope, limits);
        Self { host, deck, servers: Mutex::default(), limits }
    }

    /// How long a client may take to send the body of a request.
    pub(super) fn body_timeout(&self) -> Duration {
        self.limits.body_timeout
    }

    /// What is open at all endpoints together.
    pub(super) fn load(&self) -> Load {
        let servers: Vec<_> = self.servers.lock().values().cloned().collect();
        servers.iter().fold(self.deck.load(), |sum, endpoint| sum + endpoint.load())
    }

    pub(super) fn deck(&self) -> Arc<HttpEndpoint> {
        self.deck.clone()
    }

    /// The endpoint of one capability. Unknown ids have none, so they cannot fill the table.
    pub(super) fn server(&self, id: &str, principal: &Principal) -> Option<Arc<HttpEndpoint>> {
        // What is denied to whoever asks has no endpoint either; a client's own name is known only later.
        let catalog = self.host.known_to(&principal.0);
        let capability = catalog.get(id)?;
        if capability.exposure == Exposure::None {
            return None;
        }
        let id = &capability.definition.id;
        let mut servers = self.servers.lock();
        let made = servers
            .entry(id.clone())
            .or_insert_with(|| endpoint(&self.host, Scope::Transparent(id.clone()), self.limits));
        Some(made.clone())
    }

    /// Ends every session.
    pub(super) async fn shutdown(&self) {
        self.deck.shutdown().await;
        let servers: Vec<_> = self.servers.lock().drain().map(|(_, endpoint)| endpoint).collect();
        for endpoint in servers {
            endpoint.shutdown().await;
        }
    }
}

fn endpoint(host: &Host, scope: Scope, limits: HttpLimits) -> Arc<HttpEndpoint> {
    let options = HttpOptions {
        session_idle: limits.session_idle,
        question_lifetime: limits.question_lifetime,
        sealer: Arc::new(sealer(host, &scope)),
        ..HttpOptions::default()
    };
    Arc::new(HttpEndpoint::new(McpService::new(host.clone(), scope), options))
}
