//! The endpoints of programs: registration (RFC 7591), tokens and revocation.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use capdeck_auth::{
    Secret,
    inbound::{
        ClientMetadata, ClientProof, CodeRedemption, EventCaller, RegistryError, Scopes,
        TokenRefusal, TokenRenewal, TokenRequestError, TokenSet,
    },
};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use serde_json::json;

use super::{OauthForm, form::RepeatedParameter, metadata::no_registry};
use crate::{
    http_state::HttpState,
    transport::http::{ClientAddress, read_form, read_json},
};

struct TokenError {
    error: &'static str,
    description: String,
}

impl TokenError {
    fn new(error: &'static str, description: impl Into<String>) -> Self {
        Self { error, description: description.into() }
    }
}

impl From<TokenError> for Response {
    fn from(error: TokenError) -> Self {
        error.into_response()
    }
}

impl From<RepeatedParameter> for TokenError {
    fn from(repeated: RepeatedParameter) -> Self {
        Self::new("invalid_request", repeated.to_string())
    }
}

/// `POST /oauth/token`.
pub(super) async fn token(
    State(http_state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, form) = read_form(request).await?;
    let registry = http_state.registry().ok_or_else(no_registry)?;
    let grant = TokenGrant::read(&form, &parts.headers)?;
    let known = match &grant {
        TokenGrant::Code(redemption) => registry.tokens().check_redemption(redemption),
        TokenGrant::Refresh(renewal) => registry.tokens().check_renewal(renewal),
    };
    if let Err(refused) = known {
        return Err(refuse_grant(&http_state, &parts, &refused).await);
    }
    let caller = caller(&parts);
    let tokens = match grant {
        TokenGrant::Code(redemption) => registry.tokens().redeem_code(&caller, redemption).await,
        TokenGrant::Refresh(renewal) => registry.tokens().renew(&caller, renewal).await,
    };
    tokens.map(|tokens| granted(&tokens)).map_err(|error| refused(&error))
}

/// `POST /oauth/revoke` (RFC 7009).
pub(super) async fn revoke(
    State(http_state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, form) = read_form(request).await?;
    let registry = http_state.registry().ok_or_else(no_registry)?;
    let token = required(&form, "token")?;
    let client = client_proof(&form, &parts.headers)?;
    if let Err(refused) = registry.tokens().check_client(&client) {
        return Err(refuse_grant(&http_state, &parts, &refused).await);
    }
    let revoked = registry.tokens().revoke(&caller(&parts), client, Secret::new(token)).await;
    revoked.map_err(|error| refused(&error))?;
    Ok(([(header::CACHE_CONTROL, "no-store")], StatusCode::OK).into_response())
}

enum TokenGrant {
    Code(CodeRedemption),
    Refresh(TokenRenewal),
}

impl TokenGrant {
    fn read(form: &OauthForm, headers: &HeaderMap) -> Result<Self, TokenError> {
        let text = |name: &'static str| form.single(name).map(|value| value.map(str::to_owned));
        match form.single("grant_type")? {
            Some("authorization_code") => Ok(Self::Code(CodeRedemption {
                client: client_proof(form, headers)?,
                code: Secret::new(required(form, "code")?),
                verifier: text("code_verifier")?.map(Secret::new),
                redirect_uri: text("redirect_uri")?,
                resource: text("resource")?,
            })),
            Some("refresh_token") => {
                let scopes = form.single("scope")?.map(Scopes::parse).transpose();
                let scopes = scopes
                    .map_err(|unknown| TokenError::new("invalid_scope", unknown.to_string()))?;
                Ok(Self::Refresh(TokenRenewal {
                    client: client_proof(form, headers)?,
                    refresh_token: Secret::new(required(form, "refresh_token")?),
                    scopes,
                    resource: text("resource")?,
                }))
            }
            Some(_) => {
                let advice = "`grant_type` must be `authorization_code` or `refresh_token`";
                Err(TokenError::new("unsupported_grant_type", advice))
            }
            None => Err(TokenError::new("invalid_request", "`grant_type` is missing")),
        }
    }
}

fn required(form: &OauthForm, name: &'static str) -> Result<String, TokenError> {
    let missing = || TokenError::new("invalid_request", format!("`{name}` is missing"));
    form.single(name)?.map(str::to_owned).ok_or_else(missing)
}

/// The client's credentials: in the form or with HTTP Basic, not both.
fn client_proof(form: &OauthForm, headers: &HeaderMap) -> Result<ClientProof, TokenError> {
    let secret = form.single("client_secret")?;
    let Some(sent) = headers.get(header::AUTHORIZATION) else {
        let client_id = required(form, "client_id")?;
        return Ok(ClientProof { client_id, secret: secret.map(Secret::new) });
    };
    let refused =
        || TokenError::new("invalid_client", "the Authorization header is not valid HTTP Basic");
    if secret.is_some() {
        let advice = "the client secret is repeated";
        return Err(TokenError::new("invalid_request", advice));
    }
    let (client_id, password) = basic(sent).ok_or_else(refused)?;
    if form.single("client_id")?.is_some_and(|named| named != client_id) {
        return Err(TokenError::new("invalid_request", "the two client ids differ"));
    }
    Ok(ClientProof { client_id, secret: Some(Secret::new(password)) })
}

