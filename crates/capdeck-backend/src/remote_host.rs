//! Another host, asked what it offers.

use std::time::Duration;

use capdeck_auth::Secret;
use capdeck_definition::RemoteCapability;
use reqwest::{Client, StatusCode, Url, header};
use serde::{Deserialize, Serialize};

use crate::{CallError, ErrorCode, http::client};

pub const MANIFEST_VERSION: u32 = 1;

/// Longest wait for an answer that needs no waiting.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// A deck has thousands of capabilities at most.
const MAX_MANIFEST_BYTES: usize = 16 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostManifest {
    /// Says that this is a Capdeck host.
    pub capdeck: HostManifestFacts,
    pub capabilities: Vec<RemoteCapability>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostManifestFacts {
    pub manifest: u32,
    pub version: String,
}

#[derive(Debug)]
pub struct RemoteHost {
    origin: String,
    key: Option<Secret>,
    client: Client,
}

/// A manifest, and the tag by which the host knows it.
#[derive(Debug)]
pub struct TaggedManifest {
    pub manifest: HostManifest,
    pub tag: Option<String>,
}

impl RemoteHost {
    /// The host at an address such as `http://127.0.0.1:7717`. Nothing is contacted yet.
    pub fn new(address: &str, key: Option<Secret>, version: &str) -> Result<Self, CallError> {
        let wrong = |why: &str| {
            CallError::invalid_request(format!("`{address}` {why}"))
                .hint("give the address that `capdeck up` shows, such as http://127.0.0.1:7717")
        };
        let url = Url::parse(address).map_err(|_| wrong("is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("is not the address of a web server"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                wrong("holds a password").hint("give the key in CAPDECK_ATTACH_KEY, or --key-file")
            );
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/mcp").unwrap_or(path);
        let origin = format!("{}{path}", url.origin().ascii_serialization());
        Ok(Self { origin, key, client: client::build(version)? })
    }

    /// The host's address, without a slash at the end.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// What the host offers now. `None` when it is unchanged since `tag`; then the answer may take as long as
    /// `wait`, because the host answers at once when something changes.
    pub async fn manifest(
        &self,
        tag: Option<&str>,
        wait: Duration,
    ) -> Result<Option<TaggedManifest>, CallError> {
        let url = format!("{}/attach/manifest?wait={}", self.origin, wait.as_secs());
        let mut request = self.client.get(url).timeout(wait + RESPONSE_TIMEOUT);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose());
        }
        if let Some(tag) = tag {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED => return Ok(None),
            StatusCode::UNAUTHORIZED => return Err(self.wrong_key()),
            StatusCode::FORBIDDEN => {
                let message = format!("{} refuses requests under this name", self.origin);
                return Err(CallError::new(ErrorCode::Denied, message)
                    .hint("use the name it was started with, or set CAPDECK_PUBLIC_URL there"));
            }
            _ => return Err(self.no_host()),
        }
        let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.map(str::to_owned);
        if response.content_length().is_some_and(|length| length > MAX_MANIFEST_BYTES as u64) {
            return Err(self.no_host());
        }
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        let manifest: HostManifest = serde_json::from_slice(&body).map_err(|_| self.no_host())?;
        if manifest.capdeck.manifest != MANIFEST_VERSION {
            let version = &manifest.capdeck.version;
            let message = format!(
                "{} runs capdeck {version}, which this version cannot attach to",
                self.origin
            );
            return Err(CallError::new(ErrorCode::UnsupportedOperation, message)
                .hint("use the same version on both sides"));
        }
        Ok(Some(TaggedManifest { manifest, tag }))
    }

    fn unreachable(&self, error: &reqwest::Error) -> CallError {
        let why = if error.is_timeout() { "it does not answer" } else { "nothing answers there" };
        CallError::unavailable(format!("cannot reach {}: {why}", self.origin))
            .hint("is `capdeck up` running there?")
            .detail(error)
    }

    fn wrong_key(&self) -> CallError {
        let message = match &self.key {
            Some(_) => format!("{} does not take this key", self.origin),
            None => format!("{} wants a key", self.origin),
        };
        CallError::new(ErrorCode::AuthRequired, message)
            .hint("put the host's CAPDECK_ADMIN_KEY into CAPDECK_ATTACH_KEY, or into a file for --key-file")
    }

    fn no_host(&self) -> CallError {
        CallError::new(
            ErrorCode::ServerNotFound,
            format!("there is no Capdeck host at {}", self.origin),
        )
        .hint("give the address that `capdeck up` shows, such as http://127.0.0.1:7717")
    }
}
