//! Discovers the authorization server of a server and its endpoints.

use url::Url;

use super::{
    BearerChallenge, LoginKind, OAuthError, OAuthResult, OAuthSettings,
    fetch::{GuardedFetcher, at_path, origin},
    server_metadata::{ServerMetadata, find_resource, find_server, without_query},
};

#[derive(Debug, Clone)]
pub(super) struct SignInPlan {
    /// The resource identifier, exactly as the server writes it.
    pub(super) resource: String,
    pub(super) issuer: String,
    /// False when the identifier is derived from an endpoint.
    pub(super) knows_issuer: bool,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) device_endpoint: Option<Url>,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) keys_url: Option<Url>,
    pub(super) resource_scopes: Vec<String>,
    /// `None` when endpoints are configured or guessed without metadata.
    pub(super) metadata: Option<ServerMetadata>,
}

impl SignInPlan {
    /// A plan with nothing but what every one has.
    pub(super) fn new(resource: String, issuer: String, token_endpoint: Url) -> Self {
        Self {
            resource,
            issuer,
            knows_issuer: true,
            authorization_endpoint: None,
            token_endpoint,
            registration_endpoint: None,
            device_endpoint: None,
            revocation_endpoint: None,
            keys_url: None,
            resource_scopes: Vec::new(),
            metadata: None,
        }
    }
}

pub(super) async fn discover(
    fetcher: &GuardedFetcher,
    settings: &OAuthSettings,
    challenge: Option<&BearerChallenge>,
) -> OAuthResult<SignInPlan> {
    let server = &settings.server;
    if let (Some(authorization), Some(token)) = (&settings.authorization_url, &settings.token_url) {
        let token_endpoint = fetcher.url("`tokenUrl`", token)?;
        let issuer = settings.issuer.clone().unwrap_or_else(|| origin(&token_endpoint));
        return Ok(SignInPlan {
            knows_issuer: settings.issuer.is_some(),
            authorization_endpoint: Some(fetcher.url("`authorizationUrl`", authorization)?),
            keys_url: keys_of_issuer(fetcher, settings).await?,
            ..SignInPlan::new(without_query(server), issuer, token_endpoint)
        });
    }
    let named = settings
        .resource_metadata_url
        .as_deref()
        .or_else(|| challenge.and_then(|challenge| challenge.resource_metadata.as_deref()));
    let described = find_resource(fetcher, server, named).await?;
    let has_description = described.is_some();
    let (resource, servers, resource_scopes) = match described {
        Some(found) => (found.resource, found.authorization_servers, found.scopes_supported),
        None => (without_query(server), Vec::new(), Vec::new()),
    };
    let issuer = match (&settings.issuer, servers.into_iter().next()) {
        (Some(issuer), _) => issuer.clone(),
        (None, Some(first)) => first,
        (None, None) if has_description => return Err(OAuthError::NoAuthorizationServer),
        // Servers older than resource metadata are their own authorization servers.
        (None, None) => origin(server),
    };
    match find_server(fetcher, &issuer, &named_places(settings)).await? {
        Some(metadata) => described_plan(fetcher, resource, resource_scopes, metadata),
        None if has_description || settings.issuer.is_some() => {
            Err(OAuthError::NoMetadata { issuer })
        }
        None => guessed_plan(fetcher, server, resource, issuer),
    }
}

fn named_places(settings: &OAuthSettings) -> Vec<&str> {
    [&settings.authorization_server_metadata_url, &settings.openid_configuration_url]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect()
}

/// With configured endpoints only the issuer's keys are still unknown.
async fn keys_of_issuer(
    fetcher: &GuardedFetcher,
    settings: &OAuthSettings,
) -> OAuthResult<Option<Url>> {
    let Some(issuer) = settings.issuer.as_ref().filter(|_| settings.kind == LoginKind::Oidc) else {
        return Ok(None);
    };
    let metadata = find_server(fetcher, issuer, &named_places(settings)).await?;
    let keys = metadata.and_then(|metadata| metadata.jwks_uri);
    keys.map(|text| fetcher.url("the issuer's keys", &text)).transpose()
}

fn described_plan(
    fetcher: &GuardedFetcher,
    resource: String,
    resource_scopes: Vec<String>,
    metadata: ServerMetadata,
) -> OAuthResult<SignInPlan> {
    let issuer = metadata.issuer.clone();
    let optional = |what: &'static str, text: &Option<String>| {
        text.as_deref().map(|text| fetcher.url(what, text)).transpose()
    };
    let authorization_endpoint =
        optional("the authorization endpoint", &metadata.authorization_endpoint)?;
    let token_endpoint = optional("the token endpoint", &metadata.token_endpoint)?
        .ok_or_else(|| OAuthError::NoMetadata { issuer: issuer.clone() })?;
    let registration_endpoint =
        optional("the registration endpoint", &metadata.registration_endpoint)?;
    let device_endpoint = optional("the device endpoint", &metadata.device_authorization_endpoint)?;
    let revocation_endpoint = optional("the revocation endpoint", &metadata.revocation_endpoint)?;
    let keys_url = optional("the issuer's keys", &metadata.jwks_uri)?;
    let has_browser = authorization_endpoint.is_some() && !metadata.only_for_programs();
    if has_browser && !metadata.has_pkce() {
        return Err(OAuthError::NoPkce { issuer });
    }
    Ok(SignInPlan {
        authorization_endpoint,
        registration_endpoint,
        device_endpoint,
        revocation_endpoint,
        keys_url,
        resource_scopes,
        metadata: Some(metadata),
        ..SignInPlan::new(resource, issuer, token_endpoint)
    })
}

/// The default endpoints of MCP 2025-03-26, at the root of the server.
fn guessed_plan(
    fetcher: &GuardedFetcher,
    server: &Url,
    resource: String,
    issuer: String,
) -> OAuthResult<SignInPlan> {
    let at = |what: &'static str, path: &str| fetcher.url(what, at_path(server, path).as_str());
    Ok(SignInPlan {
        authorization_endpoint: Some(at("the authorization endpoint", "/authorize")?),
        registration_endpoint: Some(at("the registration endpoint", "/register")?),
        ..SignInPlan::new(resource, issuer, at("the token endpoint", "/token")?)
    })
}
