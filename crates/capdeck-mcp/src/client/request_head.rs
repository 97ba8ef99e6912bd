//! The HTTP headers of a modern request, which proxies can read without parsing the body.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{ParamHeader, ProtocolRevision, RawObject, header_params, raw};

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The headers of one modern request. Transports without headers only use it to detect a modern request.
#[derive(Debug, Clone)]
pub(super) struct RequestHead {
    revision: ProtocolRevision,
    name: Option<String>,
    params: Vec<ParamHeader>,
}

impl RequestHead {
    pub(super) fn bare(revision: ProtocolRevision) -> Self {
        Self { revision, name: None, params: Vec::new() }
    }

    pub(super) fn of(
        revision: ProtocolRevision,
        method: &str,
        request: &RawObject,
        params: Vec<ParamHeader>,
    ) -> Self {
        let key = match method {
            "tools/call" | "prompts/get" => Some("name"),
            "resources/read" => Some("uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
            _ => None,
        };
        let name = key.and_then(|key| raw::text_member(request, key));
        Self { revision, name, params }
    }

    /// Returns the headers. A value that is invalid in a header is omitted, and the server rejects the request.
    pub(super) fn headers(&self, method: &str) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(self.params.len() + 3);
        headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(self.revision.as_str()));
        if let Ok(method) = HeaderValue::from_str(method) {
            headers.insert(METHOD, method);
        }
        let name = self.name.as_deref().map(header_params::encode);
        if let Some(Ok(name)) = name.map(|name| HeaderValue::from_str(&name)) {
            headers.insert(NAME, name);
        }
        for param in &self.params {
            let name = HeaderName::try_from(param.name.as_str());
            let value = param.value.as_deref().map(HeaderValue::from_str);
            if let (Ok(name), Some(Ok(value))) = (name, value) {
                headers.insert(name, value);
            }
        }
        headers
    }
}
