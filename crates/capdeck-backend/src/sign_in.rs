//! Sign-ins of capabilities: from a definition to requests that carry a token, and from refusals to what to do.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::{
    LoginKind, OAuthError, OAuthSettings, OutboundError, Secret, SecretScrubber, SignIn,
    SignInRefusal, StaticCredentials,
};
use capdeck_definition::{
    Backend, BackendAuth, CapabilityId, Definition, GoogleDiscoveryApi, HttpBlock, McpServer,
};
use capdeck_mcp::client::CredentialProvider;
use reqwest::{
    Response,
    header::{HeaderValue, WWW_AUTHENTICATE},
};
use serde_json::json;
use url::Url;

use crate::{
    CallError, Connector, ErrorCode, connect::ResolvedBackend, connector_context::ConnectorContext,
    google_discovery, openapi,
};

const GOOGLE: &str = "https://accounts.google.com";

/// Without these Google gives no refresh token, and the person has to sign in again every hour.
const GOOGLE_PARAMETERS: &[(&str, &str)] = &[("access_type", "offline"), ("prompt", "consent")];

const MAX_RESENDS: u32 = 2;

#[derive(Debug, Clone)]
pub(crate) struct CapabilitySignIn {
    id: CapabilityId,
    sign_in: Arc<SignIn>,
    /// False when the definition does not mention signing in, and the server may want a key instead.
    is_declared: bool,
}

impl Connector {
    /// The sign-in of a capability, for the person's own commands. It asks for the scopes the definition names, or else
    /// for these, which its description names.
    pub fn sign_in(
        &self,
        definition: &Definition,
        described_scopes: &[String],
    ) -> Result<Arc<SignIn>, CallError> {
        let found = match &definition.backend {
            Backend::Mcp(server) => {
                let prepared = self.prepare(definition, server)?;
                of_server(&prepared.id, &prepared.block, &prepared.surroundings)?
            }
            Backend::Http(api) => {
                let prepared = self.prepare(definition, api)?;
                let url = parse(&prepared.id, "baseUrl", &prepared.block.base_url)?;
                prepared.sign_in(url)
            }
            Backend::GoogleDiscovery(api) => {
                let prepared = self.prepare(definition, api)?;
                google_discovery::server(&prepared.block)?
                    .and_then(|server| of_google_api(&prepared, server, described_scopes))
            }
            Backend::GraphQl(api) => {
                let prepared = self.prepare(definition, api)?;
                let url = parse(&prepared.id, "endpointUrl", &prepared.block.endpoint_url)?;
                prepared.sign_in(url)
            }
            Backend::OpenApi(api) => {
                let prepared = self.prepare(definition, api)?;
                openapi::resource(&prepared.block).and_then(|url| prepared.sign_in(url))
            }
            _ => None,
        };
        let id = &definition.id;
        found.map(|found| found.sign_in).ok_or_else(|| {
            let message = format!("`{id}` is not something to sign in to with a browser");
            CallError::invalid_request(message)
                .hint("that takes a server with a `url` and no `auth` block, or one of type `oauth2` or `oidc`")
        })
    }
}

/// The sign-in of an MCP server. One that declares no `auth` may still ask for a sign-in.
pub(crate) fn of_server(
    id: &CapabilityId,
    server: &McpServer,
    surroundings: &ConnectorContext,
) -> Result<Option<CapabilitySignIn>, CallError> {
    let Some(url) = &server.url else { return Ok(None) };
    let url = parse(id, "url", url)?;
    let settings = match &server.auth {
        None => OAuthSettings::for_server(url),
        Some(auth) => match settings(auth, url) {
            Some(settings) => settings,
            None => return Ok(None),
        },
    };
    Ok(Some(CapabilitySignIn::new(id, settings, surroundings, server.auth.is_some())))
}

/// The sign-in of an API that Google's own documents describe: at Google, for every address.
fn of_google_api(
    prepared: &ResolvedBackend<GoogleDiscoveryApi>,
    server: Url,
    described_scopes: &[String],
) -> Option<CapabilitySignIn> {
    let mut settings = settings(&prepared.block.import.requests.auth, server)?;
    settings.authorization_parameters = GOOGLE_PARAMETERS;
    if settings.scopes.is_empty() && !described_scopes.is_empty() {
        if settings.kind == LoginKind::Oidc {
            settings.scopes.extend(["openid", "profile", "email"].map(str::to_owned));
        }
        settings.scopes.extend_from_slice(described_scopes);
    }
    Some(CapabilitySignIn::new(&prepared.id, settings, &prepared.surroundings, true))
}

