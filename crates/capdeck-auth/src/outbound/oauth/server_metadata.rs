//! Metadata of servers: of authorization servers (RFC 8414, OpenID Connect Discovery) and of protected resources (RFC 9728).

use serde::Deserialize;
use url::Url;

use super::{
    OAuthError, OAuthResult,
    fetch::{GuardedFetcher, at_path},
};

const SERVER_LABEL: &str = "the authorization server metadata";

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

pub(super) async fn find_server(
    fetcher: &GuardedFetcher,
    issuer: &str,
    named: &[&str],
) -> OAuthResult<Option<ServerMetadata>> {
    let base = fetcher.url("the authorization server", issuer)?;
    let mut places = Vec::new();
    for text in named {
        places.push(fetcher.url(SERVER_LABEL, text)?);
    }
    if places.is_empty() {
        places = well_known(&base);
    }
    for place in &places {
        if let Some(found) = fetcher.document::<ServerMetadata>(SERVER_LABEL, place).await? {
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

const RESOURCE_LABEL: &str = "the resource metadata";

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ResourceMetadata {
    /// Stored as written: requests repeat it exactly.
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
}

/// Reads the address in the challenge or the definition, or else the two well-known ones.
pub(super) async fn find_resource(
    fetcher: &GuardedFetcher,
    server: &Url,
    named: Option<&str>,
) -> OAuthResult<Option<ResourceMetadata>> {
    let places = match named {
        Some(text) => vec![fetcher.url(RESOURCE_LABEL, text)?],
        None => resource_places(server),
    };
    for place in &places {
        if let Some(found) = fetcher.document::<ResourceMetadata>(RESOURCE_LABEL, place).await? {
            return if describes(&found.resource, server) {
                Ok(Some(found))
            } else {
                Err(OAuthError::ResourceMismatch {
                    resource: found.resource,
                    server: without_query(server),
                })
            };
        }
    }
    Ok(None)
}

fn resource_places(server: &Url) -> Vec<Url> {
    const ROOT: &str = "/.well-known/oauth-protected-resource";
    let at = |path: &str| at_path(server, path);
    let path = server.path().trim_end_matches('/');
    if path.is_empty() { vec![at(ROOT)] } else { vec![at(&format!("{ROOT}{path}")), at(ROOT)] }
}

/// Returns whether a resource is the server or a parent path. Another origin or a sibling could collect our tokens.
fn describes(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.origin() != server.origin() || !resource.origin().is_tuple() {
        return false;
    }
    let above = resource.path().trim_end_matches('/');
    match server.path().trim_end_matches('/').strip_prefix(above) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Returns the server's address as a resource identifier, when it publishes none.
pub(super) fn without_query(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    url.set_query(None);
    let text = url.to_string();
    // A bare origin is written without the slash that the parser adds.
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
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

#[cfg(test)]
mod resource_metadata_tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_a_folder_above_it() {
        let server = Url::parse("https://api.example.com/v1/mcp").unwrap();
        for fits in [
            "https://api.example.com/v1/mcp",
            "https://api.example.com/v1/mcp/",
            "https://api.example.com/v1",
            "https://api.example.com",
            "https://api.example.com:443/",
        ] {
            assert!(describes(fits, &server), "{fits}");
        }
        for foreign in [
            "https://evil.example.com/v1/mcp",
            "http://api.example.com/v1/mcp",
            "https://api.example.com:444/v1/mcp",
            "https://api.example.com/v1/mc",
            "https://api.example.com/v1/mcp/below",
            "https://api.example.com/v2",
            "urn:x",
            "",
        ] {
            assert!(!describes(foreign, &server), "{foreign}");
        }
    }

    #[test]
    fn the_path_comes_before_the_root() {
        let places = |text: &str| -> Vec<String> {
            resource_places(&Url::parse(text).unwrap()).into_iter().map(String::from).collect()
        };
        assert_eq!(
            places("https://a.example/v1/mcp/?key=1#x"),
            [
                "https://a.example/.well-known/oauth-protected-resource/v1/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            places("https://a.example/"),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            without_query(&Url::parse("https://a.example?k=1").unwrap()),
            "https://a.example"
        );
    }
}
