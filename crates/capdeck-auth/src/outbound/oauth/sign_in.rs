//! The sign-in of one capability at one server, as requests use it.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use url::Url;

use super::{
    Challenge, OAuthError, OAuthSettings, TokenStore,
    fetch::Fetcher,
    record::{Record, Tokens},
    scopes::covers,
    store::{Entry, Stamp},
    token::TokenRequest,
};
use crate::{GuardedClients, Secret};

/// A token is renewed this many seconds before its end, so that it does not end on the way.
const EARLY: u64 = 30;

/// A token this young, in seconds, that is refused is refused for another reason than its age.
const YOUNG: u64 = 10;

/// A sign-in. What other processes do to it (signing in, renewing, signing out) is seen at the next request.
#[derive(Debug)]
pub struct SignIn {
    pub(super) settings: OAuthSettings,
    pub(super) entry: Entry,
    pub(super) clients: GuardedClients,
    known: Mutex<Known>,
    refusal: Mutex<Option<Refusal>>,
    /// Held while tokens are renewed, so that many callers with one old token make one request.
    renewing: tokio::sync::Mutex<()>,
}

/// What was last read of the file.
#[derive(Debug, Default)]
struct Known {
    stamp: Option<Stamp>,
    tokens: Option<Tokens>,
}

/// Why the last refused request was not worth sending again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody has signed in yet.
    SignInNeeded,
    /// There was a sign-in, and it cannot be renewed.
    SignInOver,
    /// The sign-in lacks these scopes.
    RightsMissing { scopes: Vec<String> },
    /// The sign-in has every scope the server asks for, and is refused all the same.
    RightsUseless,
    /// Renewing failed for a reason that may pass.
    RenewalFailed { error: OAuthError },
}

