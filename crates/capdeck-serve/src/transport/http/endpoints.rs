//! The MCP endpoints of a host: the deck, and one per capability, made when first asked for.

use std::{collections::HashMap, sync::Arc};

use capdeck_host::{CapabilityId, Exposure, Host, Scope};
use capdeck_mcp::server::{HttpEndpoint, HttpOptions};
use parking_lot::Mutex;

use crate::mcp::{McpService, sealer};

pub(super) struct Endpoints {
    host: Host,
    deck: Arc<HttpEndpoint>,
    servers: Mutex<HashMap<CapabilityId, Arc<HttpEndpoint>>>,
}

impl Endpoints {
    pub(super) fn new(host: Host, scope: Scope) -> Self {
        let deck = endpoint(&host, scope);
        Self { host, deck, servers: Mutex::default() }
    }

    pub(super) fn deck(&self) -> Arc<HttpEndpoint> {
        self.deck.clone()
    }

    /// The endpoint of one capability. Unknown ids have none, so they cannot fill the table.
    pub(super) fn server(&self, id: &str) -> Option<Arc<HttpEndpoint>> {
        // What is denied to every client has no endpoint either; a client's own name is known only later.
        let catalog = self.host.known_to("");
        let capability = catalog.get(id)?;
        if capability.exposure == Exposure::None {
            return None;
        }
        let id = &capability.definition.id;
        let mut servers = self.servers.lock();
        let made = servers
            .entry(id.clone())
            .or_insert_with(|| endpoint(&self.host, Scope::Transparent(id.clone())));
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

fn endpoint(host: &Host, scope: Scope) -> Arc<HttpEndpoint> {
    let options = HttpOptions { sealer: Arc::new(sealer(host, &scope)), ..HttpOptions::default() };
    Arc::new(HttpEndpoint::new(McpService::new(host.clone(), scope), options))
}
