//! A client asks for a code, and gets one once a person agreed. What clients send is recognized from memory: nothing is
//! changed or recorded, so guesses cost little, and the right secret of one client is distinguished from the guesses of another
//! at the same address.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ClientProof, CodeRedemption, Credential, CredentialClass, EventCaller, EventSubject,
    OAuthClient, RegistryError, RegistryResult, Scopes, TokenHash, TokenKind, TokenRefusal,
    TokenRenewal, TokenService, check_room,
};
use crate::{Secret, pkce::CodeChallenge};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizationRequest {
    pub response_type: Option<String>,
    pub redirect_uri: Option<String>,
    pub code_challenge: Option<String>,
    pub code_challenge_method: Option<String>,
}

/// A request for a code that can be put before a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingAuthorization {
    pub client_id: String,
    /// Where the answer goes. One of the client's own.
    pub redirect_uri: String,
    /// What the tokens are to be for. Not known to the check.
    pub resource: Option<String>,
    pub(super) challenge: CodeChallenge,
}

/// Why a request for a code goes no further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationError {
    /// The browser is not redirected: the address is not the client's.
    #[error("{reason}")]
    Page { reason: &'static str },
    /// The client gets the error, at its own address.
    #[error("{reason}")]
    SendBack { redirect_uri: String, code: &'static str, reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuthorizationCode {
    pub authorization: PendingAuthorization,
    /// Who holds what the person agreed to.
    pub principal: String,
    /// What the person agreed to.
    pub scopes: Scopes,
}

/// A code that can be redeemed once.
#[derive(Debug)]
pub(super) struct AuthorizationCode {
    pub(super) terms: NewAuthorizationCode,
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
        let client_id = client.id.clone();
        Ok(PendingAuthorization { client_id, redirect_uri, resource: None, challenge })
    }
}

impl TokenService<'_> {
    /// Returns the requested scopes and those that the client holds, so that a request for more takes nothing away.
    pub fn scopes_with_held(self, client_id: &str, operator: &str, asked: &Scopes) -> Scopes {
        let (state, now) = (self.registry.state(), self.registry.now());
        let principal = state.principal_of_client(client_id, operator).map(|one| &one.id);
        let is_held = |one: &&Credential| Some(&one.principal) == principal && one.is_live(now);
        let held = state.credentials.values().filter(is_held);
        held.fold(asked.clone(), |all, one| all.union(&one.scopes))
    }

    /// Gives a code for what a person agreed to. It can be redeemed once, soon, and by this client only.
    pub async fn issue_code(
        self,
        caller: &EventCaller,
        new: NewAuthorizationCode,
    ) -> RegistryResult<Secret> {
        let subject = EventSubject {
            principal: Some(new.principal.clone()),
            client_id: Some(new.authorization.client_id.clone()),
            ..EventSubject::default()
        };
        let issued = self.keep_code(new);
        self.registry.record(caller, "code.issue", subject, issued.as_ref().err()).await;
        issued
    }

    fn keep_code(self, new: NewAuthorizationCode) -> RegistryResult<Secret> {
        let (now, options) = (self.registry.now(), &self.registry.inner.options);
        if new.scopes.is_empty() {
            return Err(RegistryError::invalid("scopes", "at least one"));
        }
        if self.registry.state().live_grants(&new.principal, now).is_empty() {
            return Err(RegistryError::Forbidden { reason: "nothing was granted yet" });
        }
        let code = TokenKind::Code.create()?;
        let mut codes = self.registry.inner.volatile.codes.lock();
        codes.retain(|_, code| now < code.expires_at);
        check_room("codes", codes.len(), options.limits.codes)?;
        let lifetime = options.lifetimes.code.min(MAX_CODE_LIFETIME);
        let expires_at = now.checked_add(lifetime).unwrap_or(now);
        codes.insert(TokenHash::of(code.expose()), AuthorizationCode { terms: new, expires_at });
        Ok(code)
    }

    /// Returns whether a token is from this host but not valid now: expired, or not approved yet. Such a token is no guess.
    pub fn is_idle(self, token: &str) -> bool {
        if !TokenKind::Access.fits(token) && !TokenKind::Enrollment.fits(token) {
            return false;
        }
        let (state, hash) = (self.registry.state(), TokenHash::of(token));
        state.tokens.get(&hash).is_some_and(|known| known.hash.is(&hash))
            || state.enrollments.values().any(|one| one.token.is(&hash))
    }

    /// The principal of a code that was given out, used up or not.
    pub fn code_principal(self, code: &str) -> Option<String> {
        let hash = TokenHash::of(code);
        if let Some(code) = self.registry.inner.volatile.codes.lock().get(&hash) {
            return Some(code.terms.principal.clone());
        }
        let state = self.registry.state();
        let mut given = state.credentials.values().filter(|one| one.code == Some(hash));
        given.next().map(|one| one.principal.clone())
    }

    /// The id of the connection that a refresh token is or was of.
    pub fn refresh_credential(self, token: &str) -> Option<String> {
        let bytes = TokenKind::Refresh.bytes(token)?;
        let family = TokenHash::of_bytes(bytes.first_chunk::<16>()?);
        self.registry.state().families.get(&family).cloned()
    }

    /// Refuses a redemption whose client or code is not known. A code that was used up is known: it ends what it gave.
    pub fn check_redemption(self, redemption: &CodeRedemption) -> Result<(), TokenRequestError> {
        self.check_client(&redemption.client)?;
        let code = self.code_principal(redemption.code.expose());
        code.map(drop).ok_or_else(|| refused(CredentialClass::AuthorizationCode))
    }

    /// Refuses a renewal whose client or refresh token is not known.
    pub fn check_renewal(self, renewal: &TokenRenewal) -> Result<(), TokenRequestError> {
        self.check_client(&renewal.client)?;
        let connection = self.refresh_credential(renewal.refresh_token.expose());
        connection.map(drop).ok_or_else(|| refused(CredentialClass::RefreshToken))
    }

    /// Refuses a client that is not known, or whose secret is wrong.
    pub fn check_client(self, proof: &ClientProof) -> Result<(), TokenRequestError> {
        let proven = self.registry.state().proven_client(proof, self.registry.now());
        let class = CredentialClass::ClientSecret;
        proven.map(drop).map_err(|error| TokenRequestError { class, error })
    }
}

/// A request for tokens that cannot be granted, and the credential that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequestError {
    pub class: CredentialClass,
    pub error: RegistryError,
}

fn refused(class: CredentialClass) -> TokenRequestError {
    let reason = match class {
        CredentialClass::AuthorizationCode => "this code is not known, over or used up",
        _ => "this token is not known, over or used up",
    };
    TokenRequestError { class, error: RegistryError::token(TokenRefusal::InvalidGrant, reason) }
}
