//! Client identity at an authorization server: configured, published or registered.

use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    OAuthError, OAuthResult, OAuthSettings,
    error::{error_code, plain_code},
    fetch::{GuardedFetcher, parse},
    sign_in_plan::SignInPlan,
    store::{ClientRegistration, SignInRecord},
    token::DEVICE_GRANT,
};
use crate::inbound::ClientAuthMethod;

const ENDPOINT_LABEL: &str = "the registration endpoint";

const CLIENT_NAME: &str = "Capdeck";

#[derive(Debug, Clone, Copy)]
pub(super) enum RegistrationFlow<'a> {
    Redirect(&'a str),
    Device,
}

impl<'a> RegistrationFlow<'a> {
    fn redirect_uri(self) -> Option<&'a str> {
        match self {
            Self::Redirect(uri) => Some(uri),
            Self::Device => None,
        }
    }

    fn grant(self) -> &'static str {
        match self {
            Self::Redirect(_) => "authorization_code",
            Self::Device => DEVICE_GRANT,
        }
    }
}

/// Finds a client identity: configured, published document, earlier registration, or a new one.
///
/// Saves a registration in the record.
pub(super) async fn identify(
    fetcher: &GuardedFetcher,
    settings: &OAuthSettings,
    plan: &SignInPlan,
    flow: RegistrationFlow<'_>,
    record: &mut SignInRecord,
    now: u64,
) -> OAuthResult<ClientRegistration> {
    if let Some(client) = configured(settings, plan)? {
        return Ok(client);
    }
    let registrations = match flow {
        RegistrationFlow::Redirect(_) => &mut record.registrations,
        RegistrationFlow::Device => &mut record.device_registrations,
    };
    if let Some(kept) = registrations.get(&plan.issuer)
        && is_usable(kept, flow, now)
    {
        return Ok(kept.clone());
    }
    let Some(endpoint) = &plan.registration_endpoint else {
        return Err(OAuthError::NoRegistration { issuer: plan.issuer.clone() });
    };
    let client = register(fetcher, plan, endpoint, flow).await?;
    registrations.insert(plan.issuer.clone(), client.clone());
    Ok(client)
}

/// Returns the configured client, or the published document if the server accepts one.
fn configured(
    settings: &OAuthSettings,
    plan: &SignInPlan,
) -> OAuthResult<Option<ClientRegistration>> {
    if let Some(id) = &settings.client_id {
        let secret = settings.client_secret.clone();
        let method = method(plan, secret.is_some())?;
        return Ok(Some(ClientRegistration::new(id, secret, method)));
    }
    let accepts_documents = plan
        .metadata
        .as_ref()
        .is_none_or(|metadata| metadata.client_id_metadata_document_supported);
    let document = settings.client_metadata_url.as_ref().filter(|_| accepts_documents);
    Ok(document.map(|url| ClientRegistration::new(url, None, ClientAuthMethod::None)))
}

fn method(plan: &SignInPlan, has_secret: bool) -> OAuthResult<ClientAuthMethod> {
    let with_secret = |method| if has_secret { method } else { ClientAuthMethod::None };
    let Some(metadata) = &plan.metadata else {
        // Without metadata the secret goes into the form, as most services document.
        return Ok(with_secret(ClientAuthMethod::ClientSecretPost));
    };
    let Some(listed) = &metadata.token_endpoint_auth_methods_supported else {
        return Ok(with_secret(ClientAuthMethod::ClientSecretBasic));
    };
    let preferred = [
        with_secret(ClientAuthMethod::ClientSecretBasic),
        with_secret(ClientAuthMethod::ClientSecretPost),
        ClientAuthMethod::None,
    ];
    let takes = |method: &&ClientAuthMethod| listed.iter().any(|name| name == method.as_str());
    preferred.iter().find(takes).copied().ok_or_else(|| OAuthError::NoClientAuthentication {
        issuer: plan.issuer.clone(),
        methods: listed.join(", "),
    })
}

/// A registration is valid for its redirect address and until its secret expires.
fn is_usable(client: &ClientRegistration, flow: RegistrationFlow<'_>, now: u64) -> bool {
    let expired = client.secret_expires_at.is_some_and(|at| at != 0 && at <= now);
    !expired && client.redirect_uri.as_deref() == flow.redirect_uri()
}

#[derive(Serialize)]
struct RegistrationRequest<'a> {
    client_name: &'static str,
    redirect_uris: Vec<&'a str>,
    grant_types: [&'static str; 2],
    response_types: &'static [&'static str],
    token_endpoint_auth_method: &'static str,
    application_type: &'static str,
}

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<String>,
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<String>,
}

async fn register(
    fetcher: &GuardedFetcher,
    plan: &SignInPlan,
    endpoint: &Url,
    flow: RegistrationFlow<'_>,
) -> OAuthResult<ClientRegistration> {
    // A program on a person's machine cannot protect a secret, so a public client is preferred.
    let wish = method(plan, false).or_else(|_| method(plan, true))?;
    let request = RegistrationRequest {
        client_name: CLIENT_NAME,
        redirect_uris: flow.redirect_uri().into_iter().collect(),
        grant_types: [flow.grant(), "refresh_token"],
        response_types: match flow {
            RegistrationFlow::Redirect(_) => &["code"],
            RegistrationFlow::Device => &[],
        },
        token_endpoint_auth_method: wish.as_str(),
        application_type: "native",
    };
    let answer = fetcher.json(ENDPOINT_LABEL, endpoint, &request).await?;
    if !matches!(answer.status, 200 | 201) {
        let error = error_code(&answer.body);
        return Err(OAuthError::RegistrationRefused { issuer: plan.issuer.clone(), error });
    }
    let registered: RegistrationResponse = parse(ENDPOINT_LABEL, endpoint, &answer.body)?;
    let secret = registered.client_secret.filter(|secret| !secret.is_empty()).map(Into::into);
    let method = match registered.token_endpoint_auth_method.as_deref().map(ClientAuthMethod::parse)
    {
        Some(Some(method)) => method,
        Some(None) => {
            return Err(OAuthError::NoClientAuthentication {
                issuer: plan.issuer.clone(),
                methods: plain_code(registered.token_endpoint_auth_method).unwrap_or_default(),
            });
        }
        None => method(plan, secret.is_some())?,
    };
    Ok(ClientRegistration {
        redirect_uri: flow.redirect_uri().map(ToOwned::to_owned),
        secret_expires_at: registered.client_secret_expires_at,
        ..ClientRegistration::new(&registered.client_id, secret, method)
    })
}
