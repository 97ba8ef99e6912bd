//! The older HTTP+SSE pair, against a server written for it.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::State,
    response::Response,
    routing::{get, post},
};
use bytes::Bytes;
use capdeck_mcp::client::{ClientError, EraChoice, McpClient, RequestOptions};
use futures_util::StreamExt;
use http::HeaderMap;
use tokio::sync::{Mutex, mpsc};

use crate::support::*;

type Events = mpsc::UnboundedSender<Bytes>;

/// The server's side: what was posted, and a way to send events.
struct Server {
    address: std::net::SocketAddr,
    events: Events,
    posted: Mutex<mpsc::UnboundedReceiver<(HeaderMap, serde_json::Value)>>,
}

impl Server {
    async fn start(first_event: &'static str) -> Self {
        let (events, stream) = mpsc::unbounded_channel::<Bytes>();
        events.send(Bytes::from_static(first_event.as_bytes())).unwrap();
        let (posts, posted) = mpsc::unbounded_channel();
        let stream = Arc::new(Mutex::new(Some(stream)));
        let router = Router::new()
            .route(
                "/sse",
                get(
                    move |State(stream): State<
                        Arc<Mutex<Option<mpsc::UnboundedReceiver<Bytes>>>>,
                    >| async move {
                        let mut stream = stream.lock().await.take().unwrap();
                        let body =
                            futures_util::stream::poll_fn(move |context| stream.poll_recv(context));
                        let body = Body::from_stream(body.map(Ok::<_, Infallible>));
                        Response::builder()
                            .header("content-type", "text/event-stream")
                            .body(body)
                            .unwrap()
                    },
                ),
            )
            .with_state(stream)
            .route(
                "/messages",
                post(move |headers: HeaderMap, body: Bytes| async move {
                    posts.send((headers, serde_json::from_slice(&body).unwrap())).unwrap();
                    (http::StatusCode::ACCEPTED, "Accepted")
                }),
            );
        Self { address: serve_router(router).await, events, posted: Mutex::new(posted) }
    }

    async fn posted(&self) -> serde_json::Value {
        let (headers, body) = soon(async { self.posted.lock().await.recv().await.unwrap() }).await;
        assert_eq!(headers["authorization"], "Bearer canary");
        body
    }

    fn send(&self, data: &str) {
        self.events.send(Bytes::from(format!("event: message\r\ndata: {data}\r\n\r\n"))).unwrap();
    }

    async fn open(&self, owner: Arc<Recorder>) -> Result<McpClient, ClientError> {
        McpClient::sse(target(self.address, "/sse"), owner, PLENTY).await
    }
}

#[tokio::test]
async fn a_whole_session() {
    let server = Server::start("event: endpoint\ndata: /messages?session=1\n\n").await;
    let owner = Recorder::new();
    let client = server.open(owner.clone()).await.unwrap();
    let serving = async {
        assert_eq!(server.posted().await["method"], "initialize");
        server.send(r#"{"id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{}}}"#);
        assert_eq!(server.posted().await["method"], "notifications/initialized");
    };
    let (greeting, ()) = tokio::join!(client.connect(hello(), EraChoice::Legacy, PLENTY), serving);
    assert_eq!(greeting.unwrap().revision.as_str(), "2024-11-05");

    let events = Recorder::new();
    let options = RequestOptions { events: Some(events.clone()), ..RequestOptions::within(PLENTY) };
    let serving = async {
        assert_eq!(server.posted().await["id"], 2);
        server.send(r#"{"id":"q","method":"sampling/createMessage"}"#);
        assert_eq!(server.posted().await["id"], "q");
        server.send(r#"{"method":"notifications/tools/list_changed"}"#);
        server.send(r#"{"id":2,"result":{"kept":  1.0}}"#);
    };
    let (result, ()) = tokio::join!(client.request("tools/call", None, options), serving);
    assert_eq!(result.unwrap().get(), r#"{"kept":  1.0}"#);
    assert_eq!(events.rest().await, ["sampling/createMessage"]);
    assert_eq!(owner.next().await, "notifications/tools/list_changed");
}

#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_connection() {
    let server = Server::start("event: endpoint\ndata: /messages\n\n").await;
    let client = server.open(Recorder::new()).await.unwrap();
    let ending = async {
        server.posted().await;
        let Server { events, .. } = server;
        drop(events);
    };
    let (outcome, ()) = soon(async { tokio::join!(ask(&client, "m", None), ending) }).await;
    let Err(ClientError::Closed { reason }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(reason, "the server closed the event stream");
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    let server = Server::start("event: endpoint\ndata: http://elsewhere.example/m\n\n").await;
    let error = server.open(Recorder::new()).await.unwrap_err().to_string();
    assert!(error.contains("points to another origin: `http://elsewhere.example`"), "{error}");
}

#[tokio::test]
async fn a_server_without_an_endpoint_ends_at_the_deadline() {
    let server = Server::start(": hello\n\n").await;
    let opened =
        McpClient::sse(target(server.address, "/sse"), Recorder::new(), Duration::from_millis(40))
            .await;
    assert!(matches!(opened, Err(ClientError::Timeout { .. })));
}
