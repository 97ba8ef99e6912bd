//! The sign-in of one capability at one server, as requests use it: its token, its status, and its end here and at the service
//! (RFC 7009).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_storage::unix_seconds;
use parking_lot::Mutex;
use url::Url;

use super::{
    BearerChallenge, LoginKind, OAuthError, OAuthResult, OAuthSettings, TokenStore,
    fetch::{GuardedFetcher, origin},
    settings::{covers, lacking},
    store::{FileStamp, SignInFile},
    store::{SignInRecord, StoredTokens},
};
use crate::{GuardedClients, Secret, blocking::blocking};

/// Tokens are renewed this many seconds before they expire.
const RENEWAL_MARGIN_SECONDS: u64 = 30;

/// How long requests trust that there is no sign-in. Most servers need none, and a look at the file is a twelfth of the price
/// of a call. A refused request looks again and is retried.
const ABSENCE_TRUST: Duration = Duration::from_millis(20);

/// A sign-in. Changes by other processes (renewal, sign-out) apply to the next request; a first sign-in to the next one that
/// is refused, and a moment later to all.
#[derive(Debug)]
pub struct SignIn {
    pub(super) settings: OAuthSettings,
    pub(super) entry: SignInFile,
    pub(super) clients: GuardedClients,
    known: Mutex<CachedSignIn>,
    refusal: Mutex<Option<SignInRefusal>>,
    /// Held during a renewal, so that concurrent callers send one request.
    pub(super) renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct CachedSignIn {
    stamp: Option<FileStamp>,
    tokens: Option<StoredTokens>,
    unfit: Option<SignInRefusal>,
    /// When there was no file.
    absent: Option<Instant>,
}

/// The reason a refused request was not retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInRefusal {
    SignInNeeded,
    /// The sign-in does not match the definition.
    OtherSignIn {
        reason: String,
    },
    Unreadable {
        error: OAuthError,
    },
    /// The sign-in expired and cannot be renewed.
    SignInOver,
    RightsMissing {
        scopes: Vec<String>,
    },
    /// The sign-in has every required scope, and the request is still refused.
    RightsUseless,
    RenewalFailed {
        error: OAuthError,
    },
}

impl SignIn {
    /// Creates the sign-in of `name` without reading or requesting anything.
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

    /// Returns the token for the next request, renewed if it is about to expire. [`Self::needed`] gives the reason
    /// when there is none.
    pub async fn token(self: &Arc<Self>) -> Option<Secret> {
        if self.is_absent() {
            return None;
        }
        let tokens = self.usable().ok()?;
        let ends = tokens
            .expires_at
            .is_some_and(|at| at <= unix_seconds().saturating_add(RENEWAL_MARGIN_SECONDS));
        if ends && tokens.is_renewable() {
            match self.renew_in_background(tokens.clone()).await {
                Ok(fresh) => return Some(fresh.access_token),
                Err(error) => tracing::warn!(%error, "a sign-in could not be renewed"),
            }
        }
        // An expired token is still sent: clocks differ, and the server's refusal has the next step.
        Some(tokens.access_token)
    }

    /// Handles the refusal of a request with this token. Returns true when a retry has another token.
    pub async fn refused(
        self: &Arc<Self>,
        status: u16,
        challenge: Option<&str>,
        sent: Option<&Secret>,
    ) -> bool {
        let challenge = challenge.and_then(BearerChallenge::parse).unwrap_or_default();
        let usable = self.usable();
        if let Err(refusal) = &usable
            && *refusal != SignInRefusal::SignInNeeded
        {
            *self.refusal.lock() = Some(refusal.clone());
            return false;
        }
        let current = usable.ok();
        let newest = current.as_ref().map(|tokens| &tokens.access_token);
        if newest.is_some() && newest != sent {
            return true;
        }
        let refusal = match (status, &current) {
            (401, None) => SignInRefusal::SignInNeeded,
            (401, Some(tokens)) => match self.try_renewing(tokens).await {
                Ok(()) => return true,
                Err(refusal) => refusal,
            },
            (403, Some(tokens)) if challenge.needs_more_scopes() => {
                if covers(&tokens.scopes, &challenge.scopes) {
                    SignInRefusal::RightsUseless
                } else {
                    SignInRefusal::RightsMissing { scopes: challenge.scopes.clone() }
                }
            }
            (403, None) if challenge.needs_more_scopes() => SignInRefusal::SignInNeeded,
            _ => {
                *self.refusal.lock() = None;
                return false;
            }
        };
        self.remember(&refusal, challenge).await;
        *self.refusal.lock() = Some(refusal);
        false
    }

    pub fn last_refusal(&self) -> Option<SignInRefusal> {
        self.refusal.lock().clone()
    }

    pub fn needed(&self) -> SignInRefusal {
        self.usable().err().unwrap_or(SignInRefusal::SignInNeeded)
    }

