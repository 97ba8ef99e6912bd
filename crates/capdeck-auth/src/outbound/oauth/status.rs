//! How a sign-in stands, as the file tells.

use super::{OAuthError, SignIn, sign_in::now};

/// What is known of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInStatus {
    pub state: SignInState,
    /// Why a sign-in that is there is not used.
    pub problem: Option<String>,
    pub issuer: Option<String>,
    /// Who signed in, where that is known.
    pub subject: Option<String>,
    pub scopes: Vec<String>,
    /// In seconds since 1970.
    pub expires_at: Option<u64>,
    /// True when it can be renewed without the person.
    pub renewable: bool,
    /// What the server last asked for in vain, or what a first sign-in would ask for, as far as that is known.
    pub wanted_scopes: Vec<String>,
}

/// Whether requests carry a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInState {
    SignedIn,
    Expired,
    SignedOut,
}

impl SignIn {
    /// How the sign-in stands, as the file tells.
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