impl<T: HttpBlock> ResolvedBackend<T> {
    pub(crate) fn sign_in(&self, server: Url) -> Option<CapabilitySignIn> {
        let settings = settings(&self.block.requests().auth, server)?;
        Some(CapabilitySignIn::new(&self.id, settings, &self.surroundings, true))
    }
}

fn settings(auth: &BackendAuth, server: Url) -> Option<OAuthSettings> {
    let (kind, block) = match auth {
        BackendAuth::OAuth2(block) => (LoginKind::OAuth2, block),
        BackendAuth::Oidc(block) => (LoginKind::Oidc, block),
        BackendAuth::None {} | BackendAuth::Bearer { .. } | BackendAuth::Headers { .. } => {
            return None;
        }
    };
    let block = block.clone();
    let issuer = block.issuer.as_deref();
    let is_google = issuer.is_some_and(|issuer| issuer.trim_end_matches('/') == GOOGLE);
    Some(OAuthSettings {
        authorization_parameters: if is_google { GOOGLE_PARAMETERS } else { &[] },
        server,
        kind,
        authorization_url: block.authorization_url,
        token_url: block.token_url,
        issuer: block.issuer,
        resource_metadata_url: block.resource_metadata_url,
        authorization_server_metadata_url: block.authorization_server_metadata_url,
        openid_configuration_url: block.openid_configuration_url,
        client_metadata_url: block.client_metadata_url,
        client_id: block.client_id,
        client_secret: block.client_secret.map(Secret::new),
        scopes: block.scopes,
        redirect_uri: block.redirect_uri,
    })
}

fn parse(id: &CapabilityId, field: &str, text: &str) -> Result<Url, CallError> {
    Url::parse(text).map_err(|error| {
        CallError::invalid_config(format!("the `{field}` of `{id}` is not one"))
            .detail(error)
            .hint("write it as `https://host/path`")
    })
}

impl CapabilitySignIn {
    fn new(
        id: &CapabilityId,
        settings: OAuthSettings,
        surroundings: &ConnectorContext,
        is_declared: bool,
    ) -> Self {
        let clients = surroundings.guarded_clients.clone();
        let sign_in = SignIn::new(id.as_str(), settings, &surroundings.token_store, clients);
        Self { id: id.clone(), sign_in: Arc::new(sign_in), is_declared }
    }

    /// Sends a request of an API with the token, and again while there is a better one.
    pub(crate) async fn send<Sent: Future<Output = Result<Response, CallError>>>(
        &self,
        send: impl Fn(HeaderValue) -> Sent,
    ) -> Result<Response, CallError> {
        let mut resends = 0;
        loop {
            let Some(sent) = self.authorization().await else {
                return Err(self.to_call_error(&self.sign_in.needed()));
            };
            let response = send(sent.clone()).await?;
            let status = response.status().as_u16();
            if !matches!(status, 401 | 403) {
                return Ok(response);
            }
            let challenge = response.headers().get(WWW_AUTHENTICATE);
            let challenge = challenge.and_then(|value| value.to_str().ok());
            let better = self.refused(status, challenge, Some(&sent)).await;
            if better && resends < MAX_RESENDS {
                resends += 1;
                continue;
            }
            return match self.sign_in.last_refusal() {
                Some(refusal) => Err(self.to_call_error(&refusal)),
                // An API says no for reasons of its own, too; its words pass on.
                None => Ok(response),
            };
        }
    }

    /// Adds to a refused request's error what to do about it. Other errors stay as they are, without our token.
    pub(crate) fn explain(&self, error: CallError) -> CallError {
        let error = error.scrubbed(&SecretScrubber::new(&self.sign_in.secrets()));
        match (error.code, self.sign_in.last_refusal()) {
            (ErrorCode::AuthRequired | ErrorCode::AuthFailed, Some(refusal)) => {
                let worded = self.to_call_error(&refusal);
                match refusal {
                    // What the server said with its refusal may tell more.
                    SignInRefusal::SignInNeeded => CallError { hint: worded.hint, ..error },
                    _ => CallError { detail: Some(error.message), ..worded },
                }
            }
            _ => error,
        }
    }

    /// What the sign-in may do; `None` while there is none.
    pub(crate) fn granted_scopes(&self) -> Option<Vec<String>> {
        self.sign_in.granted_scopes()
    }

    pub(crate) fn missing_scope_error(&self, scope: &str) -> CallError {
        self.to_call_error(&SignInRefusal::RightsMissing { scopes: vec![scope.to_owned()] })
    }

