//! The sender of a request: the host's key, this machine itself, a client's token, an operator, or the token of a share,
//! which opens its capsule and nothing else.

mod areas;
mod challenge;
mod names;

use std::{net::IpAddr, sync::Arc};

use capdeck_auth::inbound::{CredentialClass, FailedAttempt, OperatorSession, capsule_key};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleServiceExt as _, OpenShareRequest, ServeAuthMode,
    SharedAccess,
};
use capdeck_mcp::server::{ScopedSender, SessionOwner};
use http::{Extensions, HeaderMap, HeaderValue, Method, header, request::Parts};

pub(crate) use self::challenge::{insufficient_scope, unauthorized};
pub(super) use self::{
    areas::is_stream,
    challenge::{Forbidden, refuse_credential, refuse_forbidden},
    names::AllowedNames,
};
use self::{
    areas::{HttpArea, is_open_to},
    challenge::ForbiddenReason,
};
use super::{ClientAddress, client_address::is_forwarded};
use crate::{
    cookies::SESSION,
    http_state::HttpState,
    mcp::ShareAccess,
    oauth::OauthResource,
    registry_grants::CredentialAccess,
    request_actor::{KEY_PRINCIPAL, RequestActor},
};

/// Required of every change that comes with a cookie.
pub(crate) const CSRF_HEADER: &str = "x-capdeck-csrf";

/// Who sends a request, as its handlers see it.
#[derive(Debug)]
pub(super) struct RequestIdentity {
    pub(super) actor: RequestActor,
    principal: SessionOwner,
    /// The session, for those who came with a cookie.
    pub(super) session: Option<Arc<OperatorSession>>,
}

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum AuthFailure {
    /// The request carries no credential.
    Anonymous,
    /// The credential is not valid, or was not checked because the sender has to wait.
    WrongCredential(FailedAttempt),
    /// The sender is known, and may not do this.
    Forbidden(Forbidden),
}

impl From<Forbidden> for AuthFailure {
    fn from(forbidden: Forbidden) -> Self {
        Self::Forbidden(forbidden)
    }
}

impl From<FailedAttempt> for AuthFailure {
    fn from(attempt: FailedAttempt) -> Self {
        Self::WrongCredential(attempt)
    }
}

impl RequestIdentity {
    fn new(actor: RequestActor, principal: &str) -> Self {
        Self { actor, principal: SessionOwner(principal.into()), session: None }
    }

    fn owner(principal: &str) -> Self {
        Self::new(RequestActor::Owner, principal)
    }

    /// Adds the sender to the extensions of a request.
    pub(super) fn sign(self, http_state: &HttpState, extensions: &mut Extensions) {
        let Self { actor, principal, session } = self;
        match &actor {
            RequestActor::Share(via) => {
                extensions.insert(via.clone());
            }
            RequestActor::Credential(client) => {
                if let Some(registry) = http_state.registry() {
                    let source: SharedAccess = Arc::new(CredentialAccess {
                        registry: registry.clone(),
                        client: Arc::clone(client),
                        address: extensions.get::<ClientAddress>().map(|address| address.ip),
                        capsules: http_state.host.capsules().cloned(),
                    });
                    extensions.insert(source);
                }
                extensions.insert(ScopedSender);
            }
            RequestActor::Owner | RequestActor::Operator(_) => {}
        }
        if let Some(session) = session {
            extensions.insert(session);
        }
        extensions.insert(principal);
        extensions.insert(actor);
    }
}

impl HttpState {
    /// The sender of a request, if the place is open to them. An unknown token is refused even where
    /// none is needed: its sender does not claim to be the owner.
    pub(super) async fn identify_sender(
        &self,
        parts: &Parts,
    ) -> Result<RequestIdentity, AuthFailure> {
        let sender = match authorization(&parts.headers) {
            SentCredential::Nothing => match self.identify_session(parts)? {
                Some(sender) => sender,
                None => self.identify_without_token(parts)?,
            },
            SentCredential::Bearer(token) => match self.identify_token(token, parts).await? {
                Some(sender) => sender,
                None if self
                    .registry()
                    .is_some_and(|registry| registry.tokens().is_idle(token)) =>
                {
                    return Err(AuthFailure::Anonymous);
                }
                None => {
                    let key = self.key.as_ref();
                    self.failures.check_admin_key(sender_ip(parts), key, token)?;
                    RequestIdentity::owner(KEY_PRINCIPAL)
                }
            },
            SentCredential::Other => return Err(AuthFailure::Anonymous),
        };
        if is_open_to(HttpArea::at(parts.uri.path()), &sender.actor) {
            return Ok(sender);
        }
        Err(Forbidden::new(sender.actor, ForbiddenReason::Closed).into())
    }

    /// Whether a sender without a token is the owner.
    pub(crate) fn is_at_this_machine(&self, headers: &HeaderMap) -> bool {
        self.mode == ServeAuthMode::Local && !is_forwarded(headers)
    }

