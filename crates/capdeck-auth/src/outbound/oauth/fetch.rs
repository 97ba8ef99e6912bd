//! Requests to the addresses that metadata names: guarded, bounded, never redirected.

use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde::{Serialize, de::DeserializeOwned};
use url::Url;

use super::OAuthError;
use crate::{GuardedClients, Reach, Secret};

/// How long one request may take in all.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How large a document may be.
const MAX_BYTES: usize = 256 * 1024;

/// Makes requests within one reach.
pub(super) struct Fetcher {
    reach: Reach,
    http: reqwest::Client,
}

/// The answer to a form.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Fetcher {
    /// A fetcher for what a server at this address may name.
    pub(super) async fn new(clients: &GuardedClients, server: &Url) -> Result<Self, OAuthError> {
        let reach = Reach::of(server).await;
        let http = clients.get(reach).map_err(|reason| OAuthError::Client { reason })?;
        Ok(Self { reach, http })
    }

    /// Reads a URL out of metadata or a definition, and refuses what may not be asked.
    pub(super) fn url(&self, what: &'static str, text: &str) -> Result<Url, OAuthError> {
        let url = Url::parse(text).map_err(|_| OAuthError::NotAUrl { what, text: shown(text) })?;
        self.check(what, &url)?;
        Ok(url)
    }

    /// Refuses an address by how it is written.
    fn check(&self, what: &'static str, url: &Url) -> Result<(), OAuthError> {
        self.reach.check(url).map_err(|reason| OAuthError::ForbiddenUrl {
            what,
            origin: origin(url),
            reason,
        })
    }

    /// Gets a JSON document; `None` when there is none at that place.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &Url,
    ) -> Result<Option<T>, OAuthError> {
        self.check(what, url)?;
        read_document(what, url, self.http.get(url.clone())).await
    }

    /// Gets a JSON document about whoever a token is for; `None` when there is none at that place.
    pub(super) async fn document_for<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &Url,
        token: &Secret,
    ) -> Result<Option<T>, OAuthError> {
        self.check(what, url)?;
        read_document(what, url, self.http.get(url.clone()).bearer_auth(token.expose())).await
    }

    /// Posts a form, with HTTP Basic if there is a user. Any status is an answer.
    pub(super) async fn form(
        &self,
        what: &'static str,
        url: &Url,
        fields: &[(&str, &str)],
        basic: Option<(&str, &Secret)>,
    ) -> Result<Answer, OAuthError> {
        self.check(what, url)?;
        let body: String =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut request = self
            .http
            .post(url.clone())
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        if let Some((user, password)) = basic {
            let encoded = |text: &str| -> String {
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            request = request.basic_auth(encoded(user), Some(encoded(password.expose())));
        }
        send(what, url, request).await
    }

    /// Posts JSON. Any status is an answer.
    pub(super) async fn json(
        &self,
        what: &'static str,
        url: &Url,
        body: &impl Serialize,
    ) -> Result<Answer, OAuthError> {
        self.check(what, url)?;
        let request = self.http.post(url.clone()).header("accept", "application/json").json(body);
        send(what, url, request).await
    }
}

async fn read_document<T: DeserializeOwned>(
    what: &'static str,
    url: &Url,
    request: RequestBuilder,
) -> Result<Option<T>, OAuthError> {
    let request = request.header("accept", "application/json");
    let Answer { status, body } = send(what, url, request).await?;
    match status {
        200 => {}
        // Redirects are not followed, so what lies behind one is not there.
        300..=499 => return Ok(None),
        status => return Err(OAuthError::Status { what, origin: origin(url), status }),
    }
    // A page for people at a well-known place means that the document is not there.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    parse(what, url, &body).map(Some)
}

async fn send(
    what: &'static str,
    url: &Url,
    request: RequestBuilder,
) -> Result<Answer, OAuthError> {
    let unreachable =
        |error| OAuthError::Unreachable { what, origin: origin(url), reason: cause(error) };
    let response = request.timeout(TIMEOUT).send().await.map_err(unreachable)?;
    let status = response.status();
    match read(response).await.map_err(unreachable)? {
        Some(body) => Ok(Answer { status: status.as_u16(), body }),
        None => {
            let reason = format!("it is larger than {MAX_BYTES} bytes");
            Err(OAuthError::BadAnswer { what, origin: origin(url), reason })
        }
    }
}

/// The body, unless it is too large.
async fn read(mut response: Response) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// Reads a JSON answer. The parser's own words are not repeated: they quote the document.
pub(super) fn parse<T: DeserializeOwned>(
    what: &'static str,
    url: &Url,
    body: &[u8],
) -> Result<T, OAuthError> {
    serde_json::from_slice(body).map_err(|error| {
        let reason = format!("it cannot be read (line {})", error.line());
        OAuthError::BadAnswer { what, origin: origin(url), reason }
    })
}

pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The deepest cause, without the URL.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", TIMEOUT.as_secs());
    }
    let error = error.without_url();
    let mut reason: &dyn std::error::Error = &error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// Enough of a text from outside to recognise it.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(80).collect()
}
