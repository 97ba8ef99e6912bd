//! The fixture over Streamable HTTP, on this machine only.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::any,
    serve::ListenerExt,
};
use capdeck_mcp::server::{HttpEndpoint, HttpOptions};
use http::{
    HeaderMap, Method, StatusCode,
    header::{CONTENT_TYPE, HOST, ORIGIN},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    fixture::{ConformanceFixture, FixtureService},
    forced_era::ForcedEra,
};
use capdeck_mcp::Era;

struct FixtureEndpoint {
    endpoint: Arc<HttpEndpoint>,
    era: Option<ForcedEra>,
    address: SocketAddr,
}

/// Serves until the process is ended. `ready` hears the address; port 0 picks one.
pub async fn serve_http(
    fixture: Arc<ConformanceFixture>,
    era: Option<ForcedEra>,
    port: u16,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    let endpoint = HttpEndpoint::new(Arc::new(FixtureService(fixture)), HttpOptions::default());
    let served = Arc::new(FixtureEndpoint { endpoint, era, address });
    let router = Router::new().route("/mcp", any(answer)).with_state(served);
    // Without this, small events wait for the client's delayed acknowledgement.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    ready(address);
    axum::serve(listener, router).await
}

async fn answer(State(served): State<Arc<FixtureEndpoint>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if !is_local(&head.headers, served.address.port()) {
        return refusal(
            StatusCode::FORBIDDEN,
            &Value::Null,
            &json!("Host or Origin is not this machine"),
        );
    }
    let Ok(body) = body.collect().await else { return StatusCode::BAD_REQUEST.into_response() };
    let body = body.to_bytes();
    if let Some(era) = served.era {
        if era.0 == Era::Modern && head.method != Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        }
        let version = head.headers.get("mcp-protocol-version").and_then(|text| text.to_str().ok());
        if era.0 == Era::Legacy && version.is_some_and(|version| !era.has_revision(version)) {
            let error =
                json!({ "code": -32000, "message": "Bad Request: Unsupported protocol version" });
            return refusal(StatusCode::BAD_REQUEST, &Value::Null, &error);
        }
        if let Some(refused) = era.refuse(&body) {
            return refusal(StatusCode::BAD_REQUEST, &json!(refused.id), &json!(refused.error));
        }
    }
    served.endpoint.handle(http::Request::from_parts(head, body)).await.map(Body::new)
}

fn refusal(status: StatusCode, id: &Value, error: &Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}

/// A web page on another origin must not reach a server on this machine through DNS.
fn is_local(headers: &HeaderMap, port: u16) -> bool {
    let is_ours = |authority: &str| {
        ["127.0.0.1", "localhost"].iter().any(|name| authority == format!("{name}:{port}"))
    };
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let origin_is_fine =
        text(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_ours));
    text(HOST).is_some_and(is_ours) && origin_is_fine
}