/// User and password, each form-encoded (RFC 6749, 2.3.1).
fn basic(sent: &HeaderValue) -> Option<(String, String)> {
    let (scheme, encoded) = sent.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded.trim());
    let text = String::from_utf8(bytes.ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    let decoded = |text: &str| {
        let form = format!("x={text}");
        let value = url::form_urlencoded::parse(form.as_bytes()).next()?.1;
        Some(value.into_owned())
    };
    Some((decoded(user)?, decoded(password)?))
}

fn granted(tokens: &TokenSet) -> Response {
    let left = tokens.expires_at.duration_since(jiff::Timestamp::now()).as_secs().max(0);
    let answer = json!({
        "access_token": tokens.access_token.expose(),
        "token_type": "Bearer",
        "expires_in": left,
        "refresh_token": tokens.refresh_token.expose(),
        "scope": tokens.scopes.to_string(),
    });
    let headers = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
    (headers, Json(answer)).into_response()
}

/// Rejects an invalid secret, code or refresh token. Failures are counted; a burst is recorded once.
async fn refuse_grant(
    http_state: &HttpState,
    parts: &Parts,
    grant: &TokenRequestError,
) -> Response {
    let address = parts.extensions.get().copied();
    let ip = address.map(|address: ClientAddress| address.ip);
    let attempt = http_state.failures.record(ip, grant.class);
    http_state.record_failed_credential(address, attempt).await;
    let Some(seconds) = attempt.retry_after else { return refused(&grant.error) };
    let description =
        format!("too many invalid credentials from this address; try again in {seconds} s");
    let mut response = oauth_error(StatusCode::TOO_MANY_REQUESTS, "slow_down", &description);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

fn refused(error: &RegistryError) -> Response {
    match error {
        RegistryError::Token { refusal, reason } => {
            TokenError::new(refusal.as_str(), *reason).into_response()
        }
        RegistryError::Full { .. } => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            oauth_error(status, "temporarily_unavailable", &error.to_string())
        }
        error => {
            tracing::error!(%error, "cannot register a client or issue tokens to it");
            let advice = "cannot write the registry; see the log of the host";
            oauth_error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", advice)
        }
    }
}

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        let is_client = self.error == TokenRefusal::InvalidClient.as_str();
        let status = if is_client { StatusCode::UNAUTHORIZED } else { StatusCode::BAD_REQUEST };
        let mut response = oauth_error(status, self.error, &self.description);
        if is_client {
            let challenge = HeaderValue::from_static("Basic realm=\"capdeck\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// An error response of OAuth (RFC 6749, 5.2).
pub(super) fn oauth_error(status: StatusCode, error: &str, description: &str) -> Response {
    // The description allows only some characters (RFC 6749, 5.2).
    let description: String = description
        .chars()
        .map(|letter| if letter == '"' || letter == '\\' { '\'' } else { letter })
        .filter(|letter| letter.is_ascii() && !letter.is_control())
        .collect();
    let body = json!({ "error": error, "error_description": description });
    let headers = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
    (status, headers, Json(body)).into_response()
}

fn caller(parts: &Parts) -> EventCaller {
    EventCaller::unknown(parts.extensions.get::<ClientAddress>().map(|address| address.ip))
}

/// `POST /oauth/register`.
pub(super) async fn register(
    State(http_state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, metadata): (_, ClientMetadata) =
        read_json(request).await.map_err(|refusal| match refusal.status() {
            StatusCode::BAD_REQUEST => {
                let advice = "the body is not client metadata in JSON";
                oauth_error(StatusCode::BAD_REQUEST, "invalid_client_metadata", advice)
            }
            _ => refusal,
        })?;
    let registry = http_state.registry().ok_or_else(no_registry)?;
    let registered = registry.clients().register(&caller(&parts), metadata).await;
    let registered = registered.map_err(|error| registration_refused(&error))?;
    let client = registered.client;
    let mut answer = json!({
        "client_id": client.id,
        "client_id_issued_at": client.created_at.as_second(),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": client.auth_method.as_str(),
    });
    if let Some(page) = client.client_uri {
        answer["client_uri"] = page.into();
    }
    if let Some(secret) = registered.secret {
        answer["client_secret"] = secret.expose().into();
        answer["client_secret_expires_at"] = 0.into();
    }
    let headers = [(header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::CREATED, headers, Json(answer)).into_response())
}

fn registration_refused(error: &RegistryError) -> Response {
    let code = match error {
        RegistryError::Invalid { what: "redirect_uris", .. } => "invalid_redirect_uri",
        RegistryError::Invalid { .. } => "invalid_client_metadata",
        error => return refused(error),
    };
    oauth_error(StatusCode::BAD_REQUEST, code, &error.to_string())
}
