//! How many requests run at once and how often, and what those who wait are informed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::Router;
use capdeck_backend::{ErrorCode, ErrorKind};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    http::{respond, serve},
    support::{Deck, call, cancellable, context, until},
};

/// Requests under way at a server that answers when it is informed to.
#[derive(Debug)]
struct Server {
    running: AtomicUsize,
    most: AtomicUsize,
    answers: Semaphore,
}

async fn start() -> (String, Arc<Server>) {
    let server = Arc::new(Server {
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        answers: Semaphore::new(0),
    });
    let shared = Arc::clone(&server);
    let app = Router::new().fallback(move || {
        let server = Arc::clone(&shared);
        async move {
            let running = server.running.fetch_add(1, Ordering::SeqCst) + 1;
            server.most.fetch_max(running, Ordering::SeqCst);
            server.answers.acquire().await.unwrap().forget();
            server.running.fetch_sub(1, Ordering::SeqCst);
            "done"
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    (format!("http://{address}"), server)
}

fn api(base: &str, extra: &Value) -> Value {
    let mut backend = json!({
        "kind": "http", "baseUrl": base, "auth": {"type": "none"},
        "actions": {"get": {"method": "GET", "path": "/"}},
    });
    backend.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    backend
}

#[tokio::test]
async fn no_more_run_at_once_than_the_file_allows() {
    let (base, server) = start().await;
    let connection =
        Deck::new(&[]).connect(api(&base, &json!({"maxConcurrency": 3}))).await.unwrap();
    let context = context(Duration::from_secs(20));
    let calls = futures_util::future::join_all(
        (0..12).map(|_| call(&connection, "get", json!({}), &context)),
    );
    let answering = async {
        until("as many as allowed", || (server.running.load(Ordering::SeqCst) == 3).then_some(()))
            .await;
        server.answers.add_permits(12);
    };
    let (results, ()) = tokio::join!(calls, answering);
    assert!(results.iter().all(|result| result.as_ref().unwrap()["isError"] == false));
    assert_eq!(server.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn who_waits_ends_with_a_reason() {
    let (base, server) = start().await;
    let connection =
        Deck::new(&[]).connect(api(&base, &json!({"maxConcurrency": 1}))).await.unwrap();
    let long = context(Duration::from_secs(20));
    let first = call(&connection, "get", json!({}), &long);
    let others = async {
        until("the first request", || (server.running.load(Ordering::SeqCst) == 1).then_some(()))
            .await;
        let short = context(Duration::from_millis(50));
        let error = call(&connection, "get", json!({}), &short).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolCallTimeout);
        assert_eq!(
            error.message,
            "no request to `thing` could be made in time: `maxConcurrency` allows 1 at once"
        );
        let cancel = CancellationToken::new();
        let cancelled = cancellable(cancel.clone());
        let waiting = call(&connection, "get", json!({}), &cancelled);
        let (result, ()) = tokio::join!(waiting, async { cancel.cancel() });
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
        server.answers.add_permits(2);
    };
    let (first, ()) = tokio::join!(first, others);
    first.unwrap();
    // Those who gave up hold no place.
    call(&connection, "get", json!({}), &long).await.unwrap();
    assert_eq!(server.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_rate_spreads_requests_and_says_when_it_cannot() {
    let base = serve(|_path, _request| respond(200, "text/plain", "x")).await;
    let rate = json!({"rateLimit": {"requests": 2, "per": "second"}});
    let connection = Deck::new(&[]).connect(api(&base, &rate)).await.unwrap();
    let long = context(Duration::from_secs(20));
    for _ in 0..3 {
        call(&connection, "get", json!({}), &long).await.unwrap();
    }

    let rate = json!({"rateLimit": {"requests": 1, "per": "minute"}});
    let connection = Deck::new(&[]).connect(api(&base, &rate)).await.unwrap();
    call(&connection, "get", json!({}), &long).await.unwrap();
    // Not the deadline's own error: it is known at once that there is no turn before it.
    let error = call(&connection, "get", json!({}), &long).await.unwrap_err();
    assert_eq!(
        error.message,
        "no request to `thing` could be made in time: `rateLimit` allows 1 per minute"
    );
}
