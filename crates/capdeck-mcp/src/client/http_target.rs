//! Where an HTTP server is and how it is asked.

use std::{fmt, sync::Arc};

use http::HeaderMap;
use url::Url;

use super::Credentials;

/// An address, the headers every request to it carries, and the HTTP client to use.
///
/// The client must not follow redirects: they would carry credentials elsewhere.
#[derive(Clone)]
pub struct HttpTarget {
    pub url: Url,
    pub headers: HeaderMap,
    pub http: reqwest::Client,
    /// Credentials that may change while we are connected; they come on top of the headers.
    pub credentials: Option<Arc<dyn Credentials>>,
}

impl fmt::Debug for HttpTarget {
    /// Shows neither headers nor query: both may hold a credential.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpTarget")
            .field("origin", &self.url.origin().ascii_serialization())
            .finish_non_exhaustive()
    }
}
