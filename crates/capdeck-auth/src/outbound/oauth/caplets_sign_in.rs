//! A sign-in of Caplets as a sign-in of ours, so that the person need not sign in again.

use std::fmt;

use capdeck_storage::unix_seconds;
use serde::Deserialize;
use serde_json::Value;

use super::{
    LoginKind, OAuthResult, SignIn, SignInStatus,
    store::{ClientRegistration, StoredTokens},
};
use crate::{Secret, inbound::ClientAuthMethod};

/// A token bundle in the form that Caplets keeps.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapletsSignIn {
    /// The id of its Caplet.
    pub server: String,
    auth_type: Option<LoginKind>,
    access_token: Secret,
    refresh_token: Option<Secret>,
    /// A time as text.
    expires_at: Option<String>,
    scope: Option<String>,
    issuer: Option<String>,
    subject: Option<String>,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    /// What the authorization server said of itself.
    #[serde(default)]
    metadata: Value,
}

/// Why a sign-in cannot be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CapletsSignInError {
    #[error("it has expired")]
    Expired,
    #[error("it does not say where it is renewed")]
    NoTokenEndpoint,
    #[error("it does not say which client it was made for")]
    NoClient,
}

impl SignIn {
    /// Keeps a sign-in of Caplets as the sign-in of this capability. Nothing is requested.
    pub fn adopt(
        &self,
        bundle: &CapletsSignIn,
    ) -> OAuthResult<Result<SignInStatus, CapletsSignInError>> {
        let tokens = match self.tokens_of(bundle) {
            Ok(tokens) => tokens,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut record = self.entry.load()?.unwrap_or_default();
        record.keep(tokens);
        self.entry.save(record)?;
        self.status().map(Ok)
    }

    fn tokens_of(&self, bundle: &CapletsSignIn) -> Result<StoredTokens, CapletsSignInError> {
        let said =
            |name: &str| bundle.metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let expires_at = bundle.expires_at.as_deref().and_then(seconds);
        if bundle.refresh_token.is_none() && expires_at.is_some_and(|at| at <= unix_seconds()) {
            return Err(CapletsSignInError::Expired);
        }
        let settings = &self.settings;
        let endpoint = said("token_endpoint").or_else(|| settings.token_url.clone());
        let token_endpoint = endpoint.ok_or(CapletsSignInError::NoTokenEndpoint)?;
        let id = bundle.client_id.as_ref().or(settings.client_id.as_ref());
        let id = id.ok_or(CapletsSignInError::NoClient)?;
        let secret = bundle.client_secret.clone().or_else(|| settings.client_secret.clone());
        // Caplets sends the secret in the form.
        let method = match secret {
            Some(_) => ClientAuthMethod::ClientSecretPost,
            None => ClientAuthMethod::None,
        };
        let own_issuer = url::Url::parse(&token_endpoint).ok();
        let own_issuer = own_issuer.map(|url| url.origin().ascii_serialization());
        let issuers = [settings.issuer.clone(), bundle.issuer.clone(), said("issuer"), own_issuer];
        let scopes = bundle.scope.as_deref().unwrap_or_default().split_ascii_whitespace();
        Ok(StoredTokens {
            issuer: issuers.into_iter().flatten().next().unwrap_or_default(),
            resource: settings.server.to_string(),
            token_endpoint,
            client: ClientRegistration::new(id, secret, method),
            access_token: bundle.access_token.clone(),
            refresh_token: bundle.refresh_token.clone(),
            expires_at,
            scopes: scopes.map(str::to_owned).collect(),
            obtained_at: unix_seconds(),
            subject: bundle.subject.clone(),
            unattended: false,
            kind: Some(bundle.auth_type.unwrap_or(settings.kind)),
            asked_scopes: None,
            revocation_endpoint: said("revocation_endpoint"),
            keys_url: said("jwks_uri"),
        })
    }
}

impl fmt::Debug for CapletsSignIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CapletsSignIn")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// A time in seconds since 1970.
fn seconds(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use url::Url;

    use super::*;
    use crate::{GuardedClients, KeySettings, OAuthSettings, SignInState, TokenStore, Vault};

    fn sign_in(folder: &tempfile::TempDir) -> SignIn {
        let store = TokenStore::new(&Vault::new(folder.path(), KeySettings::default()));
        let server = Url::parse("https://mcp.example/mcp").unwrap();
        let clients = GuardedClients::new(Arc::new(|_| Err("no requests".to_owned())));
        SignIn::new("linear", OAuthSettings::for_server(server), &store, clients)
    }

    fn adopted(change: Value) -> (tempfile::TempDir, Result<SignInStatus, CapletsSignInError>) {
        let folder = tempfile::tempdir().unwrap();
        let mut bundle = json!({
            "server": "linear", "authType": "oauth2", "accessToken": "canary-access",
            "refreshToken": "canary-refresh", "expiresAt": "2020-01-01T00:00:00.000Z",
            "scope": "read write", "clientId": "c-1", "issuer": "https://sso.example",
            "metadata": { "token_endpoint": "https://sso.example/token" },
        });
        for (key, value) in change.as_object().unwrap() {
            bundle[key] = value.clone();
        }
        let bundle: CapletsSignIn = serde_json::from_value(bundle).unwrap();
        assert!(!format!("{bundle:?}").contains("canary"));
        let status = sign_in(&folder).adopt(&bundle).unwrap();
        (folder, status)
    }

    #[test]
    fn a_sign_in_that_can_be_renewed_is_kept() {
        let (folder, status) = adopted(json!({}));
        let status = status.unwrap();
        assert_eq!(status.state, SignInState::Expired);
        assert!(status.renewable);
        assert_eq!(status.issuer.as_deref(), Some("https://sso.example"));
        assert_eq!(status.scopes, ["read", "write"]);
        assert_eq!(sign_in(&folder).status().unwrap(), status);
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let (_, expired) = adopted(json!({ "refreshToken": null }));
        assert_eq!(expired, Err(CapletsSignInError::Expired));
        let (_, nowhere) = adopted(json!({ "metadata": {} }));
        assert_eq!(nowhere, Err(CapletsSignInError::NoTokenEndpoint));
        let (_, unknown) = adopted(json!({ "clientId": null }));
        assert_eq!(unknown, Err(CapletsSignInError::NoClient));
    }

    #[test]
    fn an_issuer_is_made_up_where_none_is_named() {
        let (_, status) = adopted(json!({ "issuer": null }));
        assert_eq!(status.unwrap().issuer.as_deref(), Some("https://sso.example"));
    }
}
