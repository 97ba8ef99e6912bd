//! HTTP responses and rejections.

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};

use crate::{
    RequestId, RpcError, encode,
    server::{
        MissingScopes,
        response_body::{EventReader, ResponseBody, ResponseBodyKind},
    },
};

/// A rejected request: an HTTP status with a JSON-RPC error in the body.
#[derive(Debug)]
pub(super) struct HttpErrorReply {
    status: StatusCode,
    id: Option<RequestId>,
    error: RpcError,
    missing_scopes: Option<MissingScopes>,
}

impl HttpErrorReply {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self::with_status(status, RpcError::new(RpcError::REFUSED, message))
    }

    /// The token of the sender has no scope for a request.
    pub(super) fn missing_scopes(missing: MissingScopes) -> Self {
        let message = format!("this needs a token with the scopes: {}", missing.0);
        Self { missing_scopes: Some(missing), ..Self::new(StatusCode::FORBIDDEN, message) }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn session_not_found() -> Self {
        let message = "this session does not exist; send `initialize` to open a new one";
        let error = RpcError::new(RpcError::SESSION_NOT_FOUND, message);
        Self::with_status(StatusCode::NOT_FOUND, error)
    }

    pub(super) fn malformed(id: Option<RequestId>, error: RpcError) -> Self {
        Self { id, ..Self::with_status(StatusCode::BAD_REQUEST, error) }
    }

    pub(super) fn with_status(status: StatusCode, error: RpcError) -> Self {
        Self { status, id: None, error, missing_scopes: None }
    }

    #[must_use]
    pub(super) fn with_id(mut self, id: RequestId) -> Self {
        self.id = Some(id);
        self
    }

    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let mut response = json(self.status, encode::failure(self.id.as_ref(), &self.error));
        if let Some(missing) = self.missing_scopes {
            response.extensions_mut().insert(missing);
        }
        response
    }
}

/// The HTTP status that says the same as an error.
pub(super) fn status_of(error: &RpcError) -> StatusCode {
    match error.code {
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        RpcError::HEADER_MISMATCH
        | RpcError::MISSING_CAPABILITY
        | RpcError::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        RpcError::REFUSED => StatusCode::SERVICE_UNAVAILABLE,
        RpcError::TOO_MANY_SESSIONS => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody(ResponseBodyKind::Full(Some(body.into()))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody(ResponseBodyKind::Full(None)));
    *response.status_mut() = status;
    response
}

pub(super) fn accepted() -> Response<ResponseBody> {
    empty(StatusCode::ACCEPTED)
}

pub(super) fn events(reader: EventReader) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody(ResponseBodyKind::Events(reader)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
