//! A client asks for a code, and gets one once a person agreed.

use jiff::Timestamp;

use super::{
    EventCaller, OAuthClient, Registry, RegistryError, Scopes,
    event::{AuditEvent, EventSubject},
    token::{TokenHash, TokenKind},
};
use crate::{Secret, pkce::CodeChallenge};

/// What came with a request for a code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizationRequest {
    pub response_type: Option<String>,
    pub redirect_uri: Option<String>,
    pub code_challenge: Option<String>,
    pub code_challenge_method: Option<String>,
    pub scope: Option<String>,
    pub resource: Option<String>,
}

/// A request for a code that can be put before a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingAuthorization {
    pub client_id: String,
    /// Where the answer goes. One of the client's own.
    pub redirect_uri: String,
    /// What the client asks for; none when it leaves that to us.
    pub scopes: Option<Scopes>,
    /// What the tokens are to be for.
    pub resource: Option<String>,
    challenge: CodeChallenge,
}

/// Why a request for a code goes no further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationError {
    /// Nobody is sent anywhere: the address is not the client's.
    #[error("{reason}")]
    Page { reason: &'static str },
    /// The client is told, at its own address.
    #[error("{reason}")]
    SendBack { redirect_uri: String, code: &'static str, reason: String },
}

/// A code to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuthorizationCode {
    pub authorization: PendingAuthorization,
    /// Who holds what the person agreed to.
    pub principal: String,
    /// What the person agreed to.
    pub scopes: Scopes,
}

/// A code that can be redeemed once.
#[derive(Debug, Clone)]
pub(super) struct AuthorizationCode {
    pub(super) authorization: PendingAuthorization,
    pub(super) principal: String,
    pub(super) scopes: Scopes,
    pub(super) expires_at: Timestamp,
}

/// The longest that a code may wait.
const MAX_CODE_LIFETIME: std::time::Duration = std::time::Duration::from_secs(600);

impl AuthorizationRequest {
    /// Checks a request. Only once the address is known to be the client's is anything sent to it.
    pub fn check(&self, client: &OAuthClient) -> Result<PendingAuthorization, AuthorizationError> {
        let redirect_uri = match (&self.redirect_uri, &client.redirect_uris[..]) {
            (Some(given), _) if client.has_redirect(given) => given.clone(),
            (Some(_), _) => {
                let reason = "the address to go back to is not one that this client registered";
                return Err(AuthorizationError::Page { reason });
            }
            (None, [only]) => only.clone(),
            (None, _) => {
                return Err(AuthorizationError::Page { reason: "`redirect_uri` is missing" });
            }
        };
        let send_back = |code, reason: String| AuthorizationError::SendBack {
            redirect_uri: redirect_uri.clone(),
            code,
            reason,
        };
        match self.response_type.as_deref() {
            Some("code") => {}
            Some(_) => {
                let reason = "`response_type` has to be `code`".to_owned();
                return Err(send_back("unsupported_response_type", reason));
            }
            None => {
                return Err(send_back("invalid_request", "`response_type` is missing".to_owned()));
            }
        }
        let challenge = CodeChallenge::parse(
            self.code_challenge.as_deref(),
            self.code_challenge_method.as_deref(),
        )
        .map_err(|reason| send_back("invalid_request", reason.to_owned()))?;
        let scopes = match self.scope.as_deref().map(Scopes::parse).transpose() {
            Ok(scopes) => scopes.filter(|scopes| !scopes.is_empty()),
            Err(error) => return Err(send_back("invalid_scope", error.to_string())),
        };
        Ok(PendingAuthorization {
            client_id: client.id.clone(),
            redirect_uri,
            scopes,
            resource: self.resource.clone(),
            challenge,
        })
    }
}

impl PendingAuthorization {
    pub(super) fn is_met_by(&self, verifier: &str) -> bool {
        self.challenge.is_met_by(verifier)
    }
}

impl Registry {
    /// What a client may be asked about: what it asks for now and what it may use already, so that asking for more takes
    /// nothing away.
    pub fn scopes_with_held(&self, client_id: &str, operator: &str, asked: &Scopes) -> Scopes {
        let Some(principal) = self.principal_of_client(client_id, operator) else {
            return asked.clone();
        };
        let (state, now) = (self.state(), self.now());
        let live = state
            .credentials
            .values()
            .filter(|one| one.principal == principal.id && one.is_live(now));
        live.fold(asked.clone(), |all, one| all.union(&one.scopes))
    }

    /// Gives a code for what a person agreed to. It can be redeemed once, soon, and by this client only.
    pub async fn issue_code(
        &self,
        caller: &EventCaller,
        new: NewAuthorizationCode,
    ) -> Result<Secret, RegistryError> {
        let subject = EventSubject {
            principal: Some(new.principal.clone()),
            client_id: Some(new.authorization.client_id.clone()),
            ..EventSubject::default()
        };
        let issued = self.keep_code(new);
        self.record(AuditEvent::new("code.issue", caller, subject), issued.as_ref().err()).await;
        issued
    }

    fn keep_code(&self, new: NewAuthorizationCode) -> Result<Secret, RegistryError> {
        let (now, options) = (self.now(), &self.0.options);
        if new.scopes.is_empty() {
            return Err(RegistryError::invalid("scopes", "at least one"));
        }
        if self.state().live_grants(&new.principal, now).is_empty() {
            return Err(RegistryError::Forbidden { reason: "nothing was granted yet" });
        }
        let code = TokenKind::Code.create()?;
        let mut codes = self.0.volatile.codes.lock();
        codes.retain(|_, code| now < code.expires_at);
        if codes.len() >= options.limits.codes {
            return Err(RegistryError::Full { what: "codes", limit: options.limits.codes });
        }
        let lifetime = options.lifetimes.code.min(MAX_CODE_LIFETIME);
        let kept = AuthorizationCode {
            authorization: new.authorization,
            principal: new.principal,
            scopes: new.scopes,
            expires_at: now.checked_add(lifetime).unwrap_or(now),
        };
        codes.insert(TokenHash::of(code.expose()), kept);
        Ok(code)
    }
}
