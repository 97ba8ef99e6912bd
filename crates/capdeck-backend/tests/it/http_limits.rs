//! Responses that are large, binary, slow or broken.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    http::header,
    response::Response,
};
use capdeck_backend::{ErrorCode, ErrorKind};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    http::{respond, serve},
    support::{Deck, call, cancellable, context},
};

fn api(base: &str, extra: Value) -> Value {
    let mut backend = json!({
        "kind": "http", "baseUrl": base, "auth": {"type": "none"},
        "actions": {"get": {"method": "GET", "path": "/{file}"}},
    });
    backend.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    backend
}

#[tokio::test]
async fn a_long_text_is_cut_and_kept_whole() {
    let whole = "é".repeat(700);
    let sent = whole.clone();
    let base = serve(move |_path, _request| respond(200, "application/json", sent.clone())).await;
    let deck = Deck::new(&[]);
    let backend = api(&base, json!({"maxResponseBytes": 101}));
    let result = deck.call(backend, "get", json!({"file": "long"})).await.unwrap();
    let structured = &result["structuredContent"];
    assert_eq!(structured["body"], "é".repeat(50));
    assert_eq!(structured["truncated"], true);
    assert_eq!(structured["kind"], "remote-reference");
    assert_eq!(structured["byteLength"], 1400);
    assert_eq!(structured["filename"], "response.json");
    let uri = structured["uri"].as_str().unwrap();
    assert_eq!(result["content"][1]["uri"], uri);
    let (artifact, bytes) = deck.connector.artifacts().read(uri).await.unwrap();
    assert_eq!(bytes, whole.as_bytes());
    assert_eq!(structured["sha256"], artifact.sha256);
    assert_eq!(artifact.mime_type.as_deref(), Some("application/json"));
}

#[tokio::test]
async fn binary_data_and_attachments_become_artifacts() {
    let base = serve(|path, _request| match path {
        "/image" => respond(200, "image/png", vec![0x89, b'P', b'N', b'G', 0, 255]),
        "/unnamed" => Response::new(Body::from(vec![1u8, 0, 2])),
        _ => Response::builder()
            .header(header::CONTENT_TYPE, "text/csv")
            .header(header::CONTENT_DISPOSITION, "attachment; filename=\"../../my report.csv\"")
            .body(Body::from("a,b\n"))
            .unwrap(),
    })
    .await;
    for (file, filename, mime_type, bytes) in [
        ("image", "response.png", json!("image/png"), vec![0x89, b'P', b'N', b'G', 0, 255]),
        ("unnamed", "response", Value::Null, vec![1, 0, 2]),
        ("csv", "_.._my_report.csv", json!("text/csv"), b"a,b\n".to_vec()),
    ] {
        let deck = Deck::new(&[]);
        let result = deck.call(api(&base, json!({})), "get", json!({"file": file})).await.unwrap();
        let structured = &result["structuredContent"];
        assert_eq!(structured["filename"], filename);
        assert_eq!(structured["mimeType"], mime_type);
        assert_eq!(structured.get("body"), None);
        let uri = structured["uri"].as_str().unwrap();
        assert_eq!(deck.connector.artifacts().read(uri).await.unwrap().1, bytes);
    }
}

/// A server whose answers begin and never end, or never begin.
async fn slow_server() -> String {
    let app = Router::new()
        .route("/silent", axum::routing::get(std::future::pending::<Response>))
        .fallback(|| async {
            let begun = Ok::<_, Infallible>(Bytes::from_static(b"begun"));
            let stream = futures_util::StreamExt::chain(
                futures_util::stream::iter([begun]),
                futures_util::stream::pending(),
            );
            Response::new(Body::from_stream(stream))
        });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

#[tokio::test]
async fn a_slow_server_ends_at_the_deadline() {
    let base = slow_server().await;
    for file in ["silent", "dripping"] {
        let deck = Deck::new(&[]);
        let connection = deck.connect(api(&base, json!({"requestTimeoutMs": 100}))).await.unwrap();
        let context = cancellable(CancellationToken::new());
        let error = call(&connection, "get", json!({"file": file}), &context).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolCallTimeout);
        assert_eq!(error.message, "`get` had no complete answer within 100 ms");
        let log = deck.connector.process_log("thing").unwrap();
        assert_eq!(log, "get: `get` had no complete answer within 100 ms\n");
    }
}

#[tokio::test]
async fn a_call_can_be_cancelled() {
    let base = slow_server().await;
    let connection = Deck::new(&[]).connect(api(&base, json!({}))).await.unwrap();
    let cancel = CancellationToken::new();
    let context = cancellable(cancel.clone());
    let calling = call(&connection, "get", json!({"file": "dripping"}), &context);
    let (result, ()) = tokio::join!(calling, async { cancel.cancel() });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let connection = Deck::new(&[]).connect(api(&base, json!({}))).await.unwrap();
    let context = context(Duration::from_secs(20));
    let error = call(&connection, "get", json!({"file": "x"}), &context).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerUnavailable);
    assert!(error.message.starts_with(&format!("`{base}` cannot be reached: ")), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_speak_http_is_told_apart() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _peer) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"SSH-2.0-nope\r\n\r\n").await.unwrap();
    });
    let error =
        Deck::new(&[]).call(api(&base, json!({})), "get", json!({"file": "x"})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::DownstreamProtocolError);
    assert!(
        error.message.starts_with(&format!("the exchange with `{base}` broke off: ")),
        "{error}"
    );
}
