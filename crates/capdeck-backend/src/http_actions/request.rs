//! Builds a request from an action and a call's arguments.

use capdeck_auth::{AuthHeader, is_transport_header};
use capdeck_definition::{HttpAction, HttpMethod};
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::{Map, Value};
use url::Url;

use super::{
    mapping::{map_body, map_headers, map_query},
    path::fill_path,
};
use crate::{
    CallError, ErrorCode,
    http::{EndpointRequest, HttpRequestBody, below, header_name, header_value},
};

pub(super) fn build_request(
    base: &Url,
    action: &HttpAction,
    auth: &[AuthHeader],
    arguments: &Map<String, Value>,
) -> Result<EndpointRequest, CallError> {
    let query = map_query(&action.query, arguments)?;
    let mut url = below(base, &fill_path(&action.path, arguments)?)?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    let mut request = EndpointRequest::new(method(action.method), url);
    for (name, value) in map_headers(&action.headers, arguments)? {
        let is_auth = auth.iter().any(|header| header.name.eq_ignore_ascii_case(&name));
        if is_auth || is_transport_header(&name) {
            return Err(CallError::new(
                ErrorCode::ConfigInvalid,
                format!("header `{name}` cannot be set by an action"),
            )
            .hint("sign-in belongs into `auth`; the transport sets the others"));
        }
        request.headers.insert(header_name(&name)?, header_value(&name, &value)?);
    }
    if let Some(body) = map_body(action.json_body.as_ref(), arguments)? {
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = Some(HttpRequestBody::default().with_bytes(body.to_string()));
    }
    Ok(request)
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
