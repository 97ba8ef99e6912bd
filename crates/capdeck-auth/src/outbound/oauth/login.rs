//! Starts a sign-in (discovery, client identity, scopes and the flow to use), waits for the browser, and completes it.

use std::{sync::Arc, time::Duration};

use capdeck_storage::unix_seconds;
use tokio::sync::mpsc;
use url::Url;

use super::{
    OAuthError, OAuthResult, SignIn, SignInStatus,
    device_login::DeviceLogin,
    fetch::GuardedFetcher,
    id_token::{ExpectedClaims, verify},
    redirect::RedirectListener,
    registration::{RegistrationFlow, identify},
    server_metadata::ServerMetadata,
    settings::select,
    sign_in_plan::{SignInPlan, discover},
    store::{ClientRegistration, SignInRecord, StoredTokens},
    token::{IssuedTokens, TokenRequest},
};
use crate::{
    LoginKind,
    pkce::{PkceVerifier, random},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginMethod {
    Browser,
    /// A browser on any device, with a code.
    Device,
    /// A code where the service supports it, otherwise a browser.
    DeviceIfOffered,
}

#[derive(Debug)]
pub enum LoginStart {
    Browser(Box<BrowserLogin>),
    Device(Box<DeviceLogin>),
    /// Client credentials: no person needed.
    Done(SignInStatus),
}

impl SignIn {
    /// Discovers the server and the client identity. Requests the `extra` scopes too.
    pub async fn begin(
        self: &Arc<Self>,
        extra: &[String],
        method: LoginMethod,
    ) -> OAuthResult<LoginStart> {
        let settings = &self.settings;
        self.entry.check()?;
        let fetcher = GuardedFetcher::new(&self.clients, &settings.server).await?;
        // A sign-in replaces an unreadable file.
        let record = self.entry.load().ok().flatten().unwrap_or_default();
        let challenge = record.challenge.clone();
        let plan = discover(&fetcher, settings, challenge.as_ref()).await?;
        let earlier = record.sign_ins.get(&plan.issuer);
        let earlier = earlier.map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        let scopes = select(settings, challenge.as_ref(), &plan, &earlier, extra);

        if plan.metadata.as_ref().is_some_and(ServerMetadata::only_for_programs) {
            if settings.client_id.is_none() {
                return Err(OAuthError::NoRegistration { issuer: plan.issuer });
            }
            let started =
                self.attempt(fetcher, plan, RegistrationFlow::Device, record, scopes).await?;
            let answer = started.request().for_program(&started.fetcher).await;
            return started.complete(answer, None).await.map(LoginStart::Done);
        }
        let by_code = match method {
            LoginMethod::Browser => plan.authorization_endpoint.is_none(),
            LoginMethod::Device => true,
            LoginMethod::DeviceIfOffered => plan.device_endpoint.is_some(),
        };
        if by_code {
            let Some(endpoint) = plan.device_endpoint.clone() else {
                return Err(OAuthError::NoDeviceFlow { issuer: plan.issuer });
            };
            let started =
                self.attempt(fetcher, plan, RegistrationFlow::Device, record, scopes).await?;
            return Ok(LoginStart::Device(Box::new(DeviceLogin::start(started, &endpoint).await?)));
        }
        let Some(endpoint) = plan.authorization_endpoint.clone() else {
            return Err(OAuthError::NoMetadata { issuer: plan.issuer });
        };
        let registered = record.registrations.get(&plan.issuer);
        let listener = RedirectListener::open(
            settings.redirect_uri.as_deref(),
            registered.and_then(|client| client.redirect_uri.as_deref()),
        )
        .await?;
        let flow = RegistrationFlow::Redirect(&listener.uri);
        let started = self.attempt(fetcher, plan, flow, record, scopes).await?;
        Ok(LoginStart::Browser(Box::new(BrowserLogin::start(started, endpoint, listener)?)))
    }

    /// Finds the client identity. Saves a new one immediately, so that an abandoned sign-in does not register again.
    async fn attempt(
        self: &Arc<Self>,
        fetcher: GuardedFetcher,
        plan: SignInPlan,
        flow: RegistrationFlow<'_>,
        mut record: SignInRecord,
        scopes: Vec<String>,
    ) -> OAuthResult<SignInAttempt> {
        let before = (record.registrations.clone(), record.device_registrations.clone());
        let client =
            identify(&fetcher, &self.settings, &plan, flow, &mut record, unix_seconds()).await?;
        let after = (record.registrations, record.device_registrations);
        if after != before {
            let keep = move |kept: &mut SignInRecord| {
                (kept.registrations, kept.device_registrations) = after;
            };
            self.change(keep).await?;
        }
        Ok(SignInAttempt { sign_in: Arc::clone(self), fetcher, plan, client, scopes })
    }
}

/// A pending browser sign-in. Dropping it cancels it.
pub struct BrowserLogin {
    pub authorization_url: Url,
    started: SignInAttempt,
    listener: RedirectListener,
    state: String,
    nonce: Option<String>,
    pkce: PkceVerifier,
}

impl BrowserLogin {
    pub(super) fn start(
        started: SignInAttempt,
        endpoint: Url,
        listener: RedirectListener,
    ) -> OAuthResult<Self> {
        let (state, pkce) = (random::<24>()?, PkceVerifier::new()?);
        let nonce = match started.sign_in.settings.kind {
            LoginKind::OAuth2 => None,
            LoginKind::Oidc => Some(random::<24>()?),
        };
        let mut authorization_url = endpoint;
        {
            let mut query = authorization_url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &started.client.id)
                .append_pair("redirect_uri", &listener.uri)
                .append_pair("state", &state)
                .append_pair("code_challenge", &pkce.challenge())
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &started.plan.resource);
            if let Some(nonce) = &nonce {
                query.append_pair("nonce", nonce);
            }
            if !started.scopes.is_empty() {
                query.append_pair("scope", &started.scopes.join(" "));
            }
            // OpenID Connect issues a refresh token only with explicit consent.
            let more = started.sign_in.settings.authorization_parameters;
            query.extend_pairs(more);
            let has_prompt = more.iter().any(|(name, _)| *name == "prompt");
            if !has_prompt && started.scopes.iter().any(|scope| scope == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        Ok(Self { authorization_url, started, listener, state, nonce, pkce })
    }

    /// Waits for the person until the timeout, then redeems the code and saves the tokens.
    ///
    /// When the browser cannot reach this machine, the person can paste the redirect address. `complain` gets the
    /// error of an invalid address.
    pub async fn finish(
        self,
        timeout: Duration,
        mut pasted: mpsc::Receiver<String>,
        complain: impl Fn(&'static str),
    ) -> OAuthResult<SignInStatus> {
        let paste = async {
            while let Some(text) = pasted.recv().await {
                match self.listener.read(text.trim(), &self.state) {
                    Ok(redirected) => return redirected,
                    Err(reason) => complain(reason),
                }
            }
            // No pasted address will come; the browser may still be redirected.
            std::future::pending().await
        };
        let come_back = async {
            tokio::select! {
                redirected = self.listener.wait(&self.state) => redirected,
                redirected = paste => redirected,
            }
        };
        let waited = tokio::time::timeout(timeout, come_back).await;
        let redirected = waited.map_err(|_| OAuthError::TimedOut { seconds: timeout.as_secs() })?;
        let Self { started, listener, nonce, pkce, .. } = self;
        let SignInPlan { issuer, knows_issuer, metadata, .. } = &started.plan;
        let code = redirected.into_code(issuer, *knows_issuer, metadata.as_ref())?;
        let request = started.request();
        let answer = request.redeem(&started.fetcher, &code, &pkce.verifier, &listener.uri).await;
        started.complete(answer, nonce.as_deref()).await
    }
}

impl std::fmt::Debug for BrowserLogin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let issuer = &self.started.plan.issuer;
        formatter.debug_struct("Login").field("issuer", issuer).finish_non_exhaustive()
    }
}

