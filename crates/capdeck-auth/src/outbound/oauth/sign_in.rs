//! The sign-in of one capability at one server, as requests use it.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;

use super::{
    Challenge, LoginKind, OAuthError, OAuthSettings, TokenStore,
    record::{Record, Tokens},
    scopes::{covers, lacking},
    store::{Entry, Stamp},
};
use crate::{GuardedClients, Secret};

/// A token is renewed this many seconds before its end, so that it does not end on the way.
const EARLY: u64 = 30;

/// A sign-in. What other processes do to it (signing in, renewing, signing out) is seen at the next request.
#[derive(Debug)]
pub struct SignIn {
    pub(super) settings: OAuthSettings,
    pub(super) entry: Entry,
    pub(super) clients: GuardedClients,
    known: Mutex<Known>,
    refusal: Mutex<Option<Refusal>>,
    /// Held while tokens are renewed, so that many callers with one old token make one request.
    pub(super) renewing: tokio::sync::Mutex<()>,
}

/// What was last read of the file.
#[derive(Debug, Default)]
struct Known {
    stamp: Option<Stamp>,
    tokens: Option<Tokens>,
    /// Why what is in the file is not used.
    unfit: Option<Refusal>,
}

/// Why the last refused request was not worth sending again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody has signed in yet.
    SignInNeeded,
    /// There is a sign-in, but not the one that the definition asks for.
    OtherSignIn { reason: String },
    /// There is a sign-in, and it cannot be read.
    Unreadable { error: OAuthError },
    /// There was a sign-in, and it cannot be renewed.
    SignInOver,
    /// The sign-in lacks these scopes.
    RightsMissing { scopes: Vec<String> },
    /// The sign-in has every scope the server asks for, and is refused all the same.
    RightsUseless,
    /// Renewing failed for a reason that may pass.
    RenewalFailed { error: OAuthError },
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

    /// The token for the next request; renewed first when it is about to end. Why there is none, [`Self::needed`] says.
    pub async fn token(self: &Arc<Self>) -> Option<Secret> {
        let tokens = self.usable().ok()?;
        let ends = tokens.expires_at.is_some_and(|at| at <= now().saturating_add(EARLY));
        if ends && tokens.is_renewable() {
            match self.renew_in_background(tokens.clone()).await {
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
        let usable = self.usable();
        if let Err(refusal) = &usable
            && *refusal != Refusal::SignInNeeded
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

    /// Why there is no token for a request.
    pub fn needed(&self) -> Refusal {
        self.usable().err().unwrap_or(Refusal::SignInNeeded)
    }

    /// The scopes of the sign-in in force. Empty when the server did not tell.
    pub fn granted_scopes(&self) -> Option<Vec<String>> {
        self.current().map(|tokens| tokens.scopes)
    }

    /// True when there is a sign-in, or a server has said since what it wants of one.
    pub fn knows_what_is_asked(&self) -> bool {
        let record = self.entry.load().ok().flatten().unwrap_or_default();
        record.challenge.is_some()
            || self.chosen(&record).is_some_and(|tokens| self.misfit(tokens).is_none())
    }

    /// The values that must not show up anywhere.
    pub fn secrets(&self) -> Vec<Secret> {
        let tokens = self.current();
        let values = tokens.iter().flat_map(|tokens| {
            let Tokens { access_token, refresh_token, client, .. } = tokens;
            [Some(access_token), refresh_token.as_ref(), client.secret.as_ref()]
        });
        values.flatten().cloned().collect()
    }

    /// The tokens for a request, or why there are none.
    fn usable(&self) -> Result<Tokens, Refusal> {
        let Some(tokens) = self.current() else {
            return Err(self.known.lock().unfit.clone().unwrap_or(Refusal::SignInNeeded));
        };
        // Servers grant less than was asked for, or name it differently. Only what was never asked for is missing.
        let asked = tokens.asked_scopes.as_deref().unwrap_or(&self.settings.scopes);
        let scopes = lacking(&[asked, &tokens.scopes].concat(), &self.settings.scopes);
        if scopes.is_empty() { Ok(tokens) } else { Err(Refusal::RightsMissing { scopes }) }
    }

    /// The tokens in force, read again only when the file is another one.
    pub(super) fn current(&self) -> Option<Tokens> {
        let stamp = self.entry.stamp();
        let mut known = self.known.lock();
        if known.stamp != stamp {
            *known = match self.entry.load() {
                Ok(record) => {
                    let tokens = record.and_then(|record| self.chosen(&record).cloned());
                    let reason = tokens.as_ref().and_then(|tokens| self.misfit(tokens));
                    let unfit = reason.map(|reason| Refusal::OtherSignIn { reason });
                    Known { stamp, tokens: tokens.filter(|_| unfit.is_none()), unfit }
                }
                Err(error) => {
                    tracing::warn!(%error, "a sign-in is not used");
                    // What is wrong with the key can be repaired without the file changing.
                    let stamp = stamp.filter(|_| !matches!(error, OAuthError::Key(_)));
                    Known { stamp, tokens: None, unfit: Some(Refusal::Unreadable { error }) }
                }
            };
        }
        known.tokens.clone()
    }

    /// The sign-in that the definition asks for, or else the one that comes nearest.
    pub(super) fn chosen<'a>(&self, record: &'a Record) -> Option<&'a Tokens> {
        record.sign_in(self.settings.issuer.as_deref())
    }

    /// Why tokens are not those of the sign-in that the definition now asks for.
    pub(super) fn misfit(&self, tokens: &Tokens) -> Option<String> {
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
        // Files of earlier versions do not say what they were for; only a person's sign-in has a subject.
        let made_for = tokens.kind.unwrap_or(match tokens.subject {
            Some(_) => LoginKind::Oidc,
            None => LoginKind::OAuth2,
        });
        match (kind, made_for) {
            (LoginKind::Oidc, LoginKind::OAuth2) => {
                Some("it has no identity, and the definition asks for one".to_owned())
            }
            (LoginKind::OAuth2, LoginKind::Oidc) => {
                Some("it is for an identity, and the definition asks for none".to_owned())
            }
            _ => None,
        }
    }

    /// Keeps what the server asks for, so that the next sign-in asks for it, in whichever process that happens.
    async fn remember(self: &Arc<Self>, refusal: &Refusal, challenge: Challenge) {
        if matches!(refusal, Refusal::RightsUseless | Refusal::RenewalFailed { .. }) {
            return;
        }
        // What cannot be read is left alone: it may be of use under another key.
        let Ok(known) = self.entry.load() else { return };
        if known.unwrap_or_default().challenge.as_ref() == Some(&challenge) {
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
}

impl Tokens {
    pub(super) fn is_renewable(&self) -> bool {
        self.refresh_token.is_some() || self.unattended
    }
}

/// Runs file work where it may wait.
pub(super) async fn blocking<T: Send + 'static>(
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
