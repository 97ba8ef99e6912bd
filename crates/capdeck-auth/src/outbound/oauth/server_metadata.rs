//! Authorization server metadata (RFC 8414, OpenID Connect Discovery).

use serde::Deserialize;
use url::Url;

use super::{
    OAuthError, OAuthResult,
    fetch::{GuardedFetcher, at_path},
};

const DOCUMENT_LABEL: &str = "the authorization server metadata";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) jwks_uri: Option<String>,
    pub(super) userinfo_endpoint: Option<String>,
    pub(super) scopes_supported: Vec<String>,
    pub(super) grant_types_supported: Option<Vec<String>>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) client_id_metadata_document_supported: bool,
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl ServerMetadata {
    /// Returns whether the server declares PKCE with S256. Absence means no.
    pub(super) fn has_pkce(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_deref().unwrap_or_default();
        methods.iter().any(|method| method == "S256")
    }

    pub(super) fn only_for_programs(&self) -> bool {
        let grants = self.grant_types_supported.as_deref().unwrap_or_default();
        let has = |wanted: &str| grants.iter().any(|grant| grant == wanted);
        has("client_credentials") && !has("authorization_code")
    }
}

pub(super) async fn find(
    fetcher: &GuardedFetcher,
    issuer: &str,
    named: &[&str],
) -> OAuthResult<Option<ServerMetadata>> {
    let base = fetcher.url("the authorization server", issuer)?;
    let mut places = Vec::new();
    for text in named {
        places.push(fetcher.url(DOCUMENT_LABEL, text)?);
    }
    if places.is_empty() {
        places = well_known(&base);
    }
    for place in &places {
        if let Some(found) = fetcher.document::<ServerMetadata>(DOCUMENT_LABEL, place).await? {
            // Exact comparison: a similar name may belong to another server.
            return if found.issuer == issuer {
                Ok(Some(found))
            } else {
                let (expected, found) = (issuer.to_owned(), found.issuer);
                Err(OAuthError::IssuerMismatch { expected, found })
            };
        }
    }
    Ok(None)
}

fn well_known(issuer: &Url) -> Vec<Url> {
    let at = |path: String| at_path(issuer, &path);
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    match issuer.path().trim_end_matches('/') {
        "" => vec![at(OAUTH.to_owned()), at(OPENID.to_owned())],
        path => vec![
            at(format!("{OAUTH}{path}")),
            at(format!("{OPENID}{path}")),
            at(format!("{path}{OPENID}")),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_inserted_and_then_appended_to() {
        let places = |text: &str| -> Vec<String> {
            well_known(&Url::parse(text).unwrap()).into_iter().map(String::from).collect()
        };
        assert_eq!(
            places("https://sso.example.com"),
            [
                "https://sso.example.com/.well-known/oauth-authorization-server",
                "https://sso.example.com/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            places("https://sso.example.com/tenant1/"),
            [
                "https://sso.example.com/.well-known/oauth-authorization-server/tenant1",
                "https://sso.example.com/.well-known/openid-configuration/tenant1",
                "https://sso.example.com/tenant1/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn silence_about_pkce_means_no() {
        let read = |text: &str| serde_json::from_str::<ServerMetadata>(text).unwrap();
        assert!(!read("{}").has_pkce());
        assert!(!read(r#"{"code_challenge_methods_supported":["plain"]}"#).has_pkce());
        assert!(read(r#"{"code_challenge_methods_supported":["plain","S256"]}"#).has_pkce());
        assert!(read(r#"{"grant_types_supported":["client_credentials"]}"#).only_for_programs());
        assert!(!read("{}").only_for_programs());
    }
}
