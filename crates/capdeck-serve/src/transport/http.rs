//! MCP over Streamable HTTP, with the REST API, health, readiness and metrics.

mod auth_layer;
mod authenticate;
mod body;
mod client_address;
mod connections;
mod credential_stream;
mod endpoints;
mod limits;
mod manifest;
mod own_credential;
mod request_progress;
mod server_card;
mod status;
mod unfinished;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    middleware,
    response::Response,
    routing::{any, get},
};
use capdeck_auth::inbound::{AdminKey, IpNetwork, Registry};
use capdeck_host::{Host, ServeAuthMode, ViewPolicy};
use capdeck_mcp::{MAX_MESSAGE_BYTES, server::SessionOwner};
use http::{StatusCode, request::Parts};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::{
    auth_layer::AuthLayer, authenticate::AllowedNames, endpoints::McpEndpoints, limits::RateLimiter,
};
pub(crate) use self::{
    authenticate::bearer,
    body::{MAX_SIGN_IN_BYTES, collect, problem, read_body, read_form, read_json},
    client_address::ClientAddress,
};
pub use self::{
    connections::HttpLimits,
    limits::{BucketRate, RateLimits},
};
use crate::{
    capsule_follower, dashboard,
    http_state::{HttpState, RegistryUnavailable},
    oauth,
    oidc::{self, OidcSettings},
    operators,
    request_actor::RequestActor,
    rest::{self, RestApi, RestRouters},
};

const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of the HTTP server.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    pub host: String,
    /// 0 selects a free port.
    pub port: u16,
    /// The authentication mode. Default: required if there is a key or other machines can reach the host.
    pub auth: Option<ServeAuthMode>,
    /// The admin key, for mode `required`.
    pub key: Option<AdminKey>,
    /// The OpenID provider of operators.
    pub oidc: Option<OidcSettings>,
    /// Further host names, such as the public one.
    pub allowed_hosts: Vec<String>,
    /// The address for clients, if it differs from the listen address.
    pub public_url: Option<String>,
    /// The registry, if this process holds it.
    pub registry: Result<Registry, RegistryUnavailable>,
    /// Proxies whose `Forwarded` headers are trusted.
    pub trusted_proxies: Vec<IpNetwork>,
    /// The rate limits.
    pub rates: RateLimits,
    /// What the deck's endpoint offers.
    pub policy: ViewPolicy,
    pub limits: HttpLimits,
}

impl HttpSettings {
    /// Settings with the defaults: no key and no registry.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            auth: None,
            key: None,
            oidc: None,
            allowed_hosts: Vec::new(),
            public_url: None,
            registry: Err(RegistryUnavailable::not_asked_for()),
            trusted_proxies: Vec::new(),
            rates: RateLimits::default(),
            policy: ViewPolicy::default(),
            limits: HttpLimits::default(),
        }
    }
}

/// A bound HTTP server that does not accept connections yet.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    endpoints: Arc<McpEndpoints>,
    rest: Arc<RestApi>,
    http_state: Arc<HttpState>,
    host: Host,
    limits: HttpLimits,
    proxies: Arc<[IpNetwork]>,
}

/// Why the host cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("cannot listen on {host}:{port}")]
    Bind {
        host: String,
        port: u16,
        #[source]
        source: io::Error,
    },
    #[error("{host} can be reached from other machines, so a key is required")]
    KeyRequired { host: String },
    #[error(
        "{host} can be reached from other machines, so authentication mode `local` is not allowed"
    )]
    LocalOffLoopback { host: String },
}

impl HttpServer {
    /// Binds the port. Requires a key unless on loopback.
    pub async fn bind(host: Host, settings: HttpSettings) -> Result<Self, BindError> {
        let bind_error =
            |source| BindError::Bind { host: settings.host.clone(), port: settings.port, source };
        let listener =
            TcpListener::bind((settings.host.as_str(), settings.port)).await.map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let mode = auth_mode(&settings, address.ip())?;
        if !address.ip().is_loopback() && settings.key.as_ref().is_some_and(AdminKey::is_guessable)
        {
            tracing::warn!(
                "the admin key is too short; use 32 bytes or more, for example from `openssl rand -hex 32`"
            );
        }
        status::recorder();
        let names = AllowedNames::new(address.ip(), &settings.host, &settings.allowed_hosts);
        let http_state = HttpState::new(
            host.clone(),
            mode,
            settings.key,
            settings.public_url.as_deref(),
            settings.registry,
            settings.oidc,
        );
        // Before the first request, so that grants of deleted capsules are never in force.
        if let (Some(registry), Some(capsules)) = (http_state.registry(), host.capsules()) {
            capsule_follower::reconcile(registry, capsules.as_ref()).await;
        }
        let limits = settings.limits;
        let endpoints = Arc::new(McpEndpoints::new(host.clone(), settings.policy, limits));
        let load = endpoints.clone();
        let rest =
            RestApi::new(http_state.clone(), Box::new(move || load.load()), limits.body_timeout);
        let proxies: Arc<[IpNetwork]> = settings.trusted_proxies.into();
        let auth_layer = AuthLayer {
            names,
            proxies: Arc::clone(&proxies),
            limiter: RateLimiter::new(&settings.rates),
            http_state: http_state.clone(),
        };
        let router =
            router(host.clone(), endpoints.clone(), rest::routers(&rest), Arc::new(auth_layer));
        Ok(Self { listener, address, router, endpoints, rest, http_state, host, limits, proxies })
    }

