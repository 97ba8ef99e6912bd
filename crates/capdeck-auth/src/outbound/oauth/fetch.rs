//! Requests to addresses from metadata: checked, size-limited, never redirected.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde::{Serialize, de::DeserializeOwned};
use url::Url;

use super::{OAuthError, OAuthResult};
use crate::{GuardedClients, NetworkReach, Secret, outbound::read_limited};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

const MAX_RESPONSE_BYTES: usize = 256 * 1024;

pub(super) struct GuardedFetcher {
    reach: NetworkReach,
    http: reqwest::Client,
}

pub(super) struct FormResponse {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl GuardedFetcher {
    pub(super) async fn new(clients: &GuardedClients, server: &Url) -> OAuthResult<Self> {
        let reach = NetworkReach::for_server(server).await;
        let http = clients.get(reach).map_err(|reason| OAuthError::Client { reason })?;
        Ok(Self { reach, http })
    }

    pub(super) fn url(&self, what: &'static str, text: &str) -> OAuthResult<Url> {
        let url = Url::parse(text)
            .map_err(|_| OAuthError::NotAUrl { what, text: sanitized_excerpt(text) })?;
        self.check(what, &url)?;
        Ok(url)
    }

    fn check(&self, what: &'static str, url: &Url) -> OAuthResult<()> {
        self.reach.check(url).map_err(|reason| OAuthError::ForbiddenUrl {
            what,
            origin: origin(url),
            reason,
        })
    }

    /// Gets a JSON document; `None` when it does not exist.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &Url,
    ) -> OAuthResult<Option<T>> {
        self.check(what, url)?;
        read_document(what, url, self.http.get(url.clone())).await
    }

    pub(super) async fn document_for<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &Url,
        token: &Secret,
    ) -> OAuthResult<Option<T>> {
        self.check(what, url)?;
        read_document(what, url, self.http.get(url.clone()).bearer_auth(token.expose())).await
    }

    /// Posts a form, with HTTP Basic for a user. Returns the response for any status.
    pub(super) async fn form(
        &self,
        what: &'static str,
        url: &Url,
        fields: &[(&str, &str)],
        basic: Option<(&str, &Secret)>,
    ) -> OAuthResult<FormResponse> {
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

    pub(super) async fn json(
        &self,
        what: &'static str,
        url: &Url,
        body: &impl Serialize,
    ) -> OAuthResult<FormResponse> {
        self.check(what, url)?;
        let request = self.http.post(url.clone()).header("accept", "application/json").json(body);
        send(what, url, request).await
    }
}

async fn read_document<T: DeserializeOwned>(
    what: &'static str,
    url: &Url,
    request: RequestBuilder,
) -> OAuthResult<Option<T>> {
    let request = request.header("accept", "application/json");
    let FormResponse { status, body } = send(what, url, request).await?;
    match status {
        200 => {}
        // Redirects are not followed, so the document counts as missing.
        300..=499 => return Ok(None),
        status => return Err(OAuthError::Status { what, origin: origin(url), status }),
    }
    // An HTML page at a well-known URL means that the document does not exist.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    parse(what, url, &body).map(Some)
}

async fn send(what: &'static str, url: &Url, request: RequestBuilder) -> OAuthResult<FormResponse> {
    let unreachable =
        |error| OAuthError::Unreachable { what, origin: origin(url), reason: cause(error) };
    let response = request.timeout(REQUEST_TIMEOUT).send().await.map_err(unreachable)?;
    let status = response.status();
    match read_limited(response, MAX_RESPONSE_BYTES).await.map_err(unreachable)? {
        Some(body) => Ok(FormResponse { status: status.as_u16(), body }),
        None => {
            let reason = format!("it is larger than {MAX_RESPONSE_BYTES} bytes");
            Err(OAuthError::BadAnswer { what, origin: origin(url), reason })
        }
    }
}

/// Parses a JSON response. The parser's message is not repeated, because it quotes the document.
pub(super) fn parse<T: DeserializeOwned>(
    what: &'static str,
    url: &Url,
    body: &[u8],
) -> OAuthResult<T> {
    serde_json::from_slice(body).map_err(|error| {
        let reason = format!("it cannot be read (line {})", error.line());
        OAuthError::BadAnswer { what, origin: origin(url), reason }
    })
}

/// Another path at the same server.
pub(super) fn at_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", REQUEST_TIMEOUT.as_secs());
    }
    let error = error.without_url();
    let mut reason: &dyn std::error::Error = &error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

fn sanitized_excerpt(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(80).collect()
}
