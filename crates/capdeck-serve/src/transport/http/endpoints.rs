//! The MCP endpoints: the deck, its views, and one per capability and per capsule, created on first use.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capdeck_host::{Access, CapabilityId, CapsuleError, Host, Reach, SessionScope, ViewPolicy};
use capdeck_mcp::server::{HttpEndpoint, HttpOptions, ServerLoad, SessionOwner};
use futures_util::future::join_all;
use parking_lot::Mutex;

use super::HttpLimits;
use crate::mcp::{CapsuleMcpService, CapsuleReference, McpService, sealer};

pub(super) struct McpEndpoints {
    host: Host,
    policy: ViewPolicy,
    deck: Arc<HttpEndpoint>,
    made: Mutex<HashMap<EndpointKey, Arc<HttpEndpoint>>>,
    limits: HttpLimits,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum EndpointKey {
    Server(CapabilityId),
    View(Arc<str>),
    /// By its id.
    Capsule(String),
}

impl McpEndpoints {
    pub(super) fn new(host: Host, policy: ViewPolicy, limits: HttpLimits) -> Self {
        let deck = endpoint(&host, SessionScope::Deck(policy.clone()), limits);
        Self { host, policy, deck, made: Mutex::default(), limits }
    }

    pub(super) fn body_timeout(&self) -> Duration {
        self.limits.body_timeout
    }

    pub(super) fn load(&self) -> ServerLoad {
        let made: Vec<_> = self.made.lock().values().cloned().collect();
        made.iter().fold(self.deck.load(), |sum, endpoint| sum + endpoint.load())
    }

    pub(super) fn deck(&self) -> Arc<HttpEndpoint> {
        self.deck.clone()
    }

    /// The endpoint of a capability. Unknown ids create none, so they cannot fill the table.
    pub(super) fn server(
        &self,
        id: &str,
        principal: &SessionOwner,
        access: Option<&Access>,
    ) -> Option<Arc<HttpEndpoint>> {
        // Capabilities denied to this principal have no endpoint; the client's name is known only later.
        let catalog = self.host.known_to(&principal.0, access);
        let capability = catalog.get(id).filter(|one| one.may_be_served_alone())?;
        let id = capability.definition.id.clone();
        let scope = SessionScope::Transparent(id.clone());
        Some(self.at(EndpointKey::Server(id), || endpoint(&self.host, scope, self.limits)))
    }

    pub(super) fn view(&self, name: &str, access: Option<&Access>) -> Option<Arc<HttpEndpoint>> {
        if !self.host.has_view(name, access) {
            return None;
        }
        let name: Arc<str> = name.into();
        let policy = ViewPolicy { view: Some(name.clone()), ..self.policy.clone() };
        let scope = SessionScope::Deck(policy);
        Some(self.at(EndpointKey::View(name), || endpoint(&self.host, scope, self.limits)))
    }

    /// The endpoint of a capsule, by its id or name. Capsules out of reach have none.
    pub(super) async fn capsule(
        &self,
        name: &str,
        reach: Reach,
    ) -> Result<Option<Arc<HttpEndpoint>>, CapsuleError> {
        let Some(CapsuleReference { id, .. }) =
            CapsuleReference::find_within(&self.host, name, reach).await?
        else {
            return Ok(None);
        };
        Ok(Some(self.at(EndpointKey::Capsule(id.clone()), || {
            // This endpoint asks no questions, so nothing is sealed.
            let service = CapsuleMcpService::new(self.host.clone(), id);
            Arc::new(HttpEndpoint::new(service, options(self.limits)))
        })))
    }

    fn at(
        &self,
        place: EndpointKey,
        make: impl FnOnce() -> Arc<HttpEndpoint>,
    ) -> Arc<HttpEndpoint> {
        self.made.lock().entry(place).or_insert_with(make).clone()
    }

    pub(super) async fn shutdown(&self) {
        let made: Vec<_> = self.made.lock().drain().map(|(_, endpoint)| endpoint).collect();
        let all = made.iter().chain([&self.deck]);
        join_all(all.map(|endpoint| endpoint.shutdown())).await;
    }
}

fn endpoint(host: &Host, scope: SessionScope, limits: HttpLimits) -> Arc<HttpEndpoint> {
    let options = HttpOptions { sealer: Arc::new(sealer(host, &scope)), ..options(limits) };
    Arc::new(HttpEndpoint::new(McpService::new(host.clone(), scope), options))
}

fn options(limits: HttpLimits) -> HttpOptions {
    HttpOptions {
        session_idle: limits.session_idle,
        question_lifetime: limits.question_lifetime,
        ..HttpOptions::default()
    }
}
