//! What every request passes before it is answered: where it comes from, then who sends it.

use std::sync::Arc;

use axum::{
    body::Body,
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

/// In front of what strangers may ask for: where a request comes from.
pub(super) async fn check_origin(
    State(layer): State<Arc<AuthLayer>>,
    request: Request,
    next: Next,
) -> Response {
    let is_interface = rest::is_rest_path(request.uri().path());
    let (mut parts, body) = request.into_parts();
    let checked = set_client_address(&mut parts, &layer.proxies);
    let response = match checked.and_then(|()| layer.names.check(&parts)) {
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

/// In front of what needs a sender who is known, but for the MCP endpoints, which ask by themselves.
pub(super) async fn authenticate(
    State(layer): State<Arc<AuthLayer>>,
    request: Request,
    next: Next,
) -> Response {
    let is_interface = rest::is_rest_path(request.uri().path());
    let answer = |parts, body| async { Ok(next.run(Request::from_parts(parts, body)).await) };
    let response = layer.serve_known(request, answer).await;
    if is_interface { rest::into_problem(response).await } else { response }
}

impl AuthLayer {
    /// Answers a request if everything lets it pass: where it comes from, who sends it, their rate limit, and whether their
    /// token has a scope for the place. The answer finds the sender in the request's extensions.
    pub(super) async fn serve_known<F>(
        &self,
        request: Request,
        answer: impl FnOnce(Parts, Body) -> F,
    ) -> Response
    where
        F: Future<Output = Result<Response, Response>>,
    {
        let Self { names, proxies, limiter, http_state } = self;
        let (mut parts, body) = request.into_parts();
        let mut counted = None;
        let answering = async {
            set_client_address(&mut parts, proxies)?;
            names.check(&parts)?;
            let sender = match http_state.identify_sender(&parts).await {
                Ok(sender) => Ok(sender),
                Err(AuthFailure::Anonymous) => return Err(unauthorized(http_state, &parts)),
                Err(AuthFailure::WrongCredential(attempt)) => {
                    return Err(refuse_credential(http_state, attempt, &parts).await);
                }
                Err(AuthFailure::Forbidden(forbidden)) => Err(forbidden),
            };
            // A sender who is known is counted, also when the request is refused.
            let actor = sender.as_ref().map_or_else(|forbidden| &forbidden.actor, |one| &one.actor);
            let is_owner = matches!(actor, RequestActor::Owner);
            if !(is_owner && http_state.is_at_this_machine(&parts.headers)) {
                counted = Some(limiter.count_authenticated(actor, &parts)?);
            }
            let sender = match sender {
                Ok(sender) => sender,
                Err(forbidden) => {
                    return Err(refuse_forbidden(http_state, forbidden, &parts).await);
                }
            };
            let scope_check = ScopeCheck::of(http_state, &sender.actor, &parts);
            if let Some(check) = &scope_check
                && let Some(missing) = check.missing_at_all()
            {
                return Err(check.challenge(http_state, &missing).await);
            }
            let (actor, session) = (&sender.actor, sender.session.as_ref());
            let credential = StreamCredential::from_actor(actor, session, &parts.headers);
            limiter.bound_sessions(actor, &mut parts.extensions);
            sender.sign(http_state, &mut parts.extensions);
            let response = answer(parts, body).await.unwrap_or_else(|refusal| refusal);
            Ok(match (scope_check, response.extensions().get(), credential) {
                (Some(check), Some(MissingScopes(missing)), _) => {
                    let missing = Scopes::parse(missing).unwrap_or_default();
                    check.challenge(http_state, &missing).await
                }
                (_, _, Some(credential)) => end_with(credential, http_state, response),
                (_, _, None) => response,
            })
        };
        let response = answering.await.unwrap_or_else(|refusal| refusal);
        match counted {
            Some(counted) => counted.add_headers(response),
            None => response,
        }
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
