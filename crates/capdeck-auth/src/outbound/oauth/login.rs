//! One sign-in by a person, from the page to open to the tokens that come of it.

use std::{sync::Arc, time::Duration};

use url::Url;

use super::{
    OAuthError, SignIn, SignInStatus,
    error::plain_code,
    fetch::Fetcher,
    pkce::{Pkce, random},
    plan::{Plan, discover},
    record::{Client, Record, Tokens},
    redirect::{RedirectListener, Redirected},
    registration::identify,
    scopes::select,
    server_metadata::ServerMetadata,
    sign_in::now,
    token::TokenRequest,
};
use crate::{LoginKind, Secret};

/// How a sign-in goes on after its start.
#[derive(Debug)]
pub enum Begun {
    /// A person has to open a page.
    Browser(Box<Login>),
    /// The program could sign in for itself.
    Done(SignInStatus),
}

/// A sign-in that waits for the person. Dropping it gives it up.
pub struct Login {
    /// The page to open.
    pub authorization_url: Url,
    sign_in: Arc<SignIn>,
    fetcher: Fetcher,
    plan: Plan,
    client: Client,
    scopes: Vec<String>,
    listener: RedirectListener,
    state: String,
    pkce: Pkce,
}

impl SignIn {
    /// Finds out where to sign in and as whom, and starts to listen for the browser. `extra` scopes are asked for too.
    pub async fn begin(self: &Arc<Self>, extra: &[String]) -> Result<Begun, OAuthError> {
        let settings = &self.settings;
        self.entry.check()?;
        let fetcher = Fetcher::new(&self.clients, &settings.server).await?;
        // An unreadable file is no reason not to sign in: it is replaced.
        let mut record = self.entry.load().ok().flatten().unwrap_or_default();
        let challenge = record.challenge.clone();
        let plan = discover(&fetcher, settings, challenge.as_ref()).await?;
        let earlier = record.tokens.as_ref().filter(|tokens| tokens.issuer == plan.issuer);
        let earlier = earlier.map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        let scopes = select(settings, challenge.as_ref(), &plan, &earlier, extra);

        if plan.metadata.as_ref().is_some_and(ServerMetadata::only_for_programs) {
            if settings.client_id.is_none() {
                return Err(OAuthError::NoRegistration { issuer: plan.issuer });
            }
            let client = identify(&fetcher, settings, &plan, None, &mut record, now()).await?;
            let tokens = request(&plan, &client, &scopes).for_program(&fetcher).await?;
            return self.keep(tokens).await.map(Begun::Done);
        }
        let Some(endpoint) = &plan.authorization_endpoint else {
            return Err(OAuthError::NoMetadata { issuer: plan.issuer });
        };
        let registered = record.registrations.get(&plan.issuer);
        let listener = RedirectListener::open(
            settings.redirect_uri.as_deref(),
            registered.and_then(|client| client.redirect_uri.as_deref()),
        )
        .await?;
        let before = record.registrations.clone();
        let redirect_uri = Some(listener.uri.as_str());
        let client = identify(&fetcher, settings, &plan, redirect_uri, &mut record, now()).await?;
        if record.registrations != before {
            // Kept at once, so that a sign-in nobody finishes does not register again and again.
            let registrations = record.registrations;
            self.change(move |kept| kept.registrations = registrations).await?;
        }
        let (state, pkce) = (random::<24>()?, Pkce::new()?);
        let mut authorization_url = endpoint.clone();
        {
            let mut query = authorization_url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.id)
                .append_pair("redirect_uri", &listener.uri)
                .append_pair("state", &state)
                .append_pair("code_challenge", &pkce.challenge())
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &plan.resource);
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.join(" "));
            }
            // OpenID Connect gives no refresh token without asking the person for it.
            let more = settings.authorization_parameters;
            query.extend_pairs(more);
            let has_prompt = more.iter().any(|(name, _)| *name == "prompt");
            if !has_prompt && scopes.iter().any(|scope| scope == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        Ok(Begun::Browser(Box::new(Login {
            authorization_url,
            sign_in: Arc::clone(self),
            fetcher,
            plan,
            client,
            scopes,
            listener,
            state,
            pkce,
        })))
    }

    async fn keep(self: &Arc<Self>, tokens: Tokens) -> Result<SignInStatus, OAuthError> {
        self.change(move |record: &mut Record| {
            record.tokens = Some(tokens);
            record.challenge = None;
        })
        .await?;
        self.status()
    }
}

impl Login {
    /// Waits for the person, at most this long, and turns their consent into tokens that are kept.
    pub async fn finish(self, patience: Duration) -> Result<SignInStatus, OAuthError> {
        let waited = tokio::time::timeout(patience, self.listener.wait(&self.state)).await;
        let redirected =
            waited.map_err(|_| OAuthError::TimedOut { seconds: patience.as_secs() })?;
        let code = self.accept(redirected)?;
        let identity = self.sign_in.settings.kind == LoginKind::Oidc;
        let request = request(&self.plan, &self.client, &self.scopes);
        let tokens = request
            .redeem(&self.fetcher, &code, &self.pkce.verifier, &self.listener.uri, identity)
            .await;
        if let Err(OAuthError::TokenRefused { error: Some(error), .. }) = &tokens
            && error == "invalid_client"
        {
            // The server has forgotten this registration; the next sign-in makes a new one.
            let issuer = self.plan.issuer.clone();
            self.sign_in.change(move |record| drop(record.registrations.remove(&issuer))).await?;
        }
        self.sign_in.keep(tokens?).await
    }

    /// Believes an answer only when it comes from the server that was asked; until then not even its error is shown.
    fn accept(&self, redirected: Redirected) -> Result<Secret, OAuthError> {
        let promised = self
            .plan
            .metadata
            .as_ref()
            .is_some_and(|metadata| metadata.authorization_response_iss_parameter_supported);
        let believed = match &redirected.issuer {
            Some(issuer) => !self.plan.knows_issuer || *issuer == self.plan.issuer,
            None => !promised,
        };
        if !believed {
            return Err(OAuthError::WrongResponder { issuer: self.plan.issuer.clone() });
        }
        if redirected.error.is_some() {
            return Err(OAuthError::AuthorizationRefused { error: plain_code(redirected.error) });
        }
        redirected.code.filter(|code| !code.expose().is_empty()).ok_or(OAuthError::NoCode)
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Login").field("issuer", &self.plan.issuer).finish_non_exhaustive()
    }
}

fn request<'a>(plan: &'a Plan, client: &'a Client, scopes: &'a [String]) -> TokenRequest<'a> {
    TokenRequest {
        issuer: &plan.issuer,
        knows_issuer: plan.knows_issuer,
        endpoint: &plan.token_endpoint,
        client,
        resource: &plan.resource,
        scopes,
        now: now(),
    }
}