    /// The address for clients on this machine.
    pub fn url(&self) -> String {
        let address = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => format!("127.0.0.1:{}", self.address.port()),
            IpAddr::V6(ip) if ip.is_unspecified() => format!("[::1]:{}", self.address.port()),
            _ => self.address.to_string(),
        };
        format!("http://{address}")
    }

    /// Serves until `stop`, then ends every session and its connections.
    pub async fn run(self, stop: CancellationToken) {
        let Self { listener, router, endpoints, rest, http_state, host, limits, proxies, .. } =
            self;
        let serving = async {
            tokio::select! {
                () = connections::serve(listener, router, limits, proxies, stop.clone()) => {}
                // Close sockets that remain open after the timeout.
                () = async {
                    stop.cancelled().await;
                    tokio::time::sleep(STOP_TIMEOUT).await;
                } => {}
            }
        };
        let following = async {
            let (Some(registry), Some(capsules)) = (http_state.registry(), host.capsules()) else {
                return;
            };
            let follow = capsule_follower::follow(registry.clone(), capsules.clone());
            stop.run_until_cancelled(follow).await;
        };
        let closing = async {
            stop.cancelled().await;
            rest.close();
            endpoints.shutdown().await;
            host.close().await;
        };
        // Both must finish: a cancelled close leaves child processes behind.
        tokio::join!(serving, following, closing);
    }
}

/// The authentication mode; rejects unsafe combinations.
fn auth_mode(settings: &HttpSettings, address: IpAddr) -> Result<ServeAuthMode, BindError> {
    let has_key = settings.key.is_some();
    let is_local = address.is_loopback() && !has_key;
    let default = if is_local { ServeAuthMode::Local } else { ServeAuthMode::Required };
    let mode = settings.auth.unwrap_or(default);
    let host = || settings.host.clone();
    match mode {
        ServeAuthMode::Local if !address.is_loopback() => {
            Err(BindError::LocalOffLoopback { host: host() })
        }
        ServeAuthMode::Required if !has_key => Err(BindError::KeyRequired { host: host() }),
        ServeAuthMode::Local | ServeAuthMode::Required => Ok(mode),
    }
}

type McpState = (Arc<AuthLayer>, Arc<McpEndpoints>);

fn router(
    host: Host,
    endpoints: Arc<McpEndpoints>,
    rest: RestRouters,
    auth: Arc<AuthLayer>,
) -> Router {
    let RestRouters { known: rest, open } = rest;
    let http_state = auth.http_state.clone();
    // These routes have no layers: `serve_mcp` does what `authenticate` does for others.
    let mcp = Router::new()
        .route(endpoints::DECK_PATH, any(serve_mcp))
        .route(endpoints::CAPSULE_PATH, any(serve_mcp))
        .route(endpoints::SERVER_PATH, any(serve_mcp))
        .route(endpoints::VIEW_PATH, any(serve_mcp))
        .with_state((auth.clone(), endpoints.clone()));
    let status = Router::new()
        .route("/attach/manifest", get(manifest::manifest))
        .with_state(host.clone())
        .merge(
            Router::new()
                .route("/ready", get(status::ready))
                .with_state(status::HostReadiness::new(host.clone())),
        )
        .merge(server_card::routes().with_state(http_state.clone()))
        .merge(
            Router::new()
                .route("/metrics", get(status::metrics))
                .with_state((host.clone(), endpoints)),
        );
    let facts = status::ProcessFacts::new(&host.settings().version);
    // Routes of the sign-in.
    let strangers = Router::new()
        .merge(oauth::routes())
        .merge(operators::open_routes())
        .merge(oidc::routes())
        .with_state(http_state.clone())
        .merge(open)
        .layer(middleware::from_fn_with_state(auth.clone(), auth_layer::limit_strangers));
    let known = Router::new()
        .merge(status)
        .merge(rest)
        .merge(operators::routes().with_state(http_state.clone()))
        // The 404 response requires authentication, so that it reveals nothing.
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(middleware::from_fn_with_state(auth.clone(), auth_layer::authenticate));
    // Liveness, the dashboard's page and the sign-in documents reveal nothing about the deck.
    let public = Router::new()
        .merge(strangers)
        .merge(
            oauth::documents()
                .merge(operators::documents())
                .merge(dashboard::routes())
                .with_state(http_state),
        )
        .merge(Router::new().route("/health", get(status::health)).with_state(facts))
        .layer(middleware::from_fn_with_state(auth, auth_layer::check_origin));
    known.merge(public).layer(DefaultBodyLimit::disable()).merge(mcp)
}

/// Answers a request to an MCP endpoint.
async fn serve_mcp(State((auth, endpoints)): State<McpState>, request: Request) -> Response {
    let answer = |mut head: Parts, body| async move {
        let endpoint = endpoints.find(&mut head).await?;
        // A session is bound to its credential: another credential of the same principal may have fewer scopes.
        if let Some(RequestActor::Credential(client)) = head.extensions.get::<RequestActor>() {
            let owner = format!("{} with {}", client.principal, client.credential);
            head.extensions.insert(SessionOwner(owner.into()));
        }
        let body = read_body(body, MAX_MESSAGE_BYTES, endpoints.body_timeout()).await?;
        Ok(endpoint.handle(http::Request::from_parts(head, body)).await.map(Body::new))
    };
    auth.serve_known(request, answer).await
}