    /// The same scrubber, which also knows the tokens of now.
    pub(crate) fn scrubber<'a>(&self, base: &'a SecretScrubber) -> Cow<'a, SecretScrubber> {
        match self.sign_in.secrets() {
            none if none.is_empty() => Cow::Borrowed(base),
            secrets => Cow::Owned(base.clone().with(&secrets)),
        }
    }

    fn to_call_error(&self, refusal: &SignInRefusal) -> CallError {
        let id = &self.id;
        let needed = |message: String| {
            CallError::new(ErrorCode::AuthRequired, message)
                .hint(format!("run: capdeck auth login {id}"))
        };
        match refusal {
            SignInRefusal::SignInNeeded if self.is_declared => {
                needed(format!("`{id}` asks for a sign-in"))
            }
            SignInRefusal::SignInNeeded => needed(format!("`{id}` asks for a sign-in")).hint(format!(
                "run: capdeck auth login {id} (or, if it takes a key, give its definition an `auth` block)"
            )),
            SignInRefusal::OtherSignIn { reason } => {
                needed(format!("the sign-in to `{id}` is not used: {reason}"))
            }
            SignInRefusal::Unreadable { error } => match (error, error.hint()) {
                // Signing in again would not help: it could not be kept either.
                (OAuthError::Key(_), Some(hint)) => {
                    CallError::new(ErrorCode::AuthFailed, error.to_string()).hint(hint)
                }
                _ => needed(error.to_string()),
            },
            SignInRefusal::SignInOver => needed(format!("the sign-in to `{id}` is over")),
            SignInRefusal::RightsMissing { scopes } => {
                let wanted: Vec<String> =
                    scopes.iter().map(|scope| format!(" --scope {}", quoted(scope))).collect();
                needed(format!("`{id}` asks for more rights: `{}`", scopes.join(" ")))
                    .hint(format!("run: capdeck auth login {id}{}", wanted.concat()))
                    .data(json!({ "scopes": scopes }))
            }
            SignInRefusal::RightsUseless => CallError::new(
                ErrorCode::AuthFailed,
                format!("`{id}` refuses this request although the sign-in has every right it names"),
            )
            .hint("the account itself may lack the right; ask the operator of the service"),
            SignInRefusal::RenewalFailed { error } => CallError::new(
                ErrorCode::AuthFailed,
                format!("the sign-in to `{id}` could not be renewed: {error}"),
            )
            .hint("try again later"),
        }
    }
}

#[async_trait]
impl CredentialProvider for CapabilitySignIn {
    async fn authorization(&self) -> Option<HeaderValue> {
        let token = self.sign_in.token().await?;
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    async fn refused(
        &self,
        status: u16,
        challenge: Option<&str>,
        sent: Option<&HeaderValue>,
    ) -> bool {
        let token = sent.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        self.sign_in.refused(status, challenge, token.map(Secret::new).as_ref()).await
    }
}

impl From<OAuthError> for CallError {
    fn from(error: OAuthError) -> Self {
        let code =
            if error.needs_sign_in() { ErrorCode::AuthRequired } else { ErrorCode::AuthFailed };
        Self { hint: error.hint(), ..Self::new(code, error.to_string()) }
    }
}

/// A scope comes from the server: what a shell would read something into is quoted.
fn quoted(scope: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/@%+,".contains(letter);
    if scope.chars().all(plain) {
        scope.to_owned()
    } else {
        format!("'{}'", scope.replace('\'', r"'\''"))
    }
}

/// The fixed credentials of an `auth` block with resolved references.
pub(crate) fn credentials(auth: &BackendAuth) -> StaticCredentials {
    match auth {
        // The token of a sign-in is asked for with each request instead.
        BackendAuth::None {} | BackendAuth::OAuth2(_) | BackendAuth::Oidc(_) => {
            StaticCredentials::None
        }
        BackendAuth::Bearer { token } => {
            StaticCredentials::Bearer { token: Secret::new(token.as_str()) }
        }
        BackendAuth::Headers { headers } => StaticCredentials::Headers {
            headers: headers
                .iter()
                .map(|(name, value)| (name.clone(), Secret::new(value.as_str())))
                .collect(),
        },
    }
}

impl From<OutboundError> for CallError {
    fn from(error: OutboundError) -> Self {
        let (code, hint) = match &error {
            OutboundError::EmptyToken | OutboundError::EmptyHeader { .. } => {
                (ErrorCode::AuthRequired, "set the variable the `auth` block refers to")
            }
            OutboundError::ForbiddenHeader { .. } => {
                (ErrorCode::ConfigInvalid, "remove it; the transport sets it")
            }
            OutboundError::IllegalValue { .. } => {
                (ErrorCode::ConfigInvalid, "remove line breaks from the value")
            }
        };
        Self::new(code, error.to_string()).hint(hint)
    }
}
