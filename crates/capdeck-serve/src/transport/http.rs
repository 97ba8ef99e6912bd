//! MCP over Streamable HTTP, with health, readiness and metrics beside it.

mod access;
mod body;
mod client_address;
mod connections;
mod credential_stream;
mod door;
mod endpoints;
mod limits;
mod manifest;
mod own_credential;
mod problem;
mod recent_value;
mod request_progress;
mod server_card;
mod status;
mod step_up;
mod unfinished;
mod unread_body;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension, Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    middleware,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use bytes::Bytes;
use capdeck_auth::inbound::{AdminKey, Network, Registry};
use capdeck_host::{Admission, Host, ViewPolicy};
use capdeck_mcp::server::Principal;
use http::StatusCode;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use self::{
    access::AuthMode,
    connections::HttpLimits,
    limits::{Rate, RateLimits},
};
use self::{access::Names, door::Door, endpoints::Endpoints, limits::Limiter};
pub(crate) use self::{
    access::{bearer, clear_session_cookie, set_session_cookie},
    body::{MAX_SIGN_IN_BYTES, collect, read_body, read_form, read_json},
    client_address::ClientAddress,
    problem::problem,
};
use crate::{
    capsule_follower, dashboard,
    mcp::reach,
    oauth,
    oidc::{self, OidcSettings},
    operators,
    reception::{NoRegistry, Reception},
    rest::{self, Rest, Routers},
};

/// Longest wait for open requests when the host stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Where and for whom to listen.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    pub host: String,
    /// 0 picks a free port.
    pub port: u16,
    /// Who needs a token. Without a choice, everyone does where there is a key or other machines can reach the host.
    pub auth: Option<AuthMode>,
    /// The key of the host's owner. Required where everyone needs a token.
    pub key: Option<AdminKey>,
    /// Where operators may sign in with an account somewhere else.
    pub oidc: Option<OidcSettings>,
    /// Further names this host is reached by, such as the public one.
    pub allowed_hosts: Vec<String>,
    /// Where clients reach this host, when that is not where it listens.
    pub public_url: Option<String>,
    /// Who may use what, where this process has the registry.
    pub registry: Result<Registry, NoRegistry>,
    /// Proxies whose word about where a request comes from is taken.
    pub trusted_proxies: Vec<Network>,
    /// How much everyone may ask for.
    pub rates: RateLimits,
    /// What the deck's own endpoint offers.
    pub policy: ViewPolicy,
    pub limits: HttpLimits,
}

impl HttpSettings {
    /// A host at this address with the defaults: without a key and without the registry.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            auth: None,
            key: None,
            oidc: None,
            allowed_hosts: Vec::new(),
            public_url: None,
            registry: Err(NoRegistry::not_asked_for()),
            trusted_proxies: Vec::new(),
            rates: RateLimits::default(),
            policy: ViewPolicy::default(),
            limits: HttpLimits::default(),
        }
    }
}

/// A bound HTTP host that has not started to answer yet.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    endpoints: Arc<Endpoints>,
    rest: Arc<Rest>,
    reception: Arc<Reception>,
    host: Host,
    limits: HttpLimits,
    proxies: Arc<[Network]>,
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
    #[error("{host} can be reached from other machines, so `local` is not enough to be let in")]
    LocalOffLoopback { host: String },
}

impl HttpServer {
    /// Takes the port. Off loopback this needs a key.
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
                "the admin key is short enough to be guessed; use 32 bytes or more, for example from `openssl rand -hex 32`"
            );
        }
        status::recorder();
        let names = Names::new(address.ip(), &settings.host, &settings.allowed_hosts);
        let reception = Reception::new(
            host.clone(),
            mode,
            settings.key,
            settings.public_url.as_deref(),
            settings.registry,
            settings.oidc,
        );
        // Before anybody is answered, so that nothing of an earlier capsule is shown as if it were in force.
        if let (Some(registry), Some(desk)) = (reception.registry(), host.capsules()) {
            capsule_follower::reconcile(registry, desk.as_ref()).await;
        }
        let limits = settings.limits;
        let endpoints = Arc::new(Endpoints::new(host.clone(), settings.policy, limits));
        let load = endpoints.clone();
        let rest = Rest::new(reception.clone(), Box::new(move || load.load()), limits.body_timeout);
        let proxies: Arc<[Network]> = settings.trusted_proxies.into();
        let door = Door {
            names,
            proxies: Arc::clone(&proxies),
            body_timeout: limits.body_timeout,
            limiter: Limiter::new(&settings.rates),
            reception: reception.clone(),
        };
        let router = router(host.clone(), endpoints.clone(), rest::routers(&rest), Arc::new(door));
        Ok(Self { listener, address, router, endpoints, rest, reception, host, limits, proxies })
    }

    /// The address clients on this machine use.
    pub fn url(&self) -> String {
        let address = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => format!("127.0.0.1:{}", self.address.port()),
            IpAddr::V6(ip) if ip.is_unspecified() => format!("[::1]:{}", self.address.port()),
            _ => self.address.to_string(),
        };
        format!("http://{address}")
    }

    /// Answers until `stop`, then ends every session and every connection behind them.
    pub async fn run(self, stop: CancellationToken) {
        let Self { listener, router, endpoints, rest, reception, host, limits, proxies, .. } = self;
        let serving = async {
            tokio::select! {
                () = connections::serve(listener, router, limits, proxies, stop.clone()) => {}
                // Whoever still holds a socket open after this has had time enough.
                () = async {
                    stop.cancelled().await;
                    tokio::time::sleep(STOP_TIMEOUT).await;
                } => {}
            }
        };
        let following = async {
            let (Some(registry), Some(desk)) = (reception.registry(), host.capsules()) else {
                return;
            };
            let follow = capsule_follower::follow(registry.clone(), desk.clone());
            stop.run_until_cancelled(follow).await;
        };
        let closing = async {
            stop.cancelled().await;
            rest.close();
            endpoints.shutdown().await;
            host.close().await;
        };
        // Both run to their end: a close that is dropped halfway leaves children that nobody waits for.
        tokio::join!(serving, following, closing);
    }
}