    /// Returns the granted scopes. Empty when the server did not list them.
    pub fn granted_scopes(&self) -> Option<Vec<String>> {
        self.current().map(|tokens| tokens.scopes)
    }

    /// Returns whether there is a sign-in or a challenge since then.
    pub fn knows_what_is_asked(&self) -> bool {
        let record = self.entry.load().ok().flatten().unwrap_or_default();
        record.challenge.is_some()
            || self.chosen(&record).is_some_and(|tokens| self.misfit(tokens).is_none())
    }

    pub fn secrets(&self) -> Vec<Secret> {
        if self.is_absent() {
            return Vec::new();
        }
        let tokens = self.current();
        let values = tokens.iter().flat_map(|tokens| {
            let StoredTokens { access_token, refresh_token, client, .. } = tokens;
            [Some(access_token), refresh_token.as_ref(), client.secret.as_ref()]
        });
        values.flatten().cloned().collect()
    }

    fn usable(&self) -> Result<StoredTokens, SignInRefusal> {
        let Some(tokens) = self.current() else {
            return Err(self.known.lock().unfit.clone().unwrap_or(SignInRefusal::SignInNeeded));
        };
        // Servers grant fewer scopes or rename them. Only a scope that was never requested is missing.
        let asked = tokens.asked_scopes.as_deref().unwrap_or(&self.settings.scopes);
        let scopes = lacking(&[asked, &tokens.scopes].concat(), &self.settings.scopes);
        if scopes.is_empty() { Ok(tokens) } else { Err(SignInRefusal::RightsMissing { scopes }) }
    }

    /// Returns whether there was no sign-in a moment ago.
    fn is_absent(&self) -> bool {
        self.known.lock().absent.is_some_and(|at| at.elapsed() < ABSENCE_TRUST)
    }

    /// Returns the current tokens; reads the file only when it changed.
    pub(super) fn current(&self) -> Option<StoredTokens> {
        let stamp = self.entry.stamp();
        let mut known = self.known.lock();
        known.absent = stamp.is_none().then(Instant::now);
        if known.stamp != stamp {
            *known = match self.entry.load() {
                Ok(record) => {
                    let tokens = record.and_then(|record| self.chosen(&record).cloned());
                    let reason = tokens.as_ref().and_then(|tokens| self.misfit(tokens));
                    let unfit = reason.map(|reason| SignInRefusal::OtherSignIn { reason });
                    let tokens = tokens.filter(|_| unfit.is_none());
                    CachedSignIn { stamp, tokens, unfit, absent: None }
                }
                Err(error) => {
                    tracing::warn!(%error, "a sign-in is not used");
                    // A key problem can be repaired without a change of this file.
                    let stamp = stamp.filter(|_| !matches!(error, OAuthError::Key(_)));
                    CachedSignIn {
                        stamp,
                        tokens: None,
                        unfit: Some(SignInRefusal::Unreadable { error }),
                        absent: None,
                    }
                }
            };
        }
        known.tokens.clone()
    }

