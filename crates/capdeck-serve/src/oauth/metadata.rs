//! The MCP endpoints of this host as OAuth resources (RFC 8707), and the well-known documents for clients and for agents.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use capdeck_auth::inbound::{ClientDocuments, OAuthScope, Registry, Scopes};
use http::{HeaderMap, StatusCode, Uri, header};
use serde_json::{Value, json};

use crate::{http_state::HttpState, transport::http::ClientAddress};

const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

pub(super) fn routes() -> Router<Arc<HttpState>> {
    let mut router = Router::new();
    for path in ["", "/mcp", "/mcp/{capsule}", "/views/{name}/mcp", "/servers/{id}/mcp"] {
        router = router.route(&format!("{PROTECTED_RESOURCE}{path}"), get(protected_resource));
    }
    router
        .route("/.well-known/oauth-authorization-server", get(authorization_server))
        .route("/.well-known/openid-configuration", get(authorization_server))
        .route("/.well-known/capsol-agent.json", get(agent_document))
}

/// RFC 9728. Every name has a document, so that it does not reveal what exists.
async fn protected_resource(
    State(http_state): State<Arc<HttpState>>,
    address: Option<axum::Extension<ClientAddress>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = uri.path().strip_prefix(PROTECTED_RESOURCE).unwrap_or_default();
    let path = if path.is_empty() { "/" } else { path };
    let Some(resource) = OauthResource::at(path).filter(|resource| resource.path() == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if http_state.registry().is_none() {
        return no_registry();
    }
    let issuer = http_state.issuer(&headers, address.map(|address| address.0));
    document(&json!({
        "resource": resource.address(&issuer),
        "authorization_servers": [issuer],
        "scopes_supported": scope_names(&resource.scopes()),
        "bearer_methods_supported": ["header"],
        "resource_name": "Capdeck",
    }))
}

/// RFC 8414, also at the path of OpenID Connect discovery.
async fn authorization_server(
    State(http_state): State<Arc<HttpState>>,
    address: Option<axum::Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let Some(registry) = http_state.registry() else { return no_registry() };
    let issuer = http_state.issuer(&headers, address.map(|address| address.0));
    document(&json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "token_endpoint": format!("{issuer}/oauth/token"),
        "registration_endpoint": format!("{issuer}/oauth/register"),
        "revocation_endpoint": format!("{issuer}/oauth/revoke"),
        "scopes_supported": scope_names(&OauthResource::Deck.scopes()),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        // Clients that have a document use it where this is true, and register themselves where it is not.
        "client_id_metadata_document_supported": fetches_documents(registry),
    }))
}

const AUTH_METHODS: [&str; 3] = ["none", "client_secret_post", "client_secret_basic"];

async fn agent_document(
    State(http_state): State<Arc<HttpState>>,
    address: Option<axum::Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let Some(registry) = http_state.registry() else { return no_registry() };
    let issuer = http_state.issuer(&headers, address.map(|address| address.0));
    let redirects = registry.redirect_policy();
    let about = format!("{issuer}{PROTECTED_RESOURCE}");
    document(&json!({
        "name": "capdeck",
        "version": http_state.host.settings().version,
        "mcp": {
            "url": format!("{issuer}/mcp/:capsuleId"),
            "universal_url": format!("{issuer}/mcp"),
            "auth": {
                "type": "oauth_required",
                "oauth": {
                    "protected_resource": format!("{about}/mcp"),
                    "protected_resource_template": format!("{about}/mcp/:capsuleId"),
                    "authorization_server": format!("{issuer}/.well-known/oauth-authorization-server"),
                    "registration_endpoint": format!("{issuer}/oauth/register"),
                    "dcr": true,
                    "cimd": fetches_documents(registry),
                    "redirect_policy": {
                        "hosts": redirects.hosts,
                        "native_schemes": redirects.native_schemes,
                    },
                    "pkce": true,
                },
                "token_in_url": false,
            },
        },
        "enrollment": {
            "endpoint": format!("{issuer}/v1/agent-enrollments"),
            "method": "POST",
            "approval": registry.approval().policy().mode,
            "idempotency_key": "client_id, capsule and role together, while the request is pending; the token is shown once",
            "flow": [
                "1. POST {client_id, capsule, role} to the endpoint and store the enrollment_token",
                "2. show the user_code to the operator of this host",
                "3. GET poll_url with Authorization: Bearer <enrollment_token>, no more often than every `interval` seconds",
                "4. once the status is approved, use the same token at mcp_url",
            ],
        },
        "grants": {
            "list": format!("{issuer}/v1/grants"),
            "decide": format!("{issuer}/v1/grants/:id/approve"),
            "dashboard": format!("{issuer}/"),
        },
        "cli": { "serve": "capdeck up", "connect": "capdeck connect" },
        "docs": { "api": format!("{issuer}/v1/openapi.json") },
        "scopes": scope_names(&Scopes::all()),
    }))
}

fn fetches_documents(registry: &Registry) -> bool {
    registry.client_documents() == ClientDocuments::Fetched
}

fn scope_names(scopes: &Scopes) -> Vec<&'static str> {
    scopes.iter().map(capdeck_auth::inbound::OAuthScope::as_str).collect()
}

fn document(value: &Value) -> Response {
    ([(header::CACHE_CONTROL, "no-cache")], Json(value.clone())).into_response()
}

