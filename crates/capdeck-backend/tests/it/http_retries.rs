//! What is sent again, what is not, and what is informed about it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{body::Body, response::Response};
use capdeck_backend::ErrorCode;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    http::{respond, serve},
    support::{Deck, call, context},
};

fn api(base: &str, method: &str, extra: &Value) -> Value {
    let mut backend = json!({
        "kind": "http", "baseUrl": base, "auth": {"type": "none"},
        "actions": {"go": {"method": method, "path": "/"}},
    });
    backend.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    backend
}

/// A server that fails this often with this status, and then works. Counts the requests.
async fn failing(
    status: u16,
    failures: u32,
    retry_after: Option<&str>,
) -> (String, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let retry_after = retry_after.map(str::to_owned);
    let base = serve(move |_path, _request| {
        if counted.fetch_add(1, Ordering::SeqCst) >= failures {
            return respond(200, "text/plain", "at last");
        }
        let mut response = Response::builder().status(status);
        if let Some(wish) = &retry_after {
            response = response.header("retry-after", wish);
        }
        response.body(Body::from("not now")).unwrap()
    })
    .await;
    (base, count)
}

#[tokio::test]
async fn only_what_may_be_repeated_is_repeated() {
    for (method, status, extra, requests, answer) in [
        ("GET", 503, json!({}), 3, 200),
        ("PUT", 502, json!({}), 3, 200),
        ("DELETE", 504, json!({}), 3, 200),
        ("GET", 429, json!({"retries": 1}), 2, 429),
        ("GET", 503, json!({"retries": 0}), 1, 503),
        ("GET", 500, json!({}), 1, 500),
        ("GET", 501, json!({}), 1, 501),
        ("POST", 503, json!({}), 1, 503),
        ("POST", 429, json!({"retries": 5}), 1, 429),
        ("PATCH", 503, json!({}), 1, 503),
    ] {
        let (base, count) = failing(status, 2, None).await;
        let result =
            Deck::new(&[]).call(api(&base, method, &extra), "go", json!({})).await.unwrap();
        let what = format!("{method} {status} {extra}");
        assert_eq!(count.load(Ordering::SeqCst), requests, "{what}");
        assert_eq!(result["structuredContent"]["status"], answer, "{what}");
        let meta = &result["_meta"];
        assert_eq!(meta["capdeck/status"], answer, "{what}");
        let attempts = (requests > 1).then_some(requests);
        assert_eq!(meta.get("capdeck/attempts").cloned(), attempts.map(Value::from), "{what}");
    }
}

#[tokio::test]
async fn the_server_says_when() {
    let (base, count) = failing(503, 1, Some("1")).await;
    let result = Deck::new(&[]).call(api(&base, "GET", &json!({})), "go", json!({})).await.unwrap();
    assert_eq!(result["content"][0]["text"], "at last");
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    for wish in ["3600", "18446744073709551615", "Fri, 31 Dec 2100 23:59:59 GMT"] {
        let (base, count) = failing(429, 1, Some(wish)).await;
        let connection = Deck::new(&[]).connect(api(&base, "GET", &json!({}))).await.unwrap();
        let context = context(Duration::from_secs(20));
        // One who waited would answer with the deadline's error instead.
        let result = call(&connection, "go", json!({}), &context).await.unwrap();
        assert_eq!(result["_meta"]["capdeck/status"], 429);
        assert_eq!(result["_meta"]["capdeck/responseHeaders"]["retry-after"], wish);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_connection_that_never_was_may_be_tried_again_by_anyone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for method in ["GET", "POST"] {
        let backend = api(&base, method, &json!({"retries": 1}));
        let error = Deck::new(&[]).call(backend, "go", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ServerUnavailable);
        assert!(error.message.ends_with(" (after 2 attempts)"), "{error}");
    }
}

/// Reads each request and closes, the first times; then answers. Counts the requests.
async fn cutting(times: u32) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut stream, _peer) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            while !read.windows(4).any(|end| end == b"\r\n\r\n") {
                if stream.read_buf(&mut read).await.unwrap() == 0 {
                    break;
                }
            }
            if counted.fetch_add(1, Ordering::SeqCst) >= times {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
                stream.write_all(answer).await.unwrap();
            }
        }
    });
    (base, count)
}

#[tokio::test]
async fn a_request_that_was_cut_off_is_repeated_only_if_that_does_no_harm() {
    for (method, requests, succeeds) in [("GET", 2, true), ("DELETE", 2, true), ("POST", 1, false)]
    {
        let (base, count) = cutting(1).await;
        let backend = api(&base, method, &json!({}));
        let result = Deck::new(&[]).call(backend, "go", json!({})).await;
        assert_eq!(count.load(Ordering::SeqCst), requests, "{method}");
        match result {
            Ok(result) => assert!(succeeds && result["_meta"]["capdeck/attempts"] == 2),
            Err(error) => {
                assert!(!succeeds, "{method}: {error}");
                assert_eq!(error.code, ErrorCode::DownstreamProtocolError);
            }
        }
    }
}
