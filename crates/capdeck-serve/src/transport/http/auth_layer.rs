//! What every request passes before it is answered: where it comes from, then who sends it.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use capdeck_auth::inbound::{AuthenticatedClient, IpNetwork, Scopes};
use capdeck_mcp::server::MissingScopes;
use http::request::Parts;

use super::{
    authenticate::{
        AllowedNames, AuthFailure, insufficient_scope, refuse_credential, refuse_forbidden,
        unauthorized,
    },
    client_address::set_client_address,
    credential_stream::{StreamCredential, end_with},
    limits::{CountedRequest, RateLimiter},
    own_credential::own_credential,
};
use crate::{
    http_state::HttpState,
    oauth::OauthResource,
    request_actor::{RefusalLocation, RequestActor},
    rest,
};

/// The rules that every request is checked by.
pub(super) struct AuthLayer {
    pub(super) names: AllowedNames,
    /// Proxies whose headers about the sender's address are trusted.
    pub(super) proxies: Arc<[IpNetwork]>,
    pub(super) limiter: RateLimiter,
    pub(super) http_state: Arc<HttpState>,
}

/// In front of everything but the MCP endpoints, which ask by themselves: where a request comes from.
pub(super) async fn check_origin(
    State(layer): State<Arc<AuthLayer>>,
    request: Request,
    next: Next,
) -> Response {
    let is_interface = rest::is_rest_path(request.uri().path());
    let (mut parts, body) = request.into_parts();
    let response = match layer.accept_origin(&mut parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => refusal,
    };
    if is_interface { rest::into_problem(response).await } else { response }
}

/// In front of sign-in and sign-up: the rate limit of the sender's address.
pub(super) async fn limit_strangers(
    State(layer): State<Arc<AuthLayer>>,
    request: Request,
    next: Next,
) -> Response {
    let Err(refusal) = layer.limiter.count_anonymous(&layer.http_state, &request) else {
        return next.run(request).await;
    };
    // Others at the address may have used its rate up.
    let (credential, request) = own_credential(&layer.http_state, request).await;
    let Some(credential) = credential else { return refusal };
    match layer.limiter.count_recognized(&credential) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal,
    }
}

/// In front of what needs a sender who is known.
pub(super) async fn authenticate(
    State(layer): State<Arc<AuthLayer>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    match layer.admit(&mut parts).await {
        Ok(admission) => {
            let response = next.run(Request::from_parts(parts, body)).await;
            layer.finish(admission, response).await
        }
        Err(refusal) => refusal,
    }
}

/// A request that may go on, and what its response needs.
pub(super) struct AdmittedRequest {
    counted: CountedRequest,
    scope_check: Option<ScopeCheck>,
    credential: Option<StreamCredential>,
}

impl AuthLayer {
    /// Where a request comes from, and whether its host and origin are allowed.
    pub(super) fn accept_origin(&self, parts: &mut Parts) -> Result<(), Response> {
        set_client_address(parts, &self.proxies)?;
        self.names.check(parts)
    }

    /// Who sends a request, their rate limit, and whether their token has a scope for the place. Leaves the sender in the
    /// request's extensions.
    pub(super) async fn admit(&self, parts: &mut Parts) -> Result<AdmittedRequest, Response> {
        let Self { limiter, http_state, .. } = self;
        let admitted = match http_state.identify_sender(parts).await {
            Ok(admitted) => Ok(admitted),
            Err(AuthFailure::Anonymous) => return Err(unauthorized(http_state, parts)),
            Err(AuthFailure::WrongCredential(attempt)) => {
                return Err(refuse_credential(http_state, attempt, parts).await);
            }
            Err(AuthFailure::Forbidden(forbidden)) => Err(forbidden),
        };
        // A sender who is known is counted, also when the request is refused.
        let actor = admitted.as_ref().map_or_else(|forbidden| &forbidden.actor, |one| &one.actor);
        let counted = limiter.count_authenticated(http_state, actor, parts)?;
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(forbidden) => {
                let refusal = refuse_forbidden(http_state, forbidden, parts).await;
                return Err(counted.add_headers(refusal));
            }
        };
        let scope_check = ScopeCheck::of(http_state, &admitted.actor, parts);
        if let Some(check) = &scope_check
            && let Some(missing) = check.missing_at_all()
        {
            return Err(counted.add_headers(check.challenge(http_state, &missing).await));
        }
        let (actor, session) = (&admitted.actor, admitted.session.as_ref());
        let credential = StreamCredential::from_actor(actor, session, &parts.headers);
        limiter.bound_sessions(&admitted.actor, &mut parts.extensions);
        admitted.sign(http_state, &mut parts.extensions);
        Ok(AdmittedRequest { counted, scope_check, credential })
    }

    /// Completes the response to an admitted request.
    pub(super) async fn finish(&self, admission: AdmittedRequest, response: Response) -> Response {
        let AdmittedRequest { counted, scope_check, credential } = admission;
        let response = match (scope_check, response.extensions().get(), credential) {
            (Some(check), Some(MissingScopes(missing)), _) => {
                let missing = Scopes::parse(missing).unwrap_or_default();
                check.challenge(&self.http_state, &missing).await
            }
            (_, _, Some(credential)) => end_with(credential, &self.http_state, response),
            (_, _, None) => response,
        };
        counted.add_headers(response)
    }
}

/// Challenges a request whose token lacks a scope: with everything that it needs at once, so that the client asks its person
/// once.
struct ScopeCheck {
    client: Arc<AuthenticatedClient>,
    resource: OauthResource,
    issuer: String,
    place: RefusalLocation,
}

impl ScopeCheck {
    /// `None` for those who come without a token, and beside the endpoints that tokens are for.
    fn of(http_state: &HttpState, actor: &RequestActor, parts: &Parts) -> Option<Self> {
        let RequestActor::Credential(client) = actor else { return None };
        Some(Self {
            client: Arc::clone(client),
            resource: OauthResource::at(parts.uri.path())?,
            issuer: http_state.issuer(&parts.headers, parts.extensions.get().copied()),
            place: RefusalLocation::of(&parts.method, &parts.extensions),
        })
    }

    /// The scopes to begin with, where the token has none for anything there. What a single call needs beyond them is the
    /// host's to say, which knows the tools.
    fn missing_at_all(&self) -> Option<Scopes> {
        let first = self.resource.first_scopes();
        let has_one = first.iter().any(|scope| self.client.scopes.allows(scope));
        (!has_one).then_some(first)
    }

    async fn challenge(&self, http_state: &HttpState, missing: &Scopes) -> Response {
        let actor = RequestActor::Credential(Arc::clone(&self.client));
        http_state.record_refusal(&actor, self.place.clone(), "insufficient_scope").await;
        let needed = self.client.scopes.union(missing);
        insufficient_scope(&self.resource, &self.issuer, &needed)
    }
}
