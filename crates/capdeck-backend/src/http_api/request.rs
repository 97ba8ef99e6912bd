//! One request, put together from an action and a call's arguments.

use capdeck_auth::{AuthHeader, is_transport_header};
use capdeck_definition::{HttpAction, HttpMethod};
use reqwest::{
    Method,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value};
use url::Url;

use super::{
    mapping::{map_body, map_headers, map_query},
    target::build_url,
};
use crate::{CallError, ErrorCode};

/// A request ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
}

/// Builds a request. Nothing is sent.
pub(super) fn build_request(
    base: &Url,
    action: &HttpAction,
    auth: &[AuthHeader],
    arguments: &Map<String, Value>,
) -> Result<Request, CallError> {
    let query = map_query(&action.query, arguments)?;
    let url = build_url(base, &action.path, &query, arguments)?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"));
    for header in auth {
        let name = header_name(&header.name)?;
        let mut value = header_value(&header.name, header.value.expose())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in map_headers(&action.headers, arguments)? {
        let is_auth = auth.iter().any(|header| header.name.eq_ignore_ascii_case(&name));
        if is_auth || is_transport_header(&name) {
            return Err(CallError::new(
                ErrorCode::ConfigInvalid,
                format!("header `{name}` cannot be set by an action"),
            )
            .hint("sign-in belongs into `auth`; the transport sets the others"));
        }
        headers.insert(header_name(&name)?, header_value(&name, &value)?);
    }
    let body = map_body(action.json_body.as_ref(), arguments)?.map(|body| body.to_string());
    if body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Ok(Request { method: method(action.method), url, headers, body: body.map(String::into_bytes) })
}

fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

fn header_name(name: &str) -> Result<HeaderName, CallError> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| {
        CallError::new(ErrorCode::ConfigInvalid, format!("`{name}` is not a header name"))
    })
}

/// Refuses line breaks, which would start another header. The value itself is not shown.
fn header_value(name: &str, value: &str) -> Result<HeaderValue, CallError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_invalid| {
        CallError::new(
            ErrorCode::RequestInvalid,
            format!(
                "the value for header `{name}` holds a line break or another control character"
            ),
        )
    })
}