pub(super) struct SignInAttempt {
    pub(super) sign_in: Arc<SignIn>,
    pub(super) fetcher: GuardedFetcher,
    pub(super) plan: SignInPlan,
    pub(super) client: ClientRegistration,
    pub(super) scopes: Vec<String>,
}

impl SignInAttempt {
    pub(super) fn request(&self) -> TokenRequest<'_> {
        TokenRequest {
            issuer: &self.plan.issuer,
            endpoint: &self.plan.token_endpoint,
            client: &self.client,
            resource: &self.plan.resource,
            scopes: &self.scopes,
        }
    }

    pub(super) async fn complete(
        self,
        answer: OAuthResult<IssuedTokens>,
        nonce: Option<&str>,
    ) -> OAuthResult<SignInStatus> {
        if let Err(OAuthError::TokenRefused { error: Some(error), .. }) = &answer
            && error == "invalid_client"
        {
            // The server no longer knows this registration; the next sign-in makes a new one.
            let issuer = self.plan.issuer.clone();
            let forget = move |record: &mut SignInRecord| record.forget_registrations(&issuer);
            self.sign_in.change(forget).await?;
        }
        let IssuedTokens { tokens, id_token } = answer?;
        let kind = self.sign_in.settings.kind;
        let subject = match (kind, tokens.unattended) {
            // Client credentials have no subject.
            (LoginKind::OAuth2, _) | (LoginKind::Oidc, true) => None,
            (LoginKind::Oidc, false) => {
                let id_token = id_token.ok_or(OAuthError::IdToken { reason: "there is none" })?;
                let expected = ExpectedClaims {
                    issuer: &self.plan.issuer,
                    knows_issuer: self.plan.knows_issuer,
                    client_id: &self.client.id,
                    nonce,
                    subject: None,
                    access_token: &tokens.access_token,
                    now: unix_seconds(),
                };
                let keys = self.plan.keys_url.as_ref();
                Some(verify(&self.fetcher, keys, &id_token, &expected).await?)
            }
        };
        let tokens = StoredTokens {
            subject,
            kind: Some(kind),
            asked_scopes: Some(self.scopes),
            revocation_endpoint: self.plan.revocation_endpoint.map(String::from),
            keys_url: self.plan.keys_url.map(String::from),
            ..tokens
        };
        let keep = move |record: &mut SignInRecord| {
            record.keep(tokens);
            record.challenge = None;
        };
        self.sign_in.change(keep).await?;
        self.sign_in.status()
    }
}
