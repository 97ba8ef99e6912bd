//! OpenID Connect sign-in of people at this host. Only the identity of the person is used; no token is stored. Profile claims
//! come from the identity token or the user info endpoint: many providers send them only from the endpoint.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_storage::unix_seconds;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    OAuthError, OAuthResult,
    fetch::GuardedFetcher,
    id_token::{ExpectedClaims, verify},
    redirect::RedirectParams,
    server_metadata::{ServerMetadata, find_server},
    store::ClientRegistration,
    token::TokenRequest,
};
use crate::{
    GuardedClients, Secret,
    inbound::ClientAuthMethod,
    pkce::{PkceVerifier, random},
};

const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_PENDING_SIGN_INS: usize = 2000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Exactly as the provider identifies itself.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<Secret>,
    pub timeout: Duration,
}

#[derive(Debug)]
pub struct ProviderSignIn {
    pub settings: ProviderSettings,
    clients: GuardedClients,
    pending: Mutex<HashMap<String, PendingProviderSignIn>>,
}

/// The redirect and the continuation of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSignInRequest {
    pub redirect_uri: String,
    /// The action after the sign-in. It never leaves this process.
    pub then: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRedirect {
    pub url: Url,
    /// Returned by the provider. The same value goes into a cookie, to prove that the same browser comes back.
    pub state: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSignInResult {
    pub identity: ProviderIdentity,
    pub then: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderIdentity {
    pub issuer: String,
    pub subject: String,
    /// Set only when the provider verified the address.
    pub email: Option<String>,
    pub name: Option<String>,
}

struct PendingProviderSignIn {
    nonce: String,
    pkce: PkceVerifier,
    visit: ProviderSignInRequest,
    until: Instant,
}

impl ProviderSettings {
    pub fn new(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: Option<Secret>,
    ) -> Self {
        let (issuer, client_id) = (issuer.into(), client_id.into());
        Self { issuer, client_id, client_secret, timeout: SIGN_IN_TIMEOUT }
    }
}

impl ProviderSignIn {
    /// Creates the service without sending a request.
    pub fn new(settings: ProviderSettings, clients: GuardedClients) -> Self {
        Self { settings, clients, pending: Mutex::default() }
    }

    /// Checks that the provider is reachable and has the expected identity.
    pub async fn check(&self) -> OAuthResult<()> {
        self.find().await.map(drop)
    }

    pub async fn begin(&self, visit: ProviderSignInRequest) -> OAuthResult<ProviderRedirect> {
        let (fetcher, metadata) = self.find().await?;
        let endpoint = endpoint(metadata.authorization_endpoint.as_deref(), &self.settings.issuer)?;
        let mut url = fetcher.url("the authorization endpoint", endpoint)?;
        let (state, nonce, pkce) = (random::<24>()?, random::<24>()?, PkceVerifier::new()?);
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &visit.redirect_uri)
            .append_pair("scope", "openid profile email")
            .append_pair("state", &state)
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &pkce.challenge())
            .append_pair("code_challenge_method", "S256");
        let mut pending = self.pending.lock();
        let now = Instant::now();
        pending.retain(|_, one| now < one.until);
        if pending.len() >= MAX_PENDING_SIGN_INS {
            let reason = "too many sign-ins are in progress".to_owned();
            return Err(OAuthError::Client { reason });
        }
        let until = now + self.settings.timeout;
        pending.insert(state.clone(), PendingProviderSignIn { nonce, pkce, visit, until });
        Ok(ProviderRedirect { url, state })
    }

    /// Finishes a sign-in with the redirect parameters. Each sign-in can be finished once.
    pub async fn finish(&self, redirected: RedirectParams) -> OAuthResult<ProviderSignInResult> {
        let state = redirected.state.as_deref().unwrap_or_default();
        let pending = self.pending.lock().remove(state);
        let pending = pending.filter(|pending| Instant::now() < pending.until);
        let seconds = self.settings.timeout.as_secs();
        let pending = pending.ok_or(OAuthError::TimedOut { seconds })?;
        let (fetcher, metadata) = self.find().await?;
        let issuer = &self.settings.issuer;
        let code = redirected.into_code(issuer, true, Some(&metadata))?;
        let token_endpoint = endpoint(metadata.token_endpoint.as_deref(), issuer)?;
        let request = TokenRequest {
            issuer,
            endpoint: &fetcher.url("the token endpoint", token_endpoint)?,
            client: &self.client(&metadata),
            resource: "",
            scopes: &[],
        };
        let ProviderSignInRequest { redirect_uri, then } = &pending.visit;
        let given = request.redeem(&fetcher, &code, &pending.pkce.verifier, redirect_uri).await?;
        let id_token = given.id_token.ok_or(OAuthError::IdToken { reason: "there is none" })?;
        let keys = metadata.jwks_uri.as_deref();
        let keys = keys.map(|keys| fetcher.url("the issuer's keys", keys)).transpose()?;
        let expected = ExpectedClaims {
            issuer,
            knows_issuer: true,
            client_id: &self.settings.client_id,
            nonce: Some(&pending.nonce),
            subject: None,
            access_token: &given.tokens.access_token,
            now: unix_seconds(),
        };
        let subject = verify(&fetcher, keys.as_ref(), &id_token, &expected).await?;
        let userinfo = metadata.userinfo_endpoint.as_deref();
        let userinfo = userinfo.map(|at| fetcher.url("the user info", at)).transpose()?;
        let mut profile = ProfileClaims::of_token(&id_token);
        if let (true, Some(place)) = (profile.lacks_address(), &userinfo) {
            let access_token = &given.tokens.access_token;
            profile.complete(ProfileClaims::fetch(&fetcher, place, access_token, &subject).await?);
        }
        let (email, name) = profile.into_parts();
        let identity = ProviderIdentity { issuer: issuer.clone(), subject, email, name };
        Ok(ProviderSignInResult { identity, then: then.clone() })
    }

    async fn find(&self) -> OAuthResult<(GuardedFetcher, ServerMetadata)> {
        let issuer = &self.settings.issuer;
        let what = "the sign-in provider";
        let url = Url::parse(issuer)
            .map_err(|_| OAuthError::NotAUrl { what, text: issuer.chars().take(80).collect() })?;
        let fetcher = GuardedFetcher::new(&self.clients, &url).await?;
        let place = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let found = find_server(&fetcher, issuer, &[&place]).await?;
        let metadata = found.ok_or_else(|| OAuthError::NoMetadata { issuer: issuer.clone() })?;
        // Many providers support PKCE without saying so. Only an explicit list without S256 is an error.
        if metadata.code_challenge_methods_supported.is_some() && !metadata.has_pkce() {
            return Err(OAuthError::NoPkce { issuer: issuer.clone() });
        }
        Ok((fetcher, metadata))
    }

    fn client(&self, metadata: &ServerMetadata) -> ClientRegistration {
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
        let has = |wanted: &str| methods.unwrap_or_default().iter().any(|method| method == wanted);
        let method = match &self.settings.client_secret {
            None => ClientAuthMethod::None,
            // The default of the standard is HTTP Basic.
            Some(_) if has("client_secret_post") && !has("client_secret_basic") => {
                ClientAuthMethod::ClientSecretPost
            }
            Some(_) => ClientAuthMethod::ClientSecretBasic,
        };
        let ProviderSettings { client_id, client_secret, .. } = &self.settings;
        ClientRegistration::new(client_id, client_secret.clone(), method)
    }
}

