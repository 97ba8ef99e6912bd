//! Starts a sign-in: discovery, client identity, scopes and the flow to use.

use std::sync::Arc;

use super::{
    BrowserLogin, OAuthError, SignIn, SignInStatus,
    device_login::DeviceLogin,
    fetch::GuardedFetcher,
    redirect::RedirectListener,
    registration::{RegistrationFlow, identify},
    scopes::select,
    server_metadata::ServerMetadata,
    sign_in::now,
    sign_in_attempt::SignInAttempt,
    sign_in_plan::{SignInPlan, discover},
    sign_in_record::{ClientRegistration, SignInRecord},
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
        way: LoginMethod,
    ) -> Result<LoginStart, OAuthError> {
        let settings = &self.settings;
        self.entry.check()?;
        let fetcher = GuardedFetcher::new(&self.clients, &settings.server).await?;
        // A sign-in replaces an unreadable file.
        let mut record = self.entry.load().ok().flatten().unwrap_or_default();
        let challenge = record.challenge.clone();
        let plan = discover(&fetcher, settings, challenge.as_ref()).await?;
        let earlier = record.sign_ins.get(&plan.issuer);
        let earlier = earlier.map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        let scopes = select(settings, challenge.as_ref(), &plan, &earlier, extra);

        if plan.metadata.as_ref().is_some_and(ServerMetadata::only_for_programs) {
            if settings.client_id.is_none() {
                return Err(OAuthError::NoRegistration { issuer: plan.issuer });
            }
            let client =
                self.identify(&fetcher, &plan, RegistrationFlow::Device, &mut record).await?;
            let started =
                SignInAttempt { sign_in: Arc::clone(self), fetcher, plan, client, scopes };
            let answer = started.request().for_program(&started.fetcher).await;
            return started.complete(answer, None).await.map(LoginStart::Done);
        }
        let by_code = match way {
            LoginMethod::Browser => plan.authorization_endpoint.is_none(),
            LoginMethod::Device => true,
            LoginMethod::DeviceIfOffered => plan.device_endpoint.is_some(),
        };
        if by_code {
            let Some(endpoint) = plan.device_endpoint.clone() else {
                return Err(OAuthError::NoDeviceFlow { issuer: plan.issuer });
            };
            let client =
                self.identify(&fetcher, &plan, RegistrationFlow::Device, &mut record).await?;
            let started =
                SignInAttempt { sign_in: Arc::clone(self), fetcher, plan, client, scopes };
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
        let way_back = RegistrationFlow::Redirect(&listener.uri);
        let client = self.identify(&fetcher, &plan, way_back, &mut record).await?;
        let started = SignInAttempt { sign_in: Arc::clone(self), fetcher, plan, client, scopes };
        Ok(LoginStart::Browser(Box::new(BrowserLogin::start(started, endpoint, listener)?)))
    }

    /// Saves a new client identity immediately, so that an abandoned sign-in does not register again.
    async fn identify(
        self: &Arc<Self>,
        fetcher: &GuardedFetcher,
        plan: &SignInPlan,
        way_back: RegistrationFlow<'_>,
        record: &mut SignInRecord,
    ) -> Result<ClientRegistration, OAuthError> {
        let before = (record.registrations.clone(), record.device_registrations.clone());
        let client = identify(fetcher, &self.settings, plan, way_back, record, now()).await?;
        let after = (record.registrations.clone(), record.device_registrations.clone());
        if after != before {
            let keep = move |kept: &mut SignInRecord| {
                (kept.registrations, kept.device_registrations) = after;
            };
            self.change(keep).await?;
        }
        Ok(client)
    }
}
