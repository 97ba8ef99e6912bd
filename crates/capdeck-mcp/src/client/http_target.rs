//! The address, headers and HTTP client of a server.

use std::{fmt, sync::Arc};

use http::HeaderMap;
use url::Url;

use super::CredentialProvider;

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