/// How a sign-in stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInStatus {
    pub state: SignInState,
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
    /// The sign-in of `name` at the server of these settings. Nothing is read or asked yet.
    pub fn new(
        name: &str,
        settings: OAuthSettings,
        store: &TokenStore,
        clients: GuardedClients,
    ) -> Self {
        Self {
            entry: store.entry(name, &settings.server),
            settings,
            clients,
            known: Mutex::default(),
            refusal: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
        }
    }

    /// The token for the next request; renewed first when it is about to end.
    pub async fn token(self: &Arc<Self>) -> Option<Secret> {
        let tokens = self.current()?;
        let ends = tokens.expires_at.is_some_and(|at| at <= now().saturating_add(EARLY));
        if ends && tokens.is_renewable() {
            match self.renew_in_background(tokens.access_token.clone()).await {
                Ok(fresh) => return Some(fresh.access_token),
                Err(error) => tracing::warn!(%error, "a sign-in could not be renewed"),
            }
        }
        // An old token is shown all the same: clocks differ, and the server's refusal says what to do.
        Some(tokens.access_token)
    }

    /// A request with this token was refused. True when there is another token to try.
    pub async fn refused(
        self: &Arc<Self>,
        status: u16,
        challenge: Option<&str>,
        sent: Option<&Secret>,
    ) -> bool {
        let challenge = challenge.and_then(Challenge::parse).unwrap_or_default();
        let current = self.current();
        let newest = current.as_ref().map(|tokens| &tokens.access_token);
        if newest.is_some() && newest != sent {
            return true;
        }
        let refusal = match (status, &current) {
            (401, None) => Refusal::SignInNeeded,
            (401, Some(tokens)) => match self.try_renewing(tokens).await {
                Ok(()) => return true,
                Err(refusal) => refusal,
            },
            (403, Some(tokens)) if challenge.wants_more() => {
                if covers(&tokens.scopes, &challenge.scopes) {
                    Refusal::RightsUseless
                } else {
                    Refusal::RightsMissing { scopes: challenge.scopes.clone() }
                }
            }
            (403, None) if challenge.wants_more() => Refusal::SignInNeeded,
            _ => {
                *self.refusal.lock() = None;
                return false;
            }
        };
        self.remember(&refusal, challenge).await;
        *self.refusal.lock() = Some(refusal);
        false
    }

    /// Why the last refused request stayed refused.
    pub fn last_refusal(&self) -> Option<Refusal> {
        self.refusal.lock().clone()
    }

    /// The scopes of the sign-in in force. Empty when the server did not tell.
    pub fn granted_scopes(&self) -> Option<Vec<String>> {
        self.current().map(|tokens| tokens.scopes)
    }

    /// True when there is a sign-in, or a server has said since what it wants of one.
    pub fn knows_what_is_asked(&self) -> bool {
        let record = self.entry.load().ok().flatten().unwrap_or_default();
        record.challenge.is_some() || record.tokens.is_some_and(|tokens| self.fits(&tokens))
    }

    /// The values that must not show up anywhere.
    pub fn secrets(&self) -> Vec<Secret> {
        let known = self.known.lock();
        let tokens = known.tokens.iter();
        tokens
            .flat_map(|tokens| [Some(&tokens.access_token), tokens.refresh_token.as_ref()])
            .flatten()
            .cloned()
            .collect()
    }

    /// Renews the tokens now, whatever their age.
    pub async fn renew(self: &Arc<Self>) -> Result<SignInStatus, OAuthError> {
        let tokens = self.current().ok_or(OAuthError::NotSignedIn)?;
        self.renew_in_background(tokens.access_token).await?;
        self.status()
    }

    /// Forgets the sign-in and everything registered for it. False when there was none.
    pub fn sign_out(&self) -> Result<bool, OAuthError> {
        let _held = self.entry.hold()?;
        self.entry.remove()
    }

    /// How the sign-in stands, as the file tells.
    pub fn status(&self) -> Result<SignInStatus, OAuthError> {
        let record = self.entry.load()?.unwrap_or_default();
        let wanted_scopes = record.challenge.map(|challenge| challenge.scopes).unwrap_or_default();
        let Some(tokens) = record.tokens.filter(|tokens| self.fits(tokens)) else {
            let mut wanted_scopes = wanted_scopes;
            if wanted_scopes.is_empty() {
                wanted_scopes.clone_from(&self.settings.scopes);
            }
            return Ok(SignInStatus {
                state: SignInState::SignedOut,
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
            renewable: tokens.is_renewable(),
            issuer: Some(tokens.issuer),
            subject: tokens.subject,
            scopes: tokens.scopes,
            expires_at: tokens.expires_at,
            wanted_scopes,
        })
    }

    /// The tokens in force, read again only when the file is another one.
    fn current(&self) -> Option<Tokens> {
        let stamp = self.entry.stamp();
        let mut known = self.known.lock();
        if known.stamp != stamp {
            let tokens = match self.entry.load() {
                Ok(record) => record.and_then(|record| record.tokens),
                Err(error) => {
                    tracing::warn!(%error, "a sign-in is not used");
                    None
                }
            };
            *known = Known { stamp, tokens: tokens.filter(|tokens| self.fits(tokens)) };
        }
        known.tokens.clone()
    }

    /// A definition that now names another client or issuer asks for another sign-in.
    fn fits(&self, tokens: &Tokens) -> bool {
        let same =
            |wanted: &Option<String>, has: &str| wanted.as_deref().is_none_or(|it| it == has);
        same(&self.settings.client_id, &tokens.client.id)
            && same(&self.settings.issuer, &tokens.issuer)
    }

    async fn try_renewing(self: &Arc<Self>, tokens: &Tokens) -> Result<(), Refusal> {
        let young = now().saturating_sub(tokens.obtained_at) < YOUNG;
        if young || !tokens.is_renewable() {
            return Err(Refusal::SignInOver);
        }
        match self.renew_in_background(tokens.access_token.clone()).await {
            Ok(_) => Ok(()),
            Err(error) if error.needs_sign_in() => Err(Refusal::SignInOver),
            Err(error) => Err(Refusal::RenewalFailed { error }),
        }
    }

    /// Keeps what the server asks for, so that the next sign-in asks for it, in whichever process that happens.
    async fn remember(self: &Arc<Self>, refusal: &Refusal, challenge: Challenge) {
        if matches!(refusal, Refusal::RightsUseless | Refusal::RenewalFailed { .. }) {
            return;
        }
        let known = self.entry.load().ok().flatten().unwrap_or_default();
        if known.challenge.as_ref() == Some(&challenge) {
            return;
        }
        let kept = self.change(move |record| record.challenge = Some(challenge)).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "what a server asks for could not be kept");
        }
    }

    /// Changes the file while nobody else does.
    pub(super) async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Record) + Send + 'static,
    ) -> Result<(), OAuthError> {
        let entry = self.entry.clone();
        blocking(move || {
            let _held = entry.hold()?;
            let mut record = entry.load().ok().flatten().unwrap_or_default();
            change(&mut record);
            entry.save(record)
        })
        .await
    }

    /// Renews in a task of its own: a caller that gives up must not lose a refresh token the server has just replaced.
    async fn renew_in_background(self: &Arc<Self>, stale: Secret) -> Result<Tokens, OAuthError> {
        let this = Arc::clone(self);
        let renewal = tokio::spawn(async move { this.renew_if_stale(&stale).await });
        renewal.await.unwrap_or_else(|error| Err(OAuthError::Client { reason: error.to_string() }))
    }

    async fn renew_if_stale(self: &Arc<Self>, stale: &Secret) -> Result<Tokens, OAuthError> {
        let _turn = self.renewing.lock().await;
        let entry = self.entry.clone();
        let _held = blocking(move || entry.hold()).await?;
        let mut record = self.entry.load()?.unwrap_or_default();
        let tokens = record.tokens.clone().ok_or(OAuthError::NotSignedIn)?;
        if tokens.access_token != *stale {
            // Somebody else renewed it while we waited.
            return Ok(tokens);
        }
        let outcome = self.ask_anew(&tokens).await;
        match &outcome {
            Ok(fresh) => record.tokens = Some(fresh.clone()),
            // A refresh token is refused for good; the others who wait need not hear it, too.
            Err(OAuthError::TokenRefused { .. }) => {
                record.tokens = Some(Tokens { refresh_token: None, unattended: false, ..tokens });
            }
            Err(_) => return outcome,
        }
        let entry = self.entry.clone();
        blocking(move || entry.save(record)).await?;
        outcome
    }

    async fn ask_anew(&self, tokens: &Tokens) -> Result<Tokens, OAuthError> {
        let fetcher = Fetcher::new(&self.clients, &self.settings.server).await?;
        let endpoint: Url = fetcher.url("the token endpoint", &tokens.token_endpoint)?;
        let request = TokenRequest {
            issuer: &tokens.issuer,
            knows_issuer: true,
            endpoint: &endpoint,
            client: &tokens.client,
            resource: &tokens.resource,
            scopes: &tokens.scopes,
            now: now(),
        };
        let fresh = match &tokens.refresh_token {
            Some(refresh_token) => request.renew(&fetcher, refresh_token).await?,
            None if tokens.unattended => request.for_program(&fetcher).await?,
            None => return Err(OAuthError::NotRenewable),
        };
        Ok(Tokens { subject: tokens.subject.clone(), ..fresh })
    }
}

impl Tokens {
    fn is_renewable(&self) -> bool {
        self.refresh_token.is_some() || self.unattended
    }
}

/// Runs file work where it may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OAuthError> + Send + 'static,
) -> Result<T, OAuthError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(OAuthError::Client { reason: error.to_string() }))
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
