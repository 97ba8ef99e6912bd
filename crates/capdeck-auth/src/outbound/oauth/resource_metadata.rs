//! Protected resource metadata (RFC 9728).

use serde::Deserialize;
use url::Url;

use super::{
    OAuthError, OAuthResult,
    fetch::{GuardedFetcher, at_path},
};

const DOCUMENT_LABEL: &str = "the resource metadata";

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
pub(super) async fn find(
    fetcher: &GuardedFetcher,
    server: &Url,
    named: Option<&str>,
) -> OAuthResult<Option<ResourceMetadata>> {
    let places = match named {
        Some(text) => vec![fetcher.url(DOCUMENT_LABEL, text)?],
        None => well_known(server),
    };
    for place in &places {
        if let Some(found) = fetcher.document::<ResourceMetadata>(DOCUMENT_LABEL, place).await? {
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

fn well_known(server: &Url) -> Vec<Url> {
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
            well_known(&Url::parse(text).unwrap()).into_iter().map(String::from).collect()
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
