//! Descriptions that are fetched: kept, asked about again, and never fetched from where the file does not allow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use axum::{body::Bytes, extract::Request, response::Response};
use capdeck_backend::{CallError, ErrorCode};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    http::{redirect, respond, serve},
    http_network::{deck, port, was_contacted},
    support::{Deck, context},
};

/// A description whose only tool has this name.
fn description(tool: &str) -> String {
    json!({
        "kind": "discovery#restDescription", "name": "things", "version": "v1",
        "rootUrl": "https://api.example/", "servicePath": "",
        "methods": {tool: {"id": tool, "path": "things", "httpMethod": "GET"}},
    })
    .to_string()
}

fn api(url: &str) -> Value {
    json!({"kind": "googleDiscovery", "discoveryUrl": url, "baseUrl": "https://api.example/",
        "auth": {"type": "none"}, "retries": 0})
}

async fn tools(deck: &Deck, block: Value) -> Result<Vec<String>, CallError> {
    let connection = deck.connect(block).await?;
    let discovery = connection.discover(&context(Duration::from_secs(20))).await?;
    let tools = serde_json::to_value(&discovery.tools).unwrap();
    Ok(tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().into()).collect())
}

/// A server with one description, which answers as it is informed and remembers what it was asked.
struct Library {
    url: String,
    status: Arc<AtomicU16>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Library {
    async fn start() -> Self {
        let (status, asked) = (Arc::new(AtomicU16::new(200)), Arc::new(Mutex::new(Vec::new())));
        let (says, hears) = (Arc::clone(&status), Arc::clone(&asked));
        let answer = move |_path: &str, request: &Request<Bytes>| {
            let mark = request.headers().get("if-none-match");
            let mark = mark.map_or("", |mark| mark.to_str().unwrap());
            hears.lock().push(mark.to_owned());
            match says.load(Ordering::SeqCst) {
                200 if mark == "\"one\"" => {
                    Response::builder().status(304).body("".into()).unwrap()
                }
                200 => Response::builder()
                    .header("content-type", "application/json")
                    .header("etag", "\"one\"")
                    .header("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")
                    .body(description("list").into())
                    .unwrap(),
                status => respond(status, "text/plain", "no"),
            }
        };
        let url = format!("{}/discovery?key=canary-1", serve(answer).await);
        Self { url, status, asked }
    }
}

#[tokio::test]
async fn a_description_is_asked_about_again_and_used_while_no_one_answers() {
    let library = Library::start().await;
    let deck = Deck::new(&[]);
    assert_eq!(tools(&deck, api(&library.url)).await.unwrap(), ["list"]);
    let deck = deck.restarted(&[]);
    assert_eq!(tools(&deck, api(&library.url)).await.unwrap(), ["list"]);
    assert_eq!(*library.asked.lock(), ["", "\"one\""]);
    assert_eq!(deck.connector.process_log("thing"), None);

    library.status.store(503, Ordering::SeqCst);
    let deck = deck.restarted(&[]);
    assert_eq!(tools(&deck, api(&library.url)).await.unwrap(), ["list"]);
    let log = deck.connector.process_log("thing").unwrap();
    assert!(log.contains("HTTP 503") && log.contains("using the cached copy"), "{log}");
    assert!(!log.contains("canary"), "{log}");

    // A server that says no is believed.
    for status in [404, 410, 403] {
        library.status.store(status, Ordering::SeqCst);
        let error = tools(&deck, api(&library.url)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ServerUnavailable);
        assert!(error.message.contains(&format!("was not given: HTTP {status}")), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_leaves_its_description() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/discovery", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let app = axum::Router::new().fallback(|| async { description("list") });
        axum::serve(listener, app).await
    });
    let deck = Deck::new(&[]);
    assert_eq!(tools(&deck, api(&url)).await.unwrap(), ["list"]);
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());
    let deck = deck.restarted(&[]);
    assert_eq!(tools(&deck, api(&url)).await.unwrap(), ["list"]);
    // Without a copy there is nothing to go on with.
    let error = tools(&Deck::new(&[]), api(&url)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerUnavailable);
}

