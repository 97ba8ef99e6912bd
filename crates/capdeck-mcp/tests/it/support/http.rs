//! Loopback HTTP servers: ours mounted in axum, and scripted ones.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Once},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    response::Response,
    serve::ListenerExt,
};
use capdeck_mcp::{
    client::{ClientHandler, HttpTarget, McpClient},
    server::{HttpEndpoint, HttpOptions, SessionOwner},
};
use http::{HeaderMap, HeaderValue, Method};
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::mpsc};
use url::Url;

use super::Fixture;

/// An HTTP client as the product builds them: no redirects, no delays.
pub(crate) fn http_client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        rustls::crypto::ring::default_provider().install_default().unwrap();
    });
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .no_proxy()
        .build()
        .unwrap()
}

/// Where a loopback server is, with a credential on every request.
pub(crate) fn target(address: SocketAddr, path: &str) -> HttpTarget {
    let headers = HeaderMap::from_iter([(
        http::header::AUTHORIZATION,
        HeaderValue::from_static("Bearer canary"),
    )]);
    let url = Url::parse(&format!("http://{address}{path}")).unwrap();
    HttpTarget { url, headers, http: http_client(), credentials: None }
}

/// Serves a router on a free port.
pub(crate) async fn serve_router(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// Serves a fixture at `/mcp`, to the one who a header says they are.
pub(crate) async fn serve_endpoint(
    fixture: &Arc<Fixture>,
    options: HttpOptions,
) -> (Arc<HttpEndpoint>, SocketAddr) {
    let endpoint = HttpEndpoint::new(Arc::clone(fixture) as _, options);
    let mounted = endpoint.clone();
    let router = Router::new().fallback(move |request: Request| {
        let endpoint = mounted.clone();
        async move {
            let (mut parts, body) = request.into_parts();
            if let Some(name) = parts.headers.get("x-principal") {
                parts.extensions.insert(SessionOwner(name.to_str().unwrap().into()));
            }
            let body = to_bytes(body, usize::MAX).await.unwrap();
            endpoint.handle(http::Request::from_parts(parts, body)).await
        }
    });
    (endpoint, serve_router(router).await)
}

/// A client of that server.
pub(crate) fn connect(address: SocketAddr, handler: Arc<dyn ClientHandler>) -> McpClient {
    McpClient::http(target(address, "/mcp"), handler)
}

/// What a scripted server was asked.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: serde_json::Value,
}

/// A server that answers each request with the next prepared response, once it has reported the request.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    asked: tokio::sync::Mutex<mpsc::UnboundedReceiver<Asked>>,
}

impl Scripted {
    /// `GET` requests without a `Last-Event-ID` are refused and not reported: they only ask to listen.
    pub(crate) async fn start(responses: impl IntoIterator<Item = Response>) -> Self {
        let script: Arc<Mutex<VecDeque<Response>>> =
            Arc::new(Mutex::new(responses.into_iter().collect()));
        let (sender, asked) = mpsc::unbounded_channel();
        let router = Router::new().fallback(move |request: Request| {
            let (script, sender) = (Arc::clone(&script), sender.clone());
            async move {
                let (parts, body) = request.into_parts();
                if parts.method == Method::GET && !parts.headers.contains_key("last-event-id") {
                    return Response::builder().status(405).body(Body::empty()).unwrap();
                }
                let body = to_bytes(body, usize::MAX).await.unwrap();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                sender.send(Asked { method: parts.method, headers: parts.headers, body }).unwrap();
                let next = script.lock().pop_front();
                next.unwrap_or_else(|| Response::builder().status(500).body(Body::empty()).unwrap())
            }
        });
        let address = serve_router(router).await;
        Self { address, asked: tokio::sync::Mutex::new(asked) }
    }

    /// The next request.
    pub(crate) async fn asked(&self) -> Asked {
        super::soon(async { self.asked.lock().await.recv().await.unwrap() }).await
    }
}