    fn identify_without_token(&self, parts: &Parts) -> Result<RequestIdentity, AuthFailure> {
        if self.is_at_this_machine(&parts.headers) {
            return Ok(RequestIdentity::owner("local"));
        }
        let address = parts.extensions.get().copied();
        if SESSION.values(&parts.headers, self.is_https(address)).next().is_some() {
            let class = CredentialClass::SessionCookie;
            return Err(self.failures.record(sender_ip(parts), class).into());
        }
        Err(AuthFailure::Anonymous)
    }

    /// The operator of a cookie. One that is over is no cookie.
    fn identify_session(&self, parts: &Parts) -> Result<Option<RequestIdentity>, AuthFailure> {
        let address = parts.extensions.get().copied();
        let Some(session) = self.session_of(&parts.headers, address) else { return Ok(None) };
        let is_safe = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let sent = parts.headers.get(CSRF_HEADER).and_then(|csrf| csrf.to_str().ok());
        let actor = RequestActor::Operator(session.operator.clone());
        if !is_safe && !sent.is_some_and(|sent| session.has_csrf(sent)) {
            return Err(Forbidden::new(actor, ForbiddenReason::NoCsrf).into());
        }
        let sender = RequestIdentity::new(actor, &session.operator.id);
        Ok(Some(RequestIdentity { session: Some(Arc::new(session)), ..sender }))
    }

    /// The session of a request's cookie, for every method and path.
    pub(crate) fn session_of(
        &self,
        headers: &HeaderMap,
        address: Option<ClientAddress>,
    ) -> Option<OperatorSession> {
        let registry = self.registry()?;
        SESSION
            .values(headers, self.is_https(address))
            .find_map(|token| registry.sessions().find(token))
    }

    /// Who a generated token is of; `None` for one that opens nothing.
    async fn identify_token(
        &self,
        token: &str,
        parts: &Parts,
    ) -> Result<Option<RequestIdentity>, AuthFailure> {
        if let Some(registry) = self.registry() {
            if let Some(client) = registry.authenticate(token) {
                let issuer = self.issuer(&parts.headers, parts.extensions.get().copied());
                // Beside the endpoints there is nothing that a token could be for, so any one of this host will do.
                let place = OauthResource::at(parts.uri.path()).unwrap_or(OauthResource::Host);
                let audience = client.audience.as_deref();
                let is_here = match place {
                    OauthResource::Host => audience
                        .is_none_or(|one| OauthResource::from_address(one, &issuer).is_some()),
                    place => place.is_open_to(audience, &issuer),
                };
                if !is_here {
                    let actor = RequestActor::Credential(client);
                    return Err(Forbidden::new(actor, ForbiddenReason::OtherAudience).into());
                }
                // Sessions belong to the credential: two of one principal may differ in what they open.
                let actor = RequestActor::Credential(Arc::clone(&client));
                return Ok(Some(RequestIdentity::new(actor, &client.credential)));
            }
            if let Some(operator) = registry.operators().by_key(token) {
                let actor = RequestActor::Operator(operator.clone());
                return Ok(Some(RequestIdentity::new(actor, &operator.id)));
            }
        }
        Ok(self.open_share(token).await)
    }

    /// The share that a token opens now; it may have been taken back since the last request.
    pub(super) async fn open_share(&self, token: &str) -> Option<RequestIdentity> {
        if CredentialClass::of(token) != CredentialClass::ShareToken {
            return None;
        }
        let service = self.host.capsules().filter(|service| service.may_have_capsules())?;
        let open = OpenShareRequest { token: token.to_owned() };
        let caller = CapsuleCaller::local(CapsuleAuthor::client("capdeck"));
        let share = service.ask(caller.request(None, open)).await.ok()?;
        let capsule = capsule_key(&share.capsule, share.capsule_uid.as_deref()?);
        if !self.may_share(share.created_by_principal.as_deref(), &capsule) {
            return None;
        }
        let actor = RequestActor::Share(ShareAccess { share: share.id });
        Some(RequestIdentity::new(actor, &share.principal))
    }
}

fn sender_ip(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<ClientAddress>().map(|address| address.ip)
}

/// What a request says about who sends it.
enum SentCredential<'r> {
    Nothing,
    Bearer(&'r str),
    /// Something else, or several.
    Other,
}

/// The token that a request brings, if it brings one.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    match authorization(headers) {
        SentCredential::Bearer(token) => Some(token),
        SentCredential::Nothing | SentCredential::Other => None,
    }
}

fn authorization(headers: &HeaderMap) -> SentCredential<'_> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (sent, more) = (all.next(), all.next());
    match (sent, more) {
        (None, _) => SentCredential::Nothing,
        (Some(sent), None) => {
            bearer_token(sent).map_or(SentCredential::Other, SentCredential::Bearer)
        }
        (Some(_), Some(_)) => SentCredential::Other,
    }
}

/// The token in an `Authorization` header. A scheme without anything behind it is a bearer of nothing.
pub(super) fn bearer_token(sent: &HeaderValue) -> Option<&str> {
    let sent = sent.to_str().ok()?.trim();
    let (scheme, token) = sent.split_once(' ').unwrap_or((sent, ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
