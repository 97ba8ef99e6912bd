//! The status of a sign-in, read from its file.

use super::{OAuthError, SignIn, sign_in::now};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInStatus {
    pub state: SignInState,
    /// The reason an existing sign-in is not used.
    pub problem: Option<String>,
    pub issuer: Option<String>,
    pub subject: Option<String>,
    pub scopes: Vec<String>,
    /// In seconds since 1970.
    pub expires_at: Option<u64>,
    pub renewable: bool,
    /// The scopes of the last unmet challenge, or those that a first sign-in would request, if known.
    pub wanted_scopes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInState {
    SignedIn,
    Expired,
    SignedOut,
}

impl SignIn {
    pub fn status(&self) -> Result<SignInStatus, OAuthError> {
        let record = self.entry.load()?.unwrap_or_default();
        let mut wanted_scopes =
            record.challenge.as_ref().map(|challenge| challenge.scopes.clone()).unwrap_or_default();
        let tokens = self.chosen(&record).cloned();
        let problem = tokens.as_ref().and_then(|tokens| self.misfit(tokens));
        let Some(tokens) = tokens.filter(|_| problem.is_none()) else {
            if wanted_scopes.is_empty() {
                wanted_scopes.clone_from(&self.settings.scopes);
            }
            return Ok(SignInStatus {
                state: SignInState::SignedOut,
                problem,
                issuer: None,
                subject: None,
                scopes: Vec::new(),
                expires_at: None,
                renewable: false,
                wanted_scopes,
            });
        };
        let over = tokens.expires_at.is_some_and(|at| at <= now());
        Ok(SignInStatus {
            state: if over { SignInState::Expired } else { SignInState::SignedIn },
            problem,
            renewable: tokens.is_renewable(),
            issuer: Some(tokens.issuer),
            subject: tokens.subject,
            scopes: tokens.scopes,
            expires_at: tokens.expires_at,
            wanted_scopes,
        })
    }
}
