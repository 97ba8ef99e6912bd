//! A validated authorization request.

use capdeck_auth::inbound::{
    AuthorizationError, AuthorizationRequest, OAuthClient, OAuthScope, PendingAuthorization, Scopes,
};
use serde::{Deserialize, Serialize};

use super::{OauthForm, OauthResource};

/// It is sealed in the form that the person submits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthorizeRequest {
    pub(super) authorization: PendingAuthorization,
    pub(super) state: Option<String>,
    pub(super) scopes: Scopes,
    /// The issuer as the client sees it.
    pub(super) issuer: String,
}

impl AuthorizeRequest {
    /// Validates a request; the redirect URI first, because later errors are sent there.
    pub(super) fn read(
        form: &OauthForm,
        client: &OAuthClient,
        issuer: &str,
    ) -> Result<Self, AuthorizationError> {
        let text = |name: &'static str| form.single(name).ok().flatten().map(str::to_owned);
        let request = AuthorizationRequest {
            response_type: text("response_type"),
            redirect_uri: match form.single("redirect_uri") {
                Ok(given) => given.map(str::to_owned),
                Err(_) => {
                    let reason = "`redirect_uri` is repeated";
                    return Err(AuthorizationError::Page { reason });
                }
            },
            code_challenge: text("code_challenge"),
            code_challenge_method: text("code_challenge_method"),
        };
        let mut authorization = request.check(client)?;
        let redirect_uri = authorization.redirect_uri.clone();
        let send_back = |code, reason| {
            let redirect_uri = redirect_uri.clone();
            AuthorizationError::SendBack { redirect_uri, code, reason }
        };
        for name in [
            "response_type",
            "code_challenge",
            "code_challenge_method",
            "scope",
            "resource",
            "state",
        ] {
            form.single(name)
                .map_err(|repeated| send_back("invalid_request", repeated.to_string()))?;
        }
        for unsupported in ["request", "request_uri"] {
            if form.last_value(unsupported).is_some() {
                let reason = format!("`{unsupported}` is not supported");
                return Err(send_back("request_not_supported", reason));
            }
        }
        let resource = match text("resource") {
            Some(named) => OauthResource::named(&named, issuer).ok_or_else(|| {
                let reason =
                    format!("`resource` must be an endpoint of this host, such as {issuer}/mcp");
                send_back("invalid_target", reason)
            })?,
            None => OauthResource::Deck,
        };
        let scopes: Scopes = match text("scope") {
            // Clients request scopes of other servers, too, such as `openid`. Unknown scopes are ignored.
            Some(named) => named.split(' ').filter_map(OAuthScope::parse).collect(),
            None => resource.first_scopes(),
        };
        if scopes.is_empty() {
            let reason = format!("unknown `scope`; supported scopes: {}", resource.scopes());
            return Err(send_back("invalid_scope", reason));
        }
        authorization.resource = Some(resource.address(issuer));
        Ok(Self { authorization, state: text("state"), scopes, issuer: issuer.to_owned() })
    }

    pub(super) fn resource(&self) -> OauthResource {
        let named = self.authorization.resource.as_deref();
        named
            .and_then(|named| OauthResource::named(named, &self.issuer))
            .unwrap_or(OauthResource::Deck)
    }
}