/// Who needs a token at this address, if that is a safe thing to say.
fn auth_mode(settings: &HttpSettings, address: IpAddr) -> Result<AuthMode, BindError> {
    let has_key = settings.key.is_some();
    let is_local = address.is_loopback() && !has_key;
    let default = if is_local { AuthMode::Local } else { AuthMode::Required };
    let mode = settings.auth.unwrap_or(default);
    let host = || settings.host.clone();
    match mode {
        AuthMode::Local if !address.is_loopback() => {
            Err(BindError::LocalOffLoopback { host: host() })
        }
        AuthMode::Required if !has_key => Err(BindError::KeyRequired { host: host() }),
        AuthMode::Local | AuthMode::Required => Ok(mode),
    }
}

fn router(host: Host, endpoints: Arc<Endpoints>, rest: Routers, door: Arc<Door>) -> Router {
    let Routers { known: rest, open } = rest;
    let reception = door.reception.clone();
    let mcp = Router::new()
        .route("/mcp", any(deck))
        .route("/mcp/{capsule}", any(one_capsule))
        .route("/servers/{id}/mcp", any(one_server))
        .route("/views/{name}/mcp", any(one_view))
        .with_state(endpoints.clone());
    let status = Router::new()
        .route("/attach/manifest", get(manifest::manifest))
        .with_state(host.clone())
        .merge(
            Router::new()
                .route("/ready", get(status::ready))
                .with_state(status::Readiness::new(host.clone())),
        )
        .merge(server_card::routes().with_state(reception.clone()))
        .merge(
            Router::new()
                .route("/metrics", get(status::metrics))
                .with_state((host.clone(), endpoints)),
        );
    let facts = status::ProcessFacts::new(&host.settings().version);
    // For those who want to be let in.
    let strangers = Router::new()
        .merge(oauth::routes())
        .merge(operators::open_routes())
        .merge(oidc::routes())
        .with_state(reception.clone())
        .merge(open)
        .layer(middleware::from_fn_with_state(door.clone(), door::admit_stranger));
    Router::new()
        .merge(mcp)
        .merge(status)
        .merge(rest)
        .merge(operators::routes().with_state(reception.clone()))
        // What is not there is not there for those who were let in; nobody else learns that.
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(middleware::from_fn_with_state(door.clone(), door::admit))
        // Liveness, the dashboard's page and what signing in needs to know say nothing about the deck, so they need no key.
        .merge(strangers)
        .merge(
            oauth::documents()
                .merge(operators::documents())
                .merge(dashboard::routes())
                .with_state(reception),
        )
        .merge(Router::new().route("/health", get(status::health)).with_state(facts))
        .layer(middleware::from_fn_with_state(door, door::receive))
        .layer(DefaultBodyLimit::disable())
}

async fn deck(State(endpoints): State<Arc<Endpoints>>, request: Request) -> Response {
    answer(&endpoints, endpoints.deck(), request).await
}

async fn one_server(
    State(endpoints): State<Arc<Endpoints>>,
    axum::extract::Path(id): axum::extract::Path<String>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Response {
    let admission = request.extensions().get::<Admission>();
    match endpoints.server(&id, &principal, admission) {
        Some(endpoint) => answer(&endpoints, endpoint, request).await,
        None => (StatusCode::NOT_FOUND, format!("there is no capability `{id}`\n")).into_response(),
    }
}

async fn one_capsule(
    State(endpoints): State<Arc<Endpoints>>,
    axum::extract::Path(name): axum::extract::Path<String>,
    request: Request,
) -> Response {
    match endpoints.capsule(&name, reach(request.extensions())).await {
        Ok(Some(endpoint)) => answer(&endpoints, endpoint, request).await,
        Ok(None) => {
            (StatusCode::NOT_FOUND, format!("there is no capsule `{name}`\n")).into_response()
        }
        Err(failure) => {
            tracing::error!(code = failure.code.as_str(), "{}", failure.message);
            let advice = "the capsules cannot be reached; the host's log says why\n";
            (StatusCode::SERVICE_UNAVAILABLE, advice).into_response()
        }
    }
}

async fn one_view(
    State(endpoints): State<Arc<Endpoints>>,
    axum::extract::Path(name): axum::extract::Path<String>,
    request: Request,
) -> Response {
    match endpoints.view(&name, request.extensions().get()) {
        Some(endpoint) => answer(&endpoints, endpoint, request).await,
        None => (StatusCode::NOT_FOUND, format!("there is no view `{name}`\n")).into_response(),
    }
}

/// A session belongs to the credential that it was opened with: another one of the same holder may be good for less.
fn bind_session(extensions: &mut http::Extensions) {
    if let Some(admission) = extensions.get::<Admission>() {
        let owner = format!("{} with {}", admission.principal(), admission.credential());
        extensions.insert(Principal(owner.into()));
    }
}

async fn answer(
    endpoints: &Endpoints,
    endpoint: Arc<capdeck_mcp::server::HttpEndpoint>,
    request: Request,
) -> Response {
    let (mut head, body) = request.into_parts();
    bind_session(&mut head.extensions);
    let most = capdeck_mcp::MAX_MESSAGE_BYTES;
    let body = match read_body(body, most, endpoints.body_timeout()).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let request: http::Request<Bytes> = http::Request::from_parts(head, body);
    endpoint.handle(request).await.map(Body::new)
}
