//! OpenID Connect sign-in of people at this host. Only the identity of the person is used; no token is stored.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use url::Url;

use super::{
    OAuthError,
    error::plain_code,
    fetch::GuardedFetcher,
    id_token::{ExpectedClaims, verify},
    profile::ProfileClaims,
    server_metadata::{self, ServerMetadata},
    sign_in::now,
    sign_in_record::{ClientMethod, ClientRegistration},
    token::TokenRequest,
};
use crate::{
    GuardedClients, Secret,
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
    pub patience: Duration,
}

#[derive(Debug)]
pub struct ProviderSignIn {
    settings: ProviderSettings,
    clients: GuardedClients,
    begun: Mutex<HashMap<String, PendingProviderSignIn>>,
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderCallback {
    pub state: String,
    pub code: Option<Secret>,
    pub issuer: Option<String>,
    pub error: Option<String>,
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
        Self { issuer, client_id, client_secret, patience: SIGN_IN_TIMEOUT }
    }
}

impl ProviderSignIn {
    /// Creates the service without sending a request.
    pub fn new(settings: ProviderSettings, clients: GuardedClients) -> Self {
        Self { settings, clients, begun: Mutex::default() }
    }

    /// Checks that the provider is reachable and has the expected identity.
    pub async fn check(&self) -> Result<(), OAuthError> {
        self.find().await.map(drop)
    }

    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    pub fn patience(&self) -> Duration {
        self.settings.patience
    }

    pub async fn begin(
        &self,
        visit: ProviderSignInRequest,
    ) -> Result<ProviderRedirect, OAuthError> {
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
        let mut begun = self.begun.lock();
        let now = Instant::now();
        begun.retain(|_, one| now < one.until);
        if begun.len() >= MAX_PENDING_SIGN_INS {
            let reason = "too many sign-ins are in progress".to_owned();
            return Err(OAuthError::Client { reason });
        }
        let until = now + self.settings.patience;
        begun.insert(state.clone(), PendingProviderSignIn { nonce, pkce, visit, until });
        Ok(ProviderRedirect { url, state })
    }

    /// Finishes a sign-in with the redirect parameters. Each sign-in can be finished once.
    pub async fn finish(
        &self,
        answer: ProviderCallback,
    ) -> Result<ProviderSignInResult, OAuthError> {
        let begun = self.begun.lock().remove(&answer.state);
        let begun = begun.filter(|begun| Instant::now() < begun.until);
        let seconds = self.settings.patience.as_secs();
        let begun = begun.ok_or(OAuthError::TimedOut { seconds })?;
        let (fetcher, metadata) = self.find().await?;
        let issuer = &self.settings.issuer;
        let is_theirs = match &answer.issuer {
            Some(named) => named == issuer,
            None => !metadata.authorization_response_iss_parameter_supported,
        };
        if !is_theirs {
            return Err(OAuthError::WrongResponder { issuer: issuer.clone() });
        }
        if answer.error.is_some() {
            return Err(OAuthError::AuthorizationRefused { error: plain_code(answer.error) });
        }
        let code =
            answer.code.filter(|code| !code.expose().is_empty()).ok_or(OAuthError::NoCode)?;
        let token_endpoint = endpoint(metadata.token_endpoint.as_deref(), issuer)?;
        let request = TokenRequest {
            issuer,
            endpoint: &fetcher.url("the token endpoint", token_endpoint)?,
            client: &self.client(&metadata),
            resource: "",
            scopes: &[],
            now: now(),
        };
        let ProviderSignInRequest { redirect_uri, then } = &begun.visit;
        let given = request.redeem(&fetcher, &code, &begun.pkce.verifier, redirect_uri).await?;
        let id_token = given.id_token.ok_or(OAuthError::IdToken { reason: "there is none" })?;
        let keys = metadata.jwks_uri.as_deref();
        let keys = keys.map(|keys| fetcher.url("the issuer's keys", keys)).transpose()?;
        let expected = ExpectedClaims {
            issuer,
            knows_issuer: true,
            client_id: &self.settings.client_id,
            nonce: Some(&begun.nonce),
            subject: None,
            access_token: &given.tokens.access_token,
            now: now(),
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

    async fn find(&self) -> Result<(GuardedFetcher, ServerMetadata), OAuthError> {
        let issuer = &self.settings.issuer;
        let what = "the sign-in provider";
        let url = Url::parse(issuer)
            .map_err(|_| OAuthError::NotAUrl { what, text: issuer.chars().take(80).collect() })?;
        let fetcher = GuardedFetcher::new(&self.clients, &url).await?;
        let place = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let found = server_metadata::find(&fetcher, issuer, &[&place]).await?;
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
            None => ClientMethod::None,
            // The default of the standard is HTTP Basic.
            Some(_) if has("client_secret_post") && !has("client_secret_basic") => {
                ClientMethod::ClientSecretPost
            }
            Some(_) => ClientMethod::ClientSecretBasic,
        };
        ClientRegistration {
            id: self.settings.client_id.clone(),
            secret: self.settings.client_secret.clone(),
            method,
            redirect_uri: None,
            secret_expires_at: None,
        }
    }
}

impl std::fmt::Debug for PendingProviderSignIn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Begun")
    }
}

fn endpoint<'a>(named: Option<&'a str>, issuer: &str) -> Result<&'a str, OAuthError> {
    named.ok_or_else(|| OAuthError::NoMetadata { issuer: issuer.to_owned() })
}
