//! Token endpoint requests and the validation of their responses.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    OAuthError,
    error::plain_code,
    fetch::{FormResponse, GuardedFetcher, parse},
    sign_in_record::{ClientRegistration, StoredTokens},
};
use crate::Secret;

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
    pub(super) now: u64,
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

#[derive(Deserialize)]
struct TokenErrorResponse {
    error: Option<String>,
}

impl TokenRequest<'_> {
    pub(super) async fn redeem(
        &self,
        fetcher: &GuardedFetcher,
        code: &Secret,
        verifier: &Secret,
        redirect_uri: &str,
    ) -> Result<IssuedTokens, OAuthError> {
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
    ) -> Result<IssuedTokens, OAuthError> {
        let fields = [("grant_type", DEVICE_GRANT), ("device_code", device_code.expose())];
        Ok(self.answer(self.send(fetcher, &fields).await?, None))
    }

    /// Renews tokens. Without a new refresh token in the response, the old one stays valid.
    pub(super) async fn renew(
        &self,
        fetcher: &GuardedFetcher,
        refresh_token: &Secret,
    ) -> Result<IssuedTokens, OAuthError> {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
        Ok(self.answer(self.send(fetcher, &fields).await?, Some(refresh_token)))
    }

    pub(super) async fn for_program(
        &self,
        fetcher: &GuardedFetcher,
    ) -> Result<IssuedTokens, OAuthError> {
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
    ) -> Result<TokenResponse, OAuthError> {
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
                let refused: Option<TokenErrorResponse> = serde_json::from_slice(&body).ok();
                let error = plain_code(refused.and_then(|refused| refused.error));
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
                .map(|lasts| self.now.saturating_add(lasts)),
            scopes,
            obtained_at: self.now,
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
