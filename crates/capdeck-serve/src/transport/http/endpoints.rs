//! The MCP endpoints: the deck, its views, and one per capability and per capsule, created on first use.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    RequestPartsExt as _,
    extract::{MatchedPath, Path},
    response::{IntoResponse, Response},
};
use capdeck_host::{Access, CapabilityId, Host, Reach, SessionScope, SharedAccess, ViewPolicy};
use capdeck_mcp::server::{HttpEndpoint, HttpOptions, ServerLoad, SessionOwner};
use futures_util::future::join_all;
use http::{StatusCode, request::Parts};
use parking_lot::Mutex;

use super::HttpLimits;
use crate::mcp::{CapsuleMcpService, CapsuleReference, McpService, reach, sealer};

pub(super) const DECK_PATH: &str = "/mcp";
pub(super) const CAPSULE_PATH: &str = "/mcp/{capsule}";
pub(super) const SERVER_PATH: &str = "/servers/{id}/mcp";
pub(super) const VIEW_PATH: &str = "/views/{name}/mcp";

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

    /// The endpoint that a request is for. A name of something that is unknown, or out of the sender's reach, has none, so
    /// that names cannot fill the table.
    pub(super) async fn find(&self, request: &mut Parts) -> Result<Arc<HttpEndpoint>, Response> {
        let route = request.extensions.get::<MatchedPath>().cloned();
        let route = route.as_ref().map_or(DECK_PATH, MatchedPath::as_str);
        if route == DECK_PATH {
            return Ok(Arc::clone(&self.deck));
        }
        let named = request.extract::<Path<String>>().await;
        let Path(name) = named.map_err(IntoResponse::into_response)?;
        let extensions = &request.extensions;
        let access = extensions.get::<SharedAccess>().map(|source| source.access());
        let (kind, endpoint) = match route {
            CAPSULE_PATH => return self.capsule(&name, reach(extensions)).await,
            SERVER_PATH => {
                let principal = extensions.get::<SessionOwner>().cloned().unwrap_or_default();
                ("capability", self.server(&name, &principal, access.as_deref()))
            }
            _ => ("view", self.view(&name, access.as_deref())),
        };
        endpoint.ok_or_else(|| not_found(kind, &name))
    }

    fn server(
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

    fn view(&self, name: &str, access: Option<&Access>) -> Option<Arc<HttpEndpoint>> {
        if !self.host.has_view(name, access) {
            return None;
        }
        let name: Arc<str> = name.into();
        let policy = ViewPolicy { view: Some(name.clone()), ..self.policy.clone() };
        let scope = SessionScope::Deck(policy);
        Some(self.at(EndpointKey::View(name), || endpoint(&self.host, scope, self.limits)))
    }

    /// The endpoint of a capsule, by its id or name.
    async fn capsule(&self, name: &str, reach: Reach) -> Result<Arc<HttpEndpoint>, Response> {
        match CapsuleReference::find_within(&self.host, name, reach).await {
            Ok(Some(CapsuleReference { id, .. })) => {
                Ok(self.at(EndpointKey::Capsule(id.clone()), || {
                    // This endpoint asks no questions, so nothing is sealed.
                    let service = CapsuleMcpService::new(self.host.clone(), id);
                    HttpEndpoint::new(service, options(self.limits))
                }))
            }
            Ok(None) => Err(not_found("capsule", name)),
            Err(failure) => {
                tracing::error!(code = failure.code.as_str(), "{}", failure.message);
                let advice = "the capsules are not available; see the log of the host\n";
                Err((StatusCode::SERVICE_UNAVAILABLE, advice).into_response())
            }
        }
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

fn not_found(kind: &str, name: &str) -> Response {
    (StatusCode::NOT_FOUND, format!("there is no {kind} `{name}`\n")).into_response()
}

fn endpoint(host: &Host, scope: SessionScope, limits: HttpLimits) -> Arc<HttpEndpoint> {
    let options = HttpOptions { sealer: Arc::new(sealer(host, &scope)), ..options(limits) };
    HttpEndpoint::new(McpService::new(host.clone(), scope), options)
}

fn options(limits: HttpLimits) -> HttpOptions {
    HttpOptions {
        session_idle: limits.session_idle,
        session_rest: limits.session_rest,
        question_lifetime: limits.question_lifetime,
        ..HttpOptions::default()
    }
}
