//! How a backend is signed in to, as declared. Values may hold `${VAR}` or `$vault:NAME`, never a resolved secret.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The `auth` block; `type` says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
#[schemars(rename = "Auth")]
pub enum BackendAuth {
    /// Requests carry no credentials.
    None {},
    /// `Authorization: Bearer <token>`.
    Bearer {
        #[schemars(length(min = 1))]
        token: String,
    },
    /// Fixed headers on every request.
    Headers {
        #[schemars(extend("additionalProperties" = { "type": "string", "minLength": 1 }))]
        headers: IndexMap<String, String>,
    },
    /// OAuth 2: a person signs in once, tokens are refreshed.
    OAuth2(OAuthConfig),
    /// OpenID Connect: OAuth 2 with a verified identity.
    Oidc(OAuthConfig),
}

impl Default for BackendAuth {
    /// A backend that declares no `auth` is public.
    fn default() -> Self {
        Self::None {}
    }
}

impl BackendAuth {
    /// A sign-in that gives the same headers without holding or fetching a credential.
    pub fn without_credentials(&self) -> Self {
        const UNUSED: &str = "unused";
        match self {
            Self::None {} => Self::None {},
            Self::Headers { headers } => Self::Headers {
                headers: headers.keys().map(|name| (name.clone(), UNUSED.to_owned())).collect(),
            },
            Self::Bearer { .. } | Self::OAuth2(_) | Self::Oidc(_) => {
                Self::Bearer { token: UNUSED.to_owned() }
            }
        }
    }
}

/// What `oauth2` and `oidc` share. Everything is optional: the rest is discovered.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "OAuth")]
pub struct OAuthConfig {
    #[schemars(length(min = 1))]
    pub authorization_url: Option<String>,
    #[schemars(length(min = 1))]
    pub token_url: Option<String>,
    #[schemars(length(min = 1))]
    pub issuer: Option<String>,
    #[schemars(length(min = 1))]
    pub resource_metadata_url: Option<String>,
    #[schemars(length(min = 1))]
    pub authorization_server_metadata_url: Option<String>,
    #[schemars(length(min = 1))]
    pub openid_configuration_url: Option<String>,
    #[schemars(length(min = 1))]
    pub client_metadata_url: Option<String>,
    #[schemars(length(min = 1))]
    pub client_id: Option<String>,
    #[schemars(length(min = 1))]
    pub client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub scopes: Vec<String>,
    #[schemars(length(min = 1))]
    pub redirect_uri: Option<String>,
}
