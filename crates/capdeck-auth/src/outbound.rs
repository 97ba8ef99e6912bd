//! Outbound requests: their auth headers and permitted addresses.

pub(crate) mod oauth;
mod reach;

use std::{collections::HashMap, fmt, sync::Arc};

use parking_lot::Mutex;

pub use self::reach::{GuardedResolver, NameResolver, NetworkReach, ReachError, SystemResolver};
use crate::Secret;

/// A definition's static `auth` block with its references resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StaticCredentials {
    #[default]
    None,
    Bearer {
        token: Secret,
    },
    Headers {
        headers: Vec<(String, Secret)>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthHeader {
    pub name: String,
    pub value: Secret,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    #[error("the bearer token is empty")]
    EmptyToken,
    #[error("the value of auth header `{name}` is empty")]
    EmptyHeader { name: String },
    #[error("`{name}` cannot be sent as an auth header")]
    ForbiddenHeader { name: String },
    #[error("the value of auth header `{name}` holds a line break or another control character")]
    IllegalValue { name: String },
}

/// Headers that only the transport sets. `capdeck-definition` rejects the same ones in files; a test in
/// `capdeck-backend` compares the two lists.
pub const TRANSPORT_HEADERS: [&str; 15] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl StaticCredentials {
    /// Returns every secret value, for scrubbing.
    pub fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::None => Vec::new(),
            Self::Bearer { token } => vec![token.clone()],
            Self::Headers { headers } => headers
                .iter()
                .flat_map(|(name, value)| {
                    // A peer that echoes `Bearer token` may omit the scheme.
                    let words =
                        value.expose().trim().split_once(' ').filter(|_| is_authorization(name));
                    let token = words.map(|(_scheme, token)| Secret::new(token.trim()));
                    std::iter::once(value.clone()).chain(token)
                })
                .collect(),
        }
    }

    pub fn headers(&self) -> Result<Vec<AuthHeader>, OutboundError> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Bearer { token } => {
                if token.expose().is_empty() {
                    return Err(OutboundError::EmptyToken);
                }
                let value = Secret::new(format!("Bearer {}", token.expose()));
                Ok(vec![checked("authorization", value)?])
            }
            Self::Headers { headers } => headers
                .iter()
                .map(|(name, value)| {
                    // A definition's auth may set the whole `Authorization` header.
                    if is_transport_header(name) && !is_authorization(name) {
                        return Err(OutboundError::ForbiddenHeader { name: name.clone() });
                    }
                    if value.expose().is_empty() {
                        return Err(OutboundError::EmptyHeader { name: name.clone() });
                    }
                    checked(name, value.clone())
                })
                .collect(),
        }
    }
}

/// Returns whether only the transport may set this header, ignoring case.
pub fn is_transport_header(name: &str) -> bool {
    TRANSPORT_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_authorization(name: &str) -> bool {
    name.eq_ignore_ascii_case("authorization")
}

/// Rejects values that could inject another header line.
fn checked(name: &str, value: Secret) -> Result<AuthHeader, OutboundError> {
    if value.expose().chars().any(|letter| letter.is_control() && letter != '\t') {
        return Err(OutboundError::IllegalValue { name: name.to_owned() });
    }
    Ok(AuthHeader { name: name.to_owned(), value })
}

/// Builds an HTTP client that follows no redirects and resolves names with a [`GuardedResolver`].
pub type ClientFactory = dyn Fn(NetworkReach) -> Result<reqwest::Client, String> + Send + Sync;

/// HTTP clients by reach, built when first needed. Clones share them.
#[derive(Clone)]
pub struct GuardedClients {
    build: Arc<ClientFactory>,
    built: Arc<Mutex<HashMap<NetworkReach, reqwest::Client>>>,
}

impl GuardedClients {
    /// Creates clients with this function, at most once per reach.
    pub fn new(build: Arc<ClientFactory>) -> Self {
        Self { build, built: Arc::default() }
    }

    /// Returns the client for this reach. Callers check IP address literals, because the resolver does not see them.
    pub fn get(&self, reach: NetworkReach) -> Result<reqwest::Client, String> {
        let mut built = self.built.lock();
        if let Some(client) = built.get(&reach) {
            return Ok(client.clone());
        }
        let client = (self.build)(reach)?;
        built.insert(reach, client.clone());
        Ok(client)
    }
}

impl fmt::Debug for GuardedClients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GuardedClients").finish_non_exhaustive()
    }
}

/// Returns the body of a response; `None` when it is larger than the limit.
pub(crate) async fn read_limited(
    mut response: reqwest::Response,
    limit: usize,
) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> StaticCredentials {
        let headers =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect();
        StaticCredentials::Headers { headers }
    }

    #[test]
    fn static_credentials_become_headers() {
        assert_eq!(StaticCredentials::None.headers(), Ok(Vec::new()));
        let bearer = StaticCredentials::Bearer { token: Secret::new("canary-1") };
        let [header] = bearer.headers().unwrap().try_into().unwrap();
        assert_eq!(
            (header.name.as_str(), header.value.expose()),
            ("authorization", "Bearer canary-1")
        );
        let sent = headers(&[("X-Api-Key", "canary-2"), ("X-Org", "acme")]).headers().unwrap();
        let sent: Vec<_> = sent.iter().map(|one| (one.name.as_str(), one.value.expose())).collect();
        assert_eq!(sent, [("X-Api-Key", "canary-2"), ("X-Org", "acme")]);
    }

    #[test]
    fn bad_credentials_are_refused_without_showing_them() {
        for (credentials, message) in [
            (StaticCredentials::Bearer { token: Secret::new("") }, "the bearer token is empty"),
            (headers(&[("X-Key", "")]), "the value of auth header `X-Key` is empty"),
            (headers(&[("Host", "x")]), "`Host` cannot be sent as an auth header"),
            (
                headers(&[("X-Key", "canary\r\nHost: y")]),
                "the value of auth header `X-Key` holds a line break or another control character",
            ),
        ] {
            assert_eq!(credentials.headers().unwrap_err().to_string(), message);
            assert!(!format!("{credentials:?}").contains("canary"));
        }
    }
}
