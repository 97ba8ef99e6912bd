//! Requests to a token endpoint, and what its answer is worth.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    OAuthError,
    error::plain_code,
    fetch::{Answer, Fetcher, parse},
    record::{Client, ClientMethod, Tokens},
};
use crate::Secret;

const WHAT: &str = "the token endpoint";

/// Where tokens are asked for, by whom, and for what.
pub(super) struct TokenRequest<'a> {
    pub(super) issuer: &'a str,
    /// False when nothing says how the issuer calls itself.
    pub(super) knows_issuer: bool,
    pub(super) endpoint: &'a Url,
    pub(super) client: &'a Client,
    pub(super) resource: &'a str,
    /// What an answer that names no scopes stands for.
    pub(super) scopes: &'a [String],
    pub(super) now: u64,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<Value>,
    scope: Option<String>,
    id_token: Option<String>,
}

#[derive(Deserialize)]
struct Refused {
    error: Option<String>,
}

impl TokenRequest<'_> {
    /// Redeems a code.
    pub(super) async fn redeem(
        &self,
        fetcher: &Fetcher,
        code: &Secret,
        verifier: &Secret,
        redirect_uri: &str,
        identity: bool,
    ) -> Result<Tokens, OAuthError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("code_verifier", verifier.expose()),
            ("redirect_uri", redirect_uri),
        ];
        let granted = self.ask(fetcher, &fields).await?;
        let subject = match (&granted.id_token, identity) {
            (Some(token), true) => Some(self.subject(token)?),
            (None, true) => return Err(OAuthError::IdToken { reason: "there is none" }),
            (_, false) => None,
        };
        Ok(Tokens { subject, ..self.tokens(granted, None) })
    }

    /// Renews tokens. A server that sends no new refresh token lets the old one go on.
    pub(super) async fn renew(
        &self,
        fetcher: &Fetcher,
        refresh_token: &Secret,
    ) -> Result<Tokens, OAuthError> {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
        let granted = self.ask(fetcher, &fields).await?;
        Ok(self.tokens(granted, Some(refresh_token)))
    }

    /// Signs the program itself in.
    pub(super) async fn for_program(&self, fetcher: &Fetcher) -> Result<Tokens, OAuthError> {
        let scope = self.scopes.join(" ");
        let mut fields = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let granted = self.ask(fetcher, &fields).await?;
        Ok(Tokens { unattended: true, ..self.tokens(granted, None) })
    }

    async fn ask(&self, fetcher: &Fetcher, fields: &[(&str, &str)]) -> Result<Granted, OAuthError> {
        let Client { id, secret, method, .. } = self.client;
        let mut fields = fields.to_vec();
        fields.push(("resource", self.resource));
        let mut basic = None;
        match (method, secret) {
            (ClientMethod::ClientSecretBasic, Some(secret)) => basic = Some((id.as_str(), secret)),
            (ClientMethod::ClientSecretPost, Some(secret)) => {
                fields.extend([("client_id", id.as_str()), ("client_secret", secret.expose())]);
            }
            _ => fields.push(("client_id", id)),
        }
        let Answer { status, body } = fetcher.form(WHAT, self.endpoint, &fields, basic).await?;
        let origin = || self.endpoint.origin().ascii_serialization();
        match status {
            200 | 201 => {}
            // Too many requests is not a refusal for good.
            400..=499 if !matches!(status, 408 | 429) => {
                let refused: Option<Refused> = serde_json::from_slice(&body).ok();
                let error = plain_code(refused.and_then(|refused| refused.error));
                return Err(OAuthError::TokenRefused { issuer: self.issuer.to_owned(), error });
            }
            status => return Err(OAuthError::Status { what: WHAT, origin: origin(), status }),
        }
        let granted: Granted = parse(WHAT, self.endpoint, &body)?;
        let bad = |reason: &str| OAuthError::BadAnswer {
            what: WHAT,
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

    fn tokens(&self, granted: Granted, old_refresh: Option<&Secret>) -> Tokens {
        let scopes = match granted.scope {
            Some(scope) => scope.split_whitespace().map(ToOwned::to_owned).collect(),
            None => self.scopes.to_vec(),
        };
        let refresh_token = granted.refresh_token.filter(|token| !token.is_empty());
        Tokens {
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
        }
    }

    /// Who signed in. The token came over TLS from its issuer itself, which stands in for its signature.
    fn subject(&self, id_token: &str) -> Result<String, OAuthError> {
        #[derive(Deserialize)]
        struct Claims {
            iss: Option<String>,
            aud: Option<Value>,
            sub: Option<String>,
        }
        let wrong = |reason: &'static str| OAuthError::IdToken { reason };
        let claims = id_token.split('.').nth(1).ok_or(wrong("it is not a JWT"))?;
        let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| wrong("it is not a JWT"))?;
        let claims: Claims =
            serde_json::from_slice(&claims).map_err(|_| wrong("it is not a JWT"))?;
        if self.knows_issuer && claims.iss.as_deref() != Some(self.issuer) {
            return Err(wrong("it was issued by somebody else"));
        }
        let meant = match &claims.aud {
            Some(Value::String(one)) => *one == self.client.id,
            Some(Value::Array(all)) => all.iter().any(|one| one == self.client.id.as_str()),
            _ => false,
        };
        if !meant {
            return Err(wrong("it is meant for another program"));
        }
        claims.sub.filter(|sub| !sub.is_empty()).ok_or(wrong("it names nobody"))
    }
}

/// Some servers write the number as a text.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(claims: &Value) -> Result<String, OAuthError> {
        let client = Client {
            id: "c-1".to_owned(),
            secret: None,
            method: ClientMethod::None,
            redirect_uri: None,
            secret_expires_at: None,
        };
        let endpoint = Url::parse("https://sso.example.com/token").unwrap();
        let request = TokenRequest {
            issuer: "https://sso.example.com",
            knows_issuer: true,
            endpoint: &endpoint,
            client: &client,
            resource: "https://a.example",
            scopes: &[],
            now: 0,
        };
        let body = URL_SAFE_NO_PAD.encode(claims.to_string());
        request.subject(&format!("e30.{body}.x"))
    }

    #[test]
    fn an_identity_is_for_us_and_from_whom_we_asked() {
        let issuer = "https://sso.example.com";
        let good = serde_json::json!({"iss": issuer, "aud": ["x", "c-1"], "sub": "ann"});
        assert_eq!(subject(&good), Ok("ann".to_owned()));
        for (field, value, reason) in [
            ("iss", "https://sso.example.com/", "it was issued by somebody else"),
            ("aud", "c-2", "it is meant for another program"),
            ("sub", "", "it names nobody"),
        ] {
            let mut claims = good.clone();
            claims[field] = value.into();
            assert_eq!(subject(&claims), Err(OAuthError::IdToken { reason }));
        }
        assert!(subject(&Value::Null).is_err());
    }

    #[test]
    fn lifetimes_are_numbers_however_written() {
        assert_eq!(seconds(&serde_json::json!(60)), Some(60));
        assert_eq!(seconds(&serde_json::json!("60")), Some(60));
        assert_eq!(seconds(&serde_json::json!(-1)), None);
    }
}
