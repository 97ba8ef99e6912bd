//! Error responses: `application/problem+json`.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::json;

/// A problem with a stable code. The text is safe for the client.
pub(crate) fn problem(status: StatusCode, code: &str, detail: &str) -> Response {
    let body = json!({
        "type": format!("urn:capdeck:problem:{code}"),
        "title": status.canonical_reason().unwrap_or("Failed"),
        "status": status.as_u16(),
        "detail": detail,
        "code": code,
    });
    let headers =
        [(header::CONTENT_TYPE, "application/problem+json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, body.to_string()).into_response()
}
