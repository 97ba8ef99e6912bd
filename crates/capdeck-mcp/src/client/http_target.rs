//! The address, headers, credentials and HTTP client of a server.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
};
use reqwest::{RequestBuilder, Response};
use url::Url;

/// An address, the headers of every request, and the HTTP client.
///
/// The client must not follow redirects: they could send credentials elsewhere.
#[derive(Clone)]
pub struct HttpTarget {
    pub url: Url,
    pub headers: HeaderMap,
    pub http: reqwest::Client,
    /// Credentials that may change during the connection, in addition to the headers.
    pub credentials: Option<Arc<dyn CredentialProvider>>,
}

impl fmt::Debug for HttpTarget {
    /// Shows neither headers nor query: both may contain a credential.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpTarget")
            .field("origin", &self.url.origin().ascii_serialization())
            .finish_non_exhaustive()
    }
}

const MAX_RESENDS: u32 = 2;

#[async_trait]
pub trait CredentialProvider: Send + Sync {
    /// Returns the `Authorization` value of the next request, if there is one.
    async fn authorization(&self) -> Option<HeaderValue>;

    /// Handles a refusal: `status` 401 or 403 with this challenge. Returns true when a retry makes sense.
    async fn refused(
        &self,
        status: u16,
        challenge: Option<&str>,
        sent: Option<&HeaderValue>,
    ) -> bool;
}

impl HttpTarget {
    /// Sends a request with credentials, and again while a refusal yields new credentials.
    pub(super) async fn send(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let Some(credentials) = &self.credentials else { return request.send().await };
        let mut request = request;
        let mut resends = 0;
        loop {
            // A body that cannot be cloned is sent once.
            let again = request.try_clone();
            let authorization = credentials.authorization().await;
            if let Some(value) = &authorization {
                request = request.header(AUTHORIZATION, value.clone());
            }
            let response = request.send().await?;
            let status = response.status();
            if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                return Ok(response);
            }
            let challenge = challenge(response.headers());
            let worth_it = credentials
                .refused(status.as_u16(), challenge.as_deref(), authorization.as_ref())
                .await;
            match again {
                Some(next) if worth_it && resends < MAX_RESENDS => request = next,
                _ => return Ok(response),
            }
            resends += 1;
        }
    }
}

pub(super) fn challenge(headers: &HeaderMap) -> Option<String> {
    let texts: Vec<&str> =
        headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}
