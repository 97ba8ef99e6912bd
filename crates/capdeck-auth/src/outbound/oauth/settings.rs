//! What a definition says about signing in. Everything but the server's address is optional: the rest is discovered.

use url::Url;

use crate::Secret;

/// The `auth` block of a definition with its references resolved, and the server it is for.
#[derive(Debug, Clone)]
pub struct OAuthSettings {
    /// What the tokens are for.
    pub server: Url,
    pub kind: LoginKind,
    pub authorization_url: Option<String>,
    pub token_url: Option<String>,
    pub issuer: Option<String>,
    pub resource_metadata_url: Option<String>,
    pub authorization_server_metadata_url: Option<String>,
    pub openid_configuration_url: Option<String>,
    /// The address of a document that describes this program; also its client id.
    pub client_metadata_url: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    pub scopes: Vec<String>,
    pub redirect_uri: Option<String>,
    /// What else the authorization server wants to be told when the person signs in.
    pub authorization_parameters: &'static [(&'static str, &'static str)],
}

/// What a sign-in is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginKind {
    OAuth2,
    /// OAuth 2 with an identity that is checked.
    Oidc,
}

impl OAuthSettings {
    /// Nothing but a server: all else is found out.
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
