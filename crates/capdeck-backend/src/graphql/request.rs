//! The GraphQL request: a document and its variables as JSON.

use reqwest::{
    Method,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use crate::{
    CallError, ErrorCode,
    http::{EndpointRequest, HttpRequestBody},
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GraphQlRequest<'a> {
    pub(super) query: &'a str,
    pub(super) variables: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) operation_name: Option<&'a str>,
    /// Queries may be sent again regardless of the method; mutations never.
    #[serde(skip)]
    pub(super) is_mutation: bool,
}

impl GraphQlRequest<'_> {
    pub(super) fn request(&self, url: &Url) -> Result<EndpointRequest, CallError> {
        let body = serde_json::to_vec(self).map_err(|error| {
            CallError::new(ErrorCode::InternalError, "the request cannot be written").detail(error)
        })?;
        let mut request = EndpointRequest::new(Method::POST, url.clone());
        let accept = "application/graphql-response+json, application/json;q=0.9, */*;q=0.1";
        request.headers.insert(ACCEPT, HeaderValue::from_static(accept));
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.is_idempotent = !self.is_mutation;
        request.body = Some(HttpRequestBody::default().with_bytes(body));
        Ok(request)
    }
}
