//! What every request passes before its handler, in this order.

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
    limits::RateLimiter,
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

/// In front of everything: where a request comes from, and whether its host and origin are allowed.
pub(super) async fn check_origin(
    State(layer): State<Arc<AuthLayer>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_interface = rest::is_rest_path(request.uri().path());
    let received =
        set_client_address(&mut request, &layer.proxies).and_then(|()| layer.names.check(&request));
    let response = match received {
        Ok(()) => next.run(request).await,
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

/// In front of everything else: who sends a request, their rate limit, and whether their token has a scope for the place.
pub(super) async fn authenticate(
    State(layer): State<Arc<AuthLayer>>,
    request: Request,
    next: Next,
) -> Response {
    let AuthLayer { limiter, http_state, .. } = &*layer;
    let (mut parts, body) = request.into_parts();
    let admitted = match http_state.identify_sender(&parts).await {
        Ok(admitted) => Ok(admitted),
        Err(AuthFailure::Anonymous) => return unauthorized(http_state, &parts),
        Err(AuthFailure::WrongCredential(attempt)) => {
            return refuse_credential(http_state, attempt, &parts).await;
        }
        Err(AuthFailure::Forbidden(forbidden)) => Err(forbidden),
    };
    // A sender who is known is counted, also when the request is refused.
    let actor = admitted.as_ref().map_or_else(|forbidden| &forbidden.actor, |one| &one.actor);
    let counted = match limiter.count_authenticated(http_state, actor, &parts) {
        Ok(counted) => counted,
        Err(refusal) => return refusal,
    };
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(forbidden) => {
            return counted.add_headers(refuse_forbidden(http_state, forbidden, &parts).await);
        }
    };
    let scope_check = ScopeCheck::of(http_state, &admitted.actor, &parts);
    if let Some(check) = &scope_check
        && let Some(missing) = check.missing_at_all()
    {
        return counted.add_headers(check.challenge(http_state, &missing).await);
    }
    let (actor, session) = (&admitted.actor, admitted.session.as_ref());
    let credential = StreamCredential::of(actor, session, &parts.headers);
    limiter.bound_sessions(&admitted.actor, &mut parts.extensions);
    admitted.sign(http_state, &mut parts.extensions);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let (Some(check), Some(missing)) = (&scope_check, response.extensions().get()) {
        let MissingScopes(missing) = missing;
        let missing = Scopes::parse(missing).unwrap_or_default();
        return counted.add_headers(check.challenge(http_state, &missing).await);
    }
    if let Some(credential) = credential {
        response = end_with(credential, http_state, response);
    }
    counted.add_headers(response)
}

/// What a request with a token is told when the token has no scope for it: everything that it needs, in one challenge, so
/// that the client can ask its person once.
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
