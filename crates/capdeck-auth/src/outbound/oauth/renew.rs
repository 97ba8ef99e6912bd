//! Renews tokens once for all tasks and processes.

use std::sync::Arc;

use url::Url;

use super::{
    OAuthError, SignIn, SignInRefusal, SignInStatus,
    fetch::GuardedFetcher,
    id_token::{ExpectedClaims, verify},
    sign_in::{blocking, now},
    sign_in_record::StoredTokens,
    token::{IssuedTokens, TokenRequest},
};
use crate::LoginKind;

/// In seconds. The refusal of a younger token has another reason than expiry.
const FRESH_TOKEN_SECONDS: u64 = 10;

impl SignIn {
    /// Renews the tokens regardless of their age.
    pub async fn renew(self: &Arc<Self>) -> Result<SignInStatus, OAuthError> {
        let tokens = self.current().ok_or(OAuthError::NotSignedIn)?;
        self.renew_in_background(tokens).await?;
        self.status()
    }

    pub(super) async fn try_renewing(
        self: &Arc<Self>,
        tokens: &StoredTokens,
    ) -> Result<(), SignInRefusal> {
        let young = now().saturating_sub(tokens.obtained_at) < FRESH_TOKEN_SECONDS;
        if young || !tokens.is_renewable() {
            return Err(SignInRefusal::SignInOver);
        }
        match self.renew_in_background(tokens.clone()).await {
            Ok(_) => Ok(()),
            Err(error) if error.needs_sign_in() => Err(SignInRefusal::SignInOver),
            Err(error) => Err(SignInRefusal::RenewalFailed { error }),
        }
    }

    /// Renews in a separate task: a cancelled caller must not lose a refresh token that the server just rotated.
    pub(super) async fn renew_in_background(
        self: &Arc<Self>,
        stale: StoredTokens,
    ) -> Result<StoredTokens, OAuthError> {
        let this = Arc::clone(self);
        let renewal = tokio::spawn(async move { this.renew_if_stale(&stale).await });
        renewal.await.unwrap_or_else(|error| Err(OAuthError::Client { reason: error.to_string() }))
    }

    async fn renew_if_stale(
        self: &Arc<Self>,
        stale: &StoredTokens,
    ) -> Result<StoredTokens, OAuthError> {
        let _turn = self.renewing.lock().await;
        let entry = self.entry.clone();
        let _held = blocking(move || entry.lock()).await?;
        let mut record = self.entry.load()?.unwrap_or_default();
        let tokens = record.sign_ins.get(&stale.issuer).cloned();
        let tokens = tokens.ok_or(OAuthError::NotSignedIn)?;
        if tokens.access_token != stale.access_token {
            // Another process renewed it during the wait.
            return Ok(tokens);
        }
        let outcome = self.request_tokens(&tokens).await;
        let kept = match &outcome {
            Ok(fresh) => fresh.clone(),
            // The refresh token is invalid for good; waiting tasks need not try it too.
            Err(OAuthError::TokenRefused { .. }) => {
                StoredTokens { refresh_token: None, unattended: false, ..tokens }
            }
            Err(_) => return outcome,
        };
        record.sign_ins.insert(kept.issuer.clone(), kept);
        let entry = self.entry.clone();
        blocking(move || entry.save(record)).await?;
        outcome
    }

    async fn request_tokens(&self, tokens: &StoredTokens) -> Result<StoredTokens, OAuthError> {
        let fetcher = GuardedFetcher::new(&self.clients, &self.settings.server).await?;
        let endpoint: Url = fetcher.url("the token endpoint", &tokens.token_endpoint)?;
        let request = TokenRequest {
            issuer: &tokens.issuer,
            endpoint: &endpoint,
            client: &tokens.client,
            resource: &tokens.resource,
            scopes: &tokens.scopes,
            now: now(),
        };
        let answer = match &tokens.refresh_token {
            Some(refresh_token) => request.renew(&fetcher, refresh_token).await?,
            None if tokens.unattended => request.for_program(&fetcher).await?,
            None => return Err(OAuthError::NotRenewable),
        };
        self.check_identity(&fetcher, tokens, &answer).await?;
        Ok(StoredTokens {
            subject: tokens.subject.clone(),
            kind: tokens.kind,
            asked_scopes: tokens.asked_scopes.clone(),
            revocation_endpoint: tokens.revocation_endpoint.clone(),
            keys_url: tokens.keys_url.clone(),
            ..answer.tokens
        })
    }

    /// A renewal may omit the identity token. One that it includes must have the same subject.
    async fn check_identity(
        &self,
        fetcher: &GuardedFetcher,
        tokens: &StoredTokens,
        answer: &IssuedTokens,
    ) -> Result<(), OAuthError> {
        let (LoginKind::Oidc, Some(id_token)) = (self.settings.kind, &answer.id_token) else {
            return Ok(());
        };
        let keys = tokens.keys_url.as_deref();
        let keys = keys.map(|text| fetcher.url("the issuer's keys", text)).transpose()?;
        let expected = ExpectedClaims {
            issuer: &tokens.issuer,
            // A derived issuer cannot be distinguished from a real one at this point.
            knows_issuer: self.settings.issuer.is_some() || keys.is_some(),
            client_id: &tokens.client.id,
            nonce: None,
            subject: tokens.subject.as_deref(),
            access_token: &answer.tokens.access_token,
            now: now(),
        };
        verify(fetcher, keys.as_ref(), id_token, &expected).await.map(drop)
    }
}
