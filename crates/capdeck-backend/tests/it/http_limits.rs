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
async fn a_server_that_does_not_speak_http_is_distinguished() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _peer) = listener.accept().await.unwrap();
            let greeting = b"SSH-2.0-nope\r\n\r\n";
            tokio::io::AsyncWriteExt::write_all(&mut stream, greeting).await.unwrap();
        }
    });
    let error =
        Deck::new(&[]).call(api(&base, json!({})), "get", json!({"file": "x"})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::DownstreamProtocolError);
    assert!(
        error.message.starts_with(&format!("the exchange with `{base}` broke off: ")),
        "{error}"
    );
}

/// A server that sends the same answer to the one who connects.
async fn raw(answer: Vec<u8>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _peer) = listener.accept().await.unwrap();
            let mut request = [0; 2048];
            let _read = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
            let _sent = tokio::io::AsyncWriteExt::write_all(&mut stream, &answer).await;
        }
    });
    base
}

#[tokio::test]
async fn an_answer_has_a_bounded_number_of_headers() {
    let answer = |count: usize| {
        let headers: String = (0..count).map(|number| format!("x-{number}: y\r\n")).collect();
        format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n{headers}\r\nok").into_bytes()
    };
    let base = raw(answer(90)).await;
    let backend = api(&base, json!({}));
    let result = Deck::new(&[]).call(backend, "get", json!({"file": "x"})).await.unwrap();
    assert_eq!(result["content"][0]["text"], "ok");
    let base = raw(answer(5_000)).await;
    let backend = api(&base, json!({}));
    let error = Deck::new(&[]).call(backend, "get", json!({"file": "x"})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::DownstreamProtocolError);
    assert!(error.message.contains("broke off"), "{error}");
}

#[tokio::test]
async fn json_that_is_nested_too_deep_is_reported_as_text() {
    let deep = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let sent = deep.clone();
    let base = serve(move |_path, _request| respond(200, "application/json", sent.clone())).await;
    let backend = api(&base, json!({}));
    let result = Deck::new(&[]).call(backend, "get", json!({"file": "x"})).await.unwrap();
    assert_eq!(result["structuredContent"]["body"], deep);
}

#[tokio::test]
async fn an_answer_that_says_it_is_too_long_is_not_read() {
    let length = 100 * 1024 * 1024 + 1;
    let base =
        raw(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\nx").into_bytes()).await;
    let backend = api(&base, json!({}));
    let error = Deck::new(&[]).call(backend, "get", json!({"file": "x"})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ContentTooLarge);
    assert_eq!(error.message, "the response is larger than 100 MiB");
}

/// The most memory this process ever had, in bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn an_endless_answer_ends_at_the_limit_and_never_lies_in_memory() {
    let app = Router::new().fallback(|| async {
        let chunk = Bytes::from(vec![b'x'; 256 * 1024]);
        let endless = futures_util::stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()));
        Response::new(Body::from_stream(endless))
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let deck = Deck::new(&[]);
    let connection = deck.connect(api(&base, json!({}))).await.unwrap();
    let before = most_memory();
    let context = context(Duration::from_secs(120));
    let error = call(&connection, "get", json!({"file": "x"}), &context).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ContentTooLarge);
    let grown = most_memory() - before;
    assert!(grown < 32 * 1024 * 1024, "{grown}");
    // What came of it is not left behind.
    let left = walk(&deck.folder.path().join("artifacts"));
    assert_eq!(left, 0, "{left} bytes");
}

/// The bytes of all files below a folder.
fn walk(folder: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| match entry.file_type().unwrap().is_dir() {
            true => walk(&entry.path()),
            false => entry.metadata().unwrap().len(),
        })
        .sum()
}
