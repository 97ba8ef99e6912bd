//! One browser sign-in, from the authorization URL to the tokens.

use std::time::Duration;

use tokio::sync::mpsc;
use url::Url;

use super::{
    OAuthError, SignInStatus,
    error::plain_code,
    redirect::{RedirectListener, RedirectParams},
    sign_in_attempt::SignInAttempt,
};
use crate::{
    LoginKind, Secret,
    pkce::{PkceVerifier, random},
};

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
    ) -> Result<Self, OAuthError> {
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
        patience: Duration,
        mut pasted: mpsc::Receiver<String>,
        complain: impl Fn(&'static str),
    ) -> Result<SignInStatus, OAuthError> {
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
        let waited = tokio::time::timeout(patience, come_back).await;
        let redirected =
            waited.map_err(|_| OAuthError::TimedOut { seconds: patience.as_secs() })?;
        let code = self.accept(redirected)?;
        let Self { started, listener, nonce, pkce, .. } = self;
        let request = started.request();
        let answer = request.redeem(&started.fetcher, &code, &pkce.verifier, &listener.uri).await;
        started.complete(answer, nonce.as_deref()).await
    }

    /// Accepts a response only from the expected issuer; before that check not even its error is shown.
    fn accept(&self, redirected: RedirectParams) -> Result<Secret, OAuthError> {
        let plan = &self.started.plan;
        let promised = plan
            .metadata
            .as_ref()
            .is_some_and(|metadata| metadata.authorization_response_iss_parameter_supported);
        let believed = match &redirected.issuer {
            Some(issuer) => !plan.knows_issuer || *issuer == plan.issuer,
            None => !promised,
        };
        if !believed {
            return Err(OAuthError::WrongResponder { issuer: plan.issuer.clone() });
        }
        if redirected.error.is_some() {
            return Err(OAuthError::AuthorizationRefused { error: plain_code(redirected.error) });
        }
        redirected.code.filter(|code| !code.expose().is_empty()).ok_or(OAuthError::NoCode)
    }
}

impl std::fmt::Debug for BrowserLogin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let issuer = &self.started.plan.issuer;
        formatter.debug_struct("Login").field("issuer", issuer).finish_non_exhaustive()
    }
}
