//! Responses of operations.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::problem::ApiError;

#[derive(Debug)]
pub(super) struct RestResponse<T> {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    content: T,
}

/// The media type of a body and, for JSON, its schema.
pub(super) type ResponseShape = (&'static str, Option<Schema>);

pub(super) trait ResponseContent: Send + 'static {
    const STATUS: StatusCode = StatusCode::OK;

    /// The media type and, for JSON, the schema; `None` without a body.
    fn shape(generator: &mut SchemaGenerator) -> Option<ResponseShape>;

    fn into_body(self) -> Result<Body, ApiError>;
}

#[derive(Debug)]
pub(super) struct NoContent;

#[derive(Debug)]
pub(super) struct ByteContent<const GZIP: bool>(pub(super) Body);

pub(super) type ArchiveContent = ByteContent<true>;
pub(super) type BinaryContent = ByteContent<false>;

impl<T: Serialize + JsonSchema + Send + 'static> ResponseContent for T {
    fn shape(generator: &mut SchemaGenerator) -> Option<ResponseShape> {
        Some(("application/json", Some(generator.subschema_for::<T>())))
    }

    fn into_body(self) -> Result<Body, ApiError> {
        let text = serde_json::to_vec(&self);
        text.map(Body::from)
            .map_err(|error| ApiError::internal("cannot serialize the response", &error))
    }
}

impl ResponseContent for NoContent {
    const STATUS: StatusCode = StatusCode::NO_CONTENT;

    fn shape(_: &mut SchemaGenerator) -> Option<ResponseShape> {
        None
    }

    fn into_body(self) -> Result<Body, ApiError> {
        Ok(Body::empty())
    }
}

impl<const GZIP: bool> ResponseContent for ByteContent<GZIP> {
    fn shape(_: &mut SchemaGenerator) -> Option<ResponseShape> {
        Some((if GZIP { "application/gzip" } else { "application/octet-stream" }, None))
    }

    fn into_body(self) -> Result<Body, ApiError> {
        Ok(self.0)
    }
}

#[derive(Debug)]
pub(super) struct EncodedJson(pub(super) bytes::Bytes);

impl ResponseContent for EncodedJson {
    fn shape(_: &mut SchemaGenerator) -> Option<ResponseShape> {
        Some(("application/json", Some(schemars::json_schema!({ "type": "object" }))))
    }

    fn into_body(self) -> Result<Body, ApiError> {
        Ok(Body::from(self.0))
    }
}

impl<T: ResponseContent> RestResponse<T> {
    pub(super) fn new(content: T) -> Self {
        Self { status: T::STATUS, headers: Vec::new(), content }
    }

    pub(super) fn created(content: T) -> Self {
        Self::new(content).status(StatusCode::CREATED)
    }

    pub(super) fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    pub(super) fn tag(self, tag: &str) -> Self {
        self.header(header::ETAG, tag)
    }

    /// Responses are never cached.
    pub(super) fn into_response(
        self,
        media_type: Option<&'static str>,
    ) -> Result<Response, ApiError> {
        let mut response = (self.status, self.content.into_body()?).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(media_type) = media_type {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        headers.extend(self.headers);
        if self.status == StatusCode::NOT_MODIFIED {
            headers.remove(header::CONTENT_TYPE);
            *response.body_mut() = Body::empty();
        }
        Ok(response)
    }
}
