//! One request to send.

use reqwest::{
    Method,
    header::{ACCEPT, HeaderMap, HeaderName, HeaderValue},
};
use url::Url;

use super::HttpRequestBody;
use crate::{CallError, ErrorCode};

/// A request without credentials, which the endpoint adds.
#[derive(Debug, Clone)]
pub(crate) struct EndpointRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<HttpRequestBody>,
    /// True when sending it twice has the same effect as once. The method sets the initial value.
    pub(crate) is_idempotent: bool,
    pub(crate) redirects: RedirectScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectScope {
    SameOrigin,
    /// To any https address within the endpoint's network, without credentials. For documents, never for calls.
    AnyOrigin,
}

impl EndpointRequest {
    /// A request that accepts any response and prefers JSON.
    pub(crate) fn new(method: Method, url: Url) -> Self {
        let accept = HeaderValue::from_static("application/json, */*;q=0.5");
        Self {
            is_idempotent: method.is_idempotent(),
            method,
            url,
            headers: HeaderMap::from_iter([(ACCEPT, accept)]),
            body: None,
            redirects: RedirectScope::SameOrigin,
        }
    }
}

pub(crate) fn header_name(name: &str) -> Result<HeaderName, CallError> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| {
        CallError::new(ErrorCode::ConfigInvalid, format!("`{name}` is not a header name"))
    })
}

/// Rejects line breaks, which could inject another header. The value is not shown.
pub(crate) fn header_value(name: &str, value: &str) -> Result<HeaderValue, CallError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_invalid| {
        CallError::new(
            ErrorCode::RequestInvalid,
            format!(
                "the value for header `{name}` holds a line break or another control character"
            ),
        )
    })
}