pub(crate) fn no_registry() -> Response {
    let advice = "this process has no registry, so sign-in is not available; see its log\n";
    (StatusCode::SERVICE_UNAVAILABLE, advice).into_response()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OauthResource {
    Host,
    /// The deck, with the granted capsules.
    Deck,
    /// By its id or name.
    Capsule(String),
    View(String),
    /// One capability, unchanged.
    Server(String),
}

impl OauthResource {
    /// The resource of a request path; `None` where client tokens are not accepted.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let found = match (parts.next()?, parts.next(), parts.next()) {
            ("", None, None) => Self::Host,
            ("mcp", None | Some("server-card"), None) => Self::Deck,
            ("mcp", Some(capsule), None) => Self::Capsule(capsule.to_owned()),
            ("views", Some(name), Some("mcp")) => Self::View(name.to_owned()),
            ("servers", Some(id), Some("mcp")) => Self::Server(id.to_owned()),
            _ => return None,
        };
        match parts.next() {
            None => {}
            Some("server-card") if path.ends_with("/mcp/server-card") => {}
            Some(_) => return None,
        }
        let has_name = match &found {
            Self::Host | Self::Deck => true,
            Self::Capsule(name) | Self::View(name) | Self::Server(name) => !name.is_empty(),
        };
        has_name.then_some(found)
    }

    /// The resource with this address, if it is of this host.
    pub(crate) fn from_address(address: &str, issuer: &str) -> Option<Self> {
        let path = address.strip_prefix(issuer)?;
        let path = if path.is_empty() { "/" } else { path };
        Self::at(path).filter(|found| found.path() == path)
    }

    pub(crate) fn path(&self) -> String {
        match self {
            Self::Host => "/".to_owned(),
            Self::Deck => "/mcp".to_owned(),
            Self::Capsule(name) => format!("/mcp/{name}"),
            Self::View(name) => format!("/views/{name}/mcp"),
            Self::Server(id) => format!("/servers/{id}/mcp"),
        }
    }

    pub(crate) fn address(&self, issuer: &str) -> String {
        format!("{issuer}{}", self.path())
    }

    /// The address of its metadata document (RFC 9728).
    pub(crate) fn metadata_address(&self, issuer: &str) -> String {
        let path = self.path();
        format!("{issuer}/.well-known/oauth-protected-resource{}", path.trim_end_matches('/'))
    }

    /// True when a token with this audience is valid here. A token without an audience is valid for the whole host.
    pub(crate) fn is_open_to(&self, audience: Option<&str>, issuer: &str) -> bool {
        match audience.map(|audience| Self::from_address(audience, issuer)) {
            None | Some(Some(Self::Host)) => true,
            Some(Some(named)) => named == *self,
            Some(None) => false,
        }
    }

    /// The scopes for the first request; a client requests the others when needed.
    pub(crate) fn first_scopes(&self) -> Scopes {
        let deck = [OAuthScope::DeckRead, OAuthScope::DeckCall];
        match self {
            Self::Host | Self::Deck => deck.into_iter().chain([OAuthScope::CapsuleRead]).collect(),
            Self::Capsule(_) => Scopes::from_iter([OAuthScope::CapsuleRead]),
            Self::View(_) | Self::Server(_) => Scopes::from_iter(deck),
        }
    }

    /// The scopes that apply to the resource.
    pub(crate) fn scopes(&self) -> Scopes {
        let deck = [OAuthScope::DeckRead, OAuthScope::DeckCall];
        let capsule =
            [OAuthScope::CapsuleRead, OAuthScope::CapsuleAppend, OAuthScope::CapsuleWrite];
        match self {
            Self::Host | Self::Deck => deck.into_iter().chain(capsule).collect(),
            Self::Capsule(_) => Scopes::from_iter(capsule),
            Self::View(_) | Self::Server(_) => Scopes::from_iter(deck),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://deck.example";

    #[test]
    fn paths_name_resources() {
        for (path, resource) in [
            ("/", Some(OauthResource::Host)),
            ("/mcp", Some(OauthResource::Deck)),
            ("/mcp/server-card", Some(OauthResource::Deck)),
            ("/mcp/team", Some(OauthResource::Capsule("team".to_owned()))),
            ("/views/dev/mcp", Some(OauthResource::View("dev".to_owned()))),
            ("/servers/a/mcp", Some(OauthResource::Server("a".to_owned()))),
            ("/servers/a/mcp/server-card", Some(OauthResource::Server("a".to_owned()))),
            ("/servers/a", None),
            ("/servers//mcp", None),
            ("/mcp/", None),
            ("/mcp/a/b", None),
            ("/v1/grants", None),
            ("mcp", None),
        ] {
            assert_eq!(OauthResource::at(path), resource, "{path}");
        }
    }

    #[test]
    fn security_05_an_audience_opens_its_endpoint_and_nothing_else() {
        let team = OauthResource::Capsule("team".to_owned());
        assert!(team.is_open_to(Some("https://deck.example/mcp/team"), ISSUER));
        assert!(team.is_open_to(Some("https://deck.example"), ISSUER));
        assert!(team.is_open_to(Some("https://deck.example/"), ISSUER));
        assert!(team.is_open_to(None, ISSUER));
        for other in [
            "https://deck.example/mcp",
            "https://deck.example/mcp/other",
            "https://deck.example/mcp/team/",
            "https://deck.example.evil/mcp/team",
            "http://deck.example/mcp/team",
            "https://other.example/mcp/team",
            "",
        ] {
            assert!(!team.is_open_to(Some(other), ISSUER), "{other}");
        }
    }

    #[test]
    fn documents_are_found_by_the_path() {
        let at = |resource: OauthResource| resource.metadata_address(ISSUER);
        let place = "https://deck.example/.well-known/oauth-protected-resource";
        assert_eq!(at(OauthResource::Host), place);
        assert_eq!(at(OauthResource::Deck), format!("{place}/mcp"));
        assert_eq!(at(OauthResource::View("dev".to_owned())), format!("{place}/views/dev/mcp"));
    }
}
