//! The OAuth settings of a definition. Everything except the server's address is optional and discovered.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::Secret;

/// The `auth` block of a definition with its references resolved, and its server.
#[derive(Debug, Clone)]
pub struct OAuthSettings {
    pub server: Url,
    pub kind: LoginKind,
    pub authorization_url: Option<String>,
    pub token_url: Option<String>,
    pub issuer: Option<String>,
    pub resource_metadata_url: Option<String>,
    pub authorization_server_metadata_url: Option<String>,
    pub openid_configuration_url: Option<String>,
    /// The address of a client metadata document; also the client id.
    pub client_metadata_url: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    pub scopes: Vec<String>,
    pub redirect_uri: Option<String>,
    pub authorization_parameters: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoginKind {
    OAuth2,
    /// OAuth 2 with a verified identity.
    Oidc,
}

impl OAuthSettings {
    /// Settings with only a server; the rest is discovered.
    pub fn for_server(server: Url) -> Self {
        Self {
            server,
            kind: LoginKind::OAuth2,
            authorization_url: None,
            token_url: None,
            issuer: None,
            resource_metadata_url: None,
            authorization_server_metadata_url: None,
            openid_configuration_url: None,
            client_metadata_url: None,
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
            redirect_uri: None,
            authorization_parameters: &[],
        }
    }
}