#[tokio::test]
async fn a_redirect_leads_no_further_than_the_file_allows() {
    let (listener, port) = port();
    let other = serve(|_path, _request| panic!("nothing may arrive here")).await;
    for (location, code, words) in [
        (format!("https://127.0.0.1:{port}/"), ErrorCode::Denied, "`127.0.0.1` is this machine"),
        (format!("https://2130706433:{port}/"), ErrorCode::Denied, "is this machine"),
        (format!("https://[::ffff:7f00:1]:{port}/"), ErrorCode::Denied, "is this machine"),
        (format!("https://x.localhost:{port}/"), ErrorCode::Denied, "is this machine"),
        (
            format!("https://inner.example:{port}/"),
            ErrorCode::Denied,
            "`inner.example` is this machine",
        ),
        (format!("//inner.example:{port}/"), ErrorCode::DownstreamProtocolError, "without TLS"),
        ("https://10.0.0.1/".to_owned(), ErrorCode::Denied, "in a private network"),
        ("https://169.254.169.254/".to_owned(), ErrorCode::Denied, "a metadata service"),
        (format!("{other}/"), ErrorCode::DownstreamProtocolError, "without TLS"),
        ("ftp://api.example/".to_owned(), ErrorCode::DownstreamProtocolError, "without TLS"),
    ] {
        let target = location.clone();
        let base = serve(move |path, _request| match path {
            // The way out comes after a step inside.
            "/discovery" => redirect(302, "/next"),
            _ => redirect(307, &target),
        })
        .await;
        let deck = deck(&["127.0.0.1"]);
        let error = tools(&deck, api(&format!("{base}/discovery"))).await.unwrap_err();
        assert_eq!(error.code, code, "{location}: {error}");
        assert!(error.message.contains(words), "{location}: {error}");
    }
    assert!(!was_contacted(&listener));
}

#[tokio::test]
async fn a_description_may_move_inside_its_server() {
    let base = serve(|path, _request| match path {
        "/discovery" => redirect(301, "/v2"),
        _ => respond(200, "application/json", description("moved")),
    })
    .await;
    let found = tools(&Deck::new(&[]), api(&format!("{base}/discovery"))).await.unwrap();
    assert_eq!(found, ["moved"]);
}

#[tokio::test]
async fn descriptions_are_neither_endless_nor_bottomless() {
    let base = serve(|path, _request| match path {
        "/long" => respond(200, "application/json", vec![b' '; 20 * 1024 * 1024 + 1]),
        _ => respond(200, "application/json", "[".repeat(100_000)),
    })
    .await;
    for (path, message) in [
        ("/long", "the description is larger than 20 MiB"),
        ("/deep", "the description is nested deeper than 128 levels"),
    ] {
        let error = tools(&Deck::new(&[]), api(&format!("{base}{path}"))).await.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::ContentTooLarge, message));
    }
}

#[tokio::test]
async fn a_call_goes_only_where_the_file_allows_even_if_the_description_says_otherwise() {
    let (listener, port) = port();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.json");
    let text =
        description("list").replace("https://api.example/", &format!("https://127.0.0.1:{port}/"));
    std::fs::write(&path, text).unwrap();
    let mut block = json!({"kind": "googleDiscovery", "discoveryPath": path, "auth": {"type": "none"}, "retries": 0});
    let error = Deck::new(&[]).call(block.clone(), "list", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied, "{error}");
    assert!(!was_contacted(&listener));
    block["network"] = "private".into();
    let closing = tokio::task::spawn_blocking(move || {
        listener.set_nonblocking(false).unwrap();
        drop(listener.accept().unwrap());
    });
    let error = Deck::new(&[]).call(block, "list", json!({})).await.unwrap_err();
    closing.await.unwrap();
    assert_ne!(error.code, ErrorCode::Denied, "{error}");
}

#[tokio::test]
async fn loading_takes_no_longer_than_a_request_may() {
    // Connections wait in the queue of the listener, and nothing answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut block = api(&format!("http://{}/api.json", silent.local_addr().unwrap()));
    block["requestTimeoutMs"] = json!(50);
    let error = tools(&Deck::new(&[]), block).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolCallTimeout, "{error}");
}