    /// Returns the sign-in of the definition's issuer, or else the newest.
    pub(super) fn chosen<'a>(&self, record: &'a SignInRecord) -> Option<&'a StoredTokens> {
        record.sign_in(self.settings.issuer.as_deref())
    }

    pub(super) fn misfit(&self, tokens: &StoredTokens) -> Option<String> {
        let OAuthSettings { issuer, client_id, kind, .. } = &self.settings;
        if let Some(issuer) = issuer.as_ref().filter(|issuer| **issuer != tokens.issuer) {
            let made_at = &tokens.issuer;
            return Some(format!(
                "it was made at `{made_at}`, and the definition names `{issuer}`"
            ));
        }
        if client_id.as_ref().is_some_and(|id| *id != tokens.client.id) {
            return Some("it was made by another client than the definition names".to_owned());
        }
        // Older files do not say their kind; only a person's sign-in has a subject.
        let made_for = tokens.kind.unwrap_or(match tokens.subject {
            Some(_) => LoginKind::Oidc,
            None => LoginKind::OAuth2,
        });
        match (kind, made_for) {
            (LoginKind::Oidc, LoginKind::OAuth2) => {
                Some("it has no identity, but the definition requires one".to_owned())
            }
            (LoginKind::OAuth2, LoginKind::Oidc) => {
                Some("it has an identity, but the definition requires none".to_owned())
            }
            _ => None,
        }
    }

    /// Saves the challenge, so that the next sign-in in any process requests its scopes.
    async fn remember(self: &Arc<Self>, refusal: &SignInRefusal, challenge: BearerChallenge) {
        if matches!(refusal, SignInRefusal::RightsUseless | SignInRefusal::RenewalFailed { .. }) {
            return;
        }
        // An unreadable file is not changed: it may be readable with another key.
        let Ok(known) = self.entry.load() else { return };
        if known.unwrap_or_default().challenge.as_ref() == Some(&challenge) {
            return;
        }
        let kept = self.change(move |record| record.challenge = Some(challenge)).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "the scopes that a server requires could not be saved");
        }
    }

    pub(super) async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut SignInRecord) + Send + 'static,
    ) -> OAuthResult<()> {
        let entry = self.entry.clone();
        blocking(move || {
            let _held = entry.lock()?;
            let mut record = entry.load().ok().flatten().unwrap_or_default();
            change(&mut record);
            entry.save(record)
        })
        .await
    }

    pub fn status(&self) -> OAuthResult<SignInStatus> {
        let record = self.entry.load()?.unwrap_or_default();
        let mut wanted_scopes =
            record.challenge.as_ref().map(|challenge| challenge.scopes.clone()).unwrap_or_default();
        let tokens = self.chosen(&record).cloned();
        let problem = tokens.as_ref().and_then(|tokens| self.misfit(tokens));
        let Some(tokens) = tokens.filter(|_| problem.is_none()) else {
            if wanted_scopes.is_empty() {
                wanted_scopes.clone_from(&self.settings.scopes);
            }
            return Ok(SignInStatus { problem, wanted_scopes, ..SignInStatus::default() });
        };
        let over = tokens.expires_at.is_some_and(|at| at <= unix_seconds());
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

    /// Deletes the sign-in and its registrations, then revokes the tokens at the service. A failed revocation does
    /// not stop the deletion.
    ///
    /// If the definition names an issuer, the data of other issuers stays. If not, all data is deleted.
    pub async fn sign_out(self: &Arc<Self>) -> OAuthResult<SignOutReport> {
        let (entry, issuer) = (self.entry.clone(), self.settings.issuer.clone());
        let (was_signed_in, forgotten) = blocking(move || {
            let _held = entry.lock()?;
            // An unreadable file can still be deleted.
            let mut record = entry.load().ok().flatten().unwrap_or_default();
            let Some(issuer) = issuer else {
                return OAuthResult::Ok((entry.remove()?, record.sign_ins.into_values().collect()));
            };
            let forgotten: Vec<StoredTokens> = record.forget(&issuer).into_iter().collect();
            if record.is_empty() {
                return Ok((entry.remove()?, forgotten));
            }
            entry.save(record)?;
            Ok((!forgotten.is_empty(), forgotten))
        })
        .await?;
        let mut revocation = RevocationOutcome::NotOffered;
        for tokens in &forgotten {
            // Of several results, the one that needs an action is returned.
            match self.revoke(tokens).await {
                RevocationOutcome::NotOffered => {}
                _ if matches!(revocation, RevocationOutcome::Failed { .. }) => {}
                outcome => revocation = outcome,
            }
        }
        Ok(SignOutReport { was_signed_in, revocation })
    }

    async fn revoke(&self, tokens: &StoredTokens) -> RevocationOutcome {
        let Some(endpoint) = &tokens.revocation_endpoint else {
            return RevocationOutcome::NotOffered;
        };
        let revoked = async {
            let fetcher = GuardedFetcher::new(&self.clients, &self.settings.server).await?;
            let endpoint = fetcher.url(ENDPOINT_LABEL, endpoint)?;
            // Revoking the refresh token ends the sign-in; services need not revoke the access token with it.
            if let Some(token) = &tokens.refresh_token {
                revoke_token(&fetcher, &endpoint, tokens, token, "refresh_token").await?;
            }
            revoke_token(&fetcher, &endpoint, tokens, &tokens.access_token, "access_token").await
        };
        match revoked.await {
            Ok(()) => RevocationOutcome::Done,
            Err(error) => RevocationOutcome::Failed { error },
        }
    }
}

impl StoredTokens {
    pub(super) fn is_renewable(&self) -> bool {
        self.refresh_token.is_some() || self.unattended
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SignInState {
    SignedIn,
    Expired,
    #[default]
    SignedOut,
}

const ENDPOINT_LABEL: &str = "the revocation endpoint";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignOutReport {
    pub was_signed_in: bool,
    pub revocation: RevocationOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevocationOutcome {
    /// The service has no revocation endpoint, or there was nothing to revoke.
    NotOffered,
    Done,
    Failed {
        error: OAuthError,
    },
}

async fn revoke_token(
    fetcher: &GuardedFetcher,
    endpoint: &Url,
    tokens: &StoredTokens,
    token: &Secret,
    kind: &str,
) -> OAuthResult<()> {
    let mut fields = vec![("token", token.expose()), ("token_type_hint", kind)];
    let basic = tokens.client.identify(&mut fields);
    let answer = fetcher.form(ENDPOINT_LABEL, endpoint, &fields, basic).await?;
    match answer.status {
        200..=299 => Ok(()),
        status => {
            Err(OAuthError::Status { what: ENDPOINT_LABEL, origin: origin(endpoint), status })
        }
    }
}
