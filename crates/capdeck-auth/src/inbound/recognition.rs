//! Recognizes generated secrets from memory. Nothing is changed or recorded, so guesses cost little, and the right secret of
//! one client is distinguished from the guesses of another at the same address.

use super::{
    ClientProof, CodeRedemption, CredentialClass, Registry, RegistryError, TokenRefusal,
    TokenRenewal,
    token::{TokenHash, TokenKind},
};

/// A request for tokens that cannot be granted, and the credential that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequestError {
    pub class: CredentialClass,
    pub error: RegistryError,
}

impl Registry {
    /// Whether a token was given out here and opens nothing now: it is over, or its enrollment is not approved. Such a token is no
    /// guess.
    pub fn is_idle_token(&self, token: &str) -> bool {
        if !TokenKind::Access.fits(token) && !TokenKind::Enrollment.fits(token) {
            return false;
        }
        let (state, hash) = (self.state(), TokenHash::of(token));
        state.tokens.get(&hash).is_some_and(|known| known.hash.is(&hash))
            || state.enrollments.values().any(|one| one.token.is(&hash))
    }

    /// The principal of a code that was given out, used up or not.
    pub fn code_principal(&self, code: &str) -> Option<String> {
        let hash = TokenHash::of(code);
        if let Some(code) = self.0.volatile.codes.lock().get(&hash) {
            return Some(code.principal.clone());
        }
        let state = self.state();
        let mut given = state.credentials.values().filter(|one| one.code == Some(hash));
        given.next().map(|one| one.principal.clone())
    }

    /// The id of the connection that a refresh token is or was of.
    pub fn refresh_credential(&self, token: &str) -> Option<String> {
        let bytes = TokenKind::Refresh.bytes(token)?;
        let family = TokenHash::of_bytes(bytes.first_chunk::<16>()?);
        self.state().families.get(&family).cloned()
    }

    /// Whether a token is that of an enrollment.
    pub fn is_enrollment_token(&self, id: &str, token: &str) -> bool {
        let hash = TokenHash::of(token);
        self.state().enrollments.get(id).is_some_and(|one| one.token.is(&hash))
    }

    /// Refuses a redemption whose client or code is not known. A code that was used up is known: it ends what it gave.
    pub fn check_redemption(&self, redemption: &CodeRedemption) -> Result<(), TokenRequestError> {
        self.check_client(&redemption.client)?;
        match self.code_principal(redemption.code.expose()) {
            Some(_) => Ok(()),
            None => Err(refused(CredentialClass::AuthorizationCode)),
        }
    }

    /// Refuses a renewal whose client or refresh token is not known.
    pub fn check_renewal(&self, renewal: &TokenRenewal) -> Result<(), TokenRequestError> {
        self.check_client(&renewal.client)?;
        match self.refresh_credential(renewal.refresh_token.expose()) {
            Some(_) => Ok(()),
            None => Err(refused(CredentialClass::RefreshToken)),
        }
    }

    /// Refuses a client that is not known, or whose secret is wrong.
    pub fn check_client(&self, proof: &ClientProof) -> Result<(), TokenRequestError> {
        let proven = self.state().proven_client(proof, self.now());
        let class = CredentialClass::ClientSecret;
        proven.map(drop).map_err(|error| TokenRequestError { class, error })
    }
}

fn refused(class: CredentialClass) -> TokenRequestError {
    let reason = match class {
        CredentialClass::AuthorizationCode => "this code is not known, over or used up",
        _ => "this token is not known, over or used up",
    };
    TokenRequestError { class, error: RegistryError::token(TokenRefusal::InvalidGrant, reason) }
}