impl std::fmt::Debug for PendingProviderSignIn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PendingProviderSignIn")
    }
}

fn endpoint<'a>(named: Option<&'a str>, issuer: &str) -> OAuthResult<&'a str> {
    named.ok_or_else(|| OAuthError::NoMetadata { issuer: issuer.to_owned() })
}

const ENDPOINT_LABEL: &str = "the user info";

/// The profile claims. Unreadable claims are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ProfileClaims {
    sub: Option<Value>,
    email: Option<Value>,
    email_verified: Option<Value>,
    name: Option<Value>,
}

impl ProfileClaims {
    pub(super) fn of_token(id_token: &str) -> Self {
        let claims = id_token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default()
    }

    pub(super) async fn fetch(
        fetcher: &GuardedFetcher,
        place: &Url,
        access_token: &Secret,
        subject: &str,
    ) -> OAuthResult<Self> {
        let found = fetcher.document_for::<Self>(ENDPOINT_LABEL, place, access_token).await?;
        let Some(found) = found else { return Ok(Self::default()) };
        if found.sub.as_ref().and_then(Value::as_str) != Some(subject) {
            let (origin, reason) =
                (place.origin().ascii_serialization(), "it is about another person");
            return Err(OAuthError::BadAnswer {
                what: ENDPOINT_LABEL,
                origin,
                reason: reason.to_owned(),
            });
        }
        Ok(found)
    }

    pub(super) fn lacks_address(&self) -> bool {
        self.email.is_none()
    }

    /// Fills in missing claims. An address and its verification come from the same source.
    pub(super) fn complete(&mut self, other: Self) {
        if self.email.is_none() {
            (self.email, self.email_verified) = (other.email, other.email_verified);
        }
        self.name = self.name.take().or(other.name);
    }

    pub(super) fn into_parts(self) -> (Option<String>, Option<String>) {
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        };
        // Some providers send a string instead of a boolean.
        let is_verified = match &self.email_verified {
            Some(Value::Bool(is_verified)) => *is_verified,
            Some(Value::String(word)) => word == "true",
            _ => false,
        };
        (text(self.email).filter(|_| is_verified), text(self.name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(value: Value) -> (Option<String>, Option<String>) {
        serde_json::from_value::<ProfileClaims>(value).unwrap().into_parts()
    }

    #[test]
    fn only_an_address_that_was_verified_is_one() {
        let address = || Some("a@b.c".to_owned());
        for verified in [json!(true), json!("true")] {
            assert_eq!(parts(json!({"email": "a@b.c", "email_verified": verified})).0, address());
        }
        for other in [json!(false), json!("false"), json!(1), json!(null), json!({})] {
            assert_eq!(parts(json!({"email": "a@b.c", "email_verified": other})).0, None);
        }
        let odd = json!({"email": ["a@b.c"], "email_verified": true, "name": 7});
        assert_eq!(parts(odd), (None, None));
        assert_eq!(ProfileClaims::of_token("a.b.c").into_parts(), (None, None));
    }

    #[test]
    fn a_word_about_one_address_says_nothing_about_another() {
        let read = |value: Value| serde_json::from_value::<ProfileClaims>(value).unwrap();
        let mut known = read(json!({"email_verified": true}));
        known.complete(read(json!({"email": "a@b.c", "name": "Ann"})));
        assert_eq!(known.into_parts(), (None, Some("Ann".to_owned())));
        let mut known = read(json!({"email": "a@b.c"}));
        known.complete(read(json!({"email": "d@e.f", "email_verified": true})));
        assert_eq!(known.into_parts(), (None, None));
    }
}
