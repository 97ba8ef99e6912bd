//! Responses of operations, and JSON objects in them whose members are defined elsewhere: tool definitions, results, cards.

use std::borrow::Cow;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use capdeck_host::RawMembers;
use http::{HeaderName, HeaderValue, StatusCode, header};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{ApiError, ApiResult};

#[derive(Debug)]
pub(super) struct RestResponse<T> {
    /// `None`: the usual one of the operation.
    status: Option<StatusCode>,
    headers: Vec<(HeaderName, HeaderValue)>,
    content: T,
}

pub(super) trait ResponseContent: Send + 'static {
    /// `None` without a body.
    const MEDIA_TYPE: Option<&'static str> = Some("application/json");

    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }

    fn into_body(self) -> ApiResult<Body>;
}

#[derive(Debug)]
pub(super) struct NoContent;

#[derive(Debug)]
pub(super) struct ByteContent<const GZIP: bool>(pub(super) Body);

pub(super) type ArchiveContent = ByteContent<true>;
pub(super) type BinaryContent = ByteContent<false>;

impl<T: Serialize + JsonSchema + Send + 'static> ResponseContent for T {
    fn schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }

    fn into_body(self) -> ApiResult<Body> {
        let text = serde_json::to_vec(&self);
        text.map(Body::from)
            .map_err(|error| ApiError::internal("cannot serialize the response", &error))
    }
}

impl ResponseContent for NoContent {
    const MEDIA_TYPE: Option<&'static str> = None;

    fn into_body(self) -> ApiResult<Body> {
        Ok(Body::empty())
    }
}

impl<const GZIP: bool> ResponseContent for ByteContent<GZIP> {
    const MEDIA_TYPE: Option<&'static str> =
        Some(if GZIP { "application/gzip" } else { "application/octet-stream" });

    fn into_body(self) -> ApiResult<Body> {
        Ok(self.0)
    }
}

#[derive(Debug)]
pub(super) struct EncodedJson(pub(super) bytes::Bytes);

impl ResponseContent for EncodedJson {
    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        Some(json_schema!({ "type": "object" }))
    }

    fn into_body(self) -> ApiResult<Body> {
        Ok(Body::from(self.0))
    }
}

/// What a handler returns: content alone, or a response with a status and headers.
pub(super) trait OperationResponse: Send + 'static {
    type Content: ResponseContent;

    fn into_rest_response(self) -> RestResponse<Self::Content>;
}

impl<T: ResponseContent> OperationResponse for T {
    type Content = T;

    fn into_rest_response(self) -> RestResponse<T> {
        RestResponse::new(self)
    }
}

impl<T: ResponseContent> OperationResponse for RestResponse<T> {
    type Content = T;

    fn into_rest_response(self) -> Self {
        self
    }
}

impl<T: ResponseContent> RestResponse<T> {
    pub(super) fn new(content: T) -> Self {
        Self { status: None, headers: Vec::new(), content }
    }

    pub(super) fn status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
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
    pub(super) fn into_response(self, usual: StatusCode) -> ApiResult<Response> {
        let status = self.status.unwrap_or(usual);
        let mut response = (status, self.content.into_body()?).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(media_type) = T::MEDIA_TYPE {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        headers.extend(self.headers);
        if status == StatusCode::NOT_MODIFIED {
            headers.remove(header::CONTENT_TYPE);
            *response.body_mut() = Body::empty();
        }
        Ok(response)
    }
}

/// An object that is documented at its source.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct JsonObject(pub(super) Value);

/// The same, unchanged.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct RawToolResult(pub(super) Box<RawValue>);

/// A body without members.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyBody {}

/// A tool definition, unchanged.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct ToolDefinition(pub(super) RawMembers);

macro_rules! open_object {
    ($($name:ident as $schema:literal: $text:literal, $required:expr;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $schema.into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let required: &[&str] = $required;
                json_schema!({ "type": "object", "description": $text, "required": required })
            }
        }
    )*};
}

open_object! {
    JsonObject as "JsonObject": "An object with the members of `capdeck … --json`", &[];
    RawToolResult as "ToolResult": "An object of the capability, unchanged", &[];
    ToolDefinition as "ToolDefinition": "A tool as its capability defines it: `name`, `description`, `inputSchema` and more", &["name"];
}
