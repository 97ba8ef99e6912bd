//! Token endpoint requests and the validation of their responses; renewal, once for all tasks and processes.

use std::sync::Arc;

use capdeck_storage::unix_seconds;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    OAuthError, OAuthResult, SignIn, SignInRefusal, SignInStatus,
    error::error_code,
    fetch::{FormResponse, GuardedFetcher, parse},
    id_token::{ExpectedClaims, verify},
    store::{ClientRegistration, StoredTokens},
};
use crate::{LoginKind, Secret, blocking::blocking};

const ENDPOINT_LABEL: &str = "the token endpoint";

pub(super) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

pub(super) struct TokenRequest<'a> {
    pub(super) issuer: &'a str,
    pub(super) endpoint: &'a Url,
    pub(super) client: &'a ClientRegistration,
    /// Empty when the tokens only prove an identity.
    pub(super) resource: &'a str,
    /// The granted scopes when the response names none.
    pub(super) scopes: &'a [String],
}

pub(super) struct IssuedTokens {
    pub(super) tokens: StoredTokens,
    /// Not validated yet.
    pub(super) id_token: Option<String>,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<Value>,
    scope: Option<String>,
    id_token: Option<String>,
}

impl TokenRequest<'_> {
    pub(super) async fn redeem(
        &self,
        fetcher: &GuardedFetcher,
        code: &Secret,
        verifier: &Secret,
        redirect_uri: &str,
    ) -> OAuthResult<IssuedTokens> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("code_verifier", verifier.expose()),
            ("redirect_uri", redirect_uri),
        ];
        Ok(self.answer(self.send(fetcher, &fields).await?, None))
    }

    pub(super) async fn poll(
        &self,
        fetcher: &GuardedFetcher,
        device_code: &Secret,
    ) -> OAuthResult<IssuedTokens> {
        let fields = [("grant_type", DEVICE_GRANT), ("device_code", device_code.expose())];
        Ok(self.answer(self.send(fetcher, &fields).await?, None))
    }

    /// Renews tokens. Without a new refresh token in the response, the old one stays valid.
    pub(super) async fn renew(
        &self,
        fetcher: &GuardedFetcher,
        refresh_token: &Secret,
    ) -> OAuthResult<IssuedTokens> {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
        Ok(self.answer(self.send(fetcher, &fields).await?, Some(refresh_token)))
    }

    pub(super) async fn for_program(&self, fetcher: &GuardedFetcher) -> OAuthResult<IssuedTokens> {
        let scope = self.scopes.join(" ");
        let mut fields = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let mut answer = self.answer(self.send(fetcher, &fields).await?, None);
        answer.tokens.unattended = true;
        Ok(answer)
    }

    async fn send<'b>(
        &'b self,
        fetcher: &GuardedFetcher,
        fields: &[(&'b str, &'b str)],
    ) -> OAuthResult<TokenResponse> {
        let mut fields = fields.to_vec();
        if !self.resource.is_empty() {
            fields.push(("resource", self.resource));
        }
        let basic = self.client.identify(&mut fields);
        let FormResponse { status, body } =
            fetcher.form(ENDPOINT_LABEL, self.endpoint, &fields, basic).await?;
        let origin = || self.endpoint.origin().ascii_serialization();
        match status {
            200 | 201 => {}
            // Rate limits and timeouts are temporary.
            400..=499 if !matches!(status, 408 | 429) => {
                let error = error_code(&body);
                return Err(OAuthError::TokenRefused { issuer: self.issuer.to_owned(), error });
            }
            status => {
                return Err(OAuthError::Status { what: ENDPOINT_LABEL, origin: origin(), status });
            }
        }
        let granted: TokenResponse = parse(ENDPOINT_LABEL, self.endpoint, &body)?;
        let bad = |reason: &str| OAuthError::BadAnswer {
            what: ENDPOINT_LABEL,
            origin: origin(),
            reason: reason.to_owned(),
        };
        let kind = granted.token_type.as_deref().unwrap_or("bearer");
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(bad("its token is not of type `Bearer`"));
        }
        let sendable = |letter: char| letter.is_ascii_graphic();
        if granted.access_token.is_empty() || !granted.access_token.chars().all(sendable) {
            return Err(bad("its token cannot be sent in a header"));
        }
        Ok(granted)
    }

    fn answer(&self, granted: TokenResponse, old_refresh: Option<&Secret>) -> IssuedTokens {
        let scopes = match granted.scope {
            Some(scope) => scope.split_whitespace().map(ToOwned::to_owned).collect(),
            None => self.scopes.to_vec(),
        };
        let refresh_token = granted.refresh_token.filter(|token| !token.is_empty());
        let tokens = StoredTokens {
            issuer: self.issuer.to_owned(),
            resource: self.resource.to_owned(),
            token_endpoint: self.endpoint.to_string(),
            client: self.client.clone(),
            access_token: Secret::new(granted.access_token),
            refresh_token: refresh_token.map(Secret::new).or_else(|| old_refresh.cloned()),
            expires_at: granted
                .expires_in
                .and_then(|value| seconds(&value))
                .map(|lasts| unix_seconds().saturating_add(lasts)),
            scopes,
            obtained_at: unix_seconds(),
            subject: None,
            unattended: false,
            kind: None,
            asked_scopes: None,
            revocation_endpoint: None,
            keys_url: None,
        };
        IssuedTokens { tokens, id_token: granted.id_token }
    }
}

/// Some servers send the number as a string.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// In seconds. The refusal of a younger token has another reason than expiry.
const FRESH_TOKEN_SECONDS: u64 = 10;

impl SignIn {
    /// Renews the tokens regardless of their age.
    pub async fn renew(self: &Arc<Self>) -> OAuthResult<SignInStatus> {
        let tokens = self.current().ok_or(OAuthError::NotSignedIn)?;
        self.renew_in_background(tokens).await?;
        self.status()
    }

    pub(super) async fn try_renewing(
        self: &Arc<Self>,
        tokens: &StoredTokens,
    ) -> Result<(), SignInRefusal> {
        let young = unix_seconds().saturating_sub(tokens.obtained_at) < FRESH_TOKEN_SECONDS;
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
    ) -> OAuthResult<StoredTokens> {
        let this = Arc::clone(self);
        let renewal = tokio::spawn(async move { this.renew_if_stale(&stale).await });
        renewal.await.unwrap_or_else(|error| Err(OAuthError::Client { reason: error.to_string() }))
    }

    async fn renew_if_stale(self: &Arc<Self>, stale: &StoredTokens) -> OAuthResult<StoredTokens> {
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

    async fn request_tokens(&self, tokens: &StoredTokens) -> OAuthResult<StoredTokens> {
        let fetcher = GuardedFetcher::new(&self.clients, &self.settings.server).await?;
        let endpoint: Url = fetcher.url("the token endpoint", &tokens.token_endpoint)?;
        let request = TokenRequest {
            issuer: &tokens.issuer,
            endpoint: &endpoint,
            client: &tokens.client,
            resource: &tokens.resource,
            scopes: &tokens.scopes,
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
    ) -> OAuthResult<()> {
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
            now: unix_seconds(),
        };
        verify(fetcher, keys.as_ref(), id_token, &expected).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_numbers_however_written() {
        assert_eq!(seconds(&serde_json::json!(60)), Some(60));
        assert_eq!(seconds(&serde_json::json!("60")), Some(60));
        assert_eq!(seconds(&serde_json::json!(-1)), None);
    }
}
