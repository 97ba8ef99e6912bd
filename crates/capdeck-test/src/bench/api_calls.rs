//! What Capdeck adds to a request of an HTTP API: an action called through the deck, beside a bare HTTP client that makes
//! the same request of the same server.

use std::{
    net::SocketAddr,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use axum::{Json, Router, extract::Path, routing::get};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime, task::JoinSet};

use super::{
    BenchStage, CallFigures, LoadFigures,
    calls::{CALLERS, MeasuredSides},
    load::{PipeServer, summarise},
};

/// The same GET request by a bare client and through `capdeck serve`, this many times for each number of callers.
pub fn measure_api_calls(stage: &BenchStage, calls: usize) -> Vec<CallFigures> {
    let address = start_api();
    let dirs = stage.api_deck(&json!({"items": {
        "name": "items", "description": "An API of the benchmark", "auth": {"type": "none"},
        "baseUrl": format!("http://{address}"), "maxConcurrency": 64,
        "actions": {"read": {"method": "GET", "path": "/items/{id}"}},
    }}));
    let mut capdeck = PipeServer::start(stage.serve(&dirs));
    let call = json!({"name": "items__read", "arguments": {"id": 7}});
    let answer = capdeck.ask("tools/call", call.clone());
    // A load of refusals would be fast and worthless.
    assert!(answer.contains("a thing") && answer.contains(r#""isError":false"#), "{answer}");
    let (bare, call) = (BareHttpClient::new(address), call.to_string());
    bare.load(calls / 10 + 1, 1);
    capdeck.load(&call, calls / 10 + 1, 1);
    let id = capdeck.id();
    let mut sides = MeasuredSides {
        direct: Box::new(|callers| bare.load(calls, callers)),
        capdeck: (id, Box::new(|callers| capdeck.load(&call, calls, callers))),
        peer: None,
    };
    CALLERS.map(|callers| sides.compare("API", callers)).into()
}

/// An API with one kind of item, on a thread of its own.
fn start_api() -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        single_thread().block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            axum::serve(listener, Router::new().route("/items/{id}", get(item))).await
        })
    });
    receiver.recv().unwrap()
}

async fn item(Path(id): Path<u64>) -> Json<Value> {
    Json(json!({"id": id, "name": "a thing", "tags": ["one", "two"], "price": 12.5}))
}

/// An HTTP client with nothing around it.
struct BareHttpClient {
    http: reqwest::Client,
    url: String,
    runtime: runtime::Runtime,
}

impl BareHttpClient {
    fn new(address: SocketAddr) -> Self {
        // The client insists on a provider, even for plain HTTP; another one may be there already.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap();
        Self { http, url: format!("http://{address}/items/7"), runtime: single_thread() }
    }

    /// Makes this many requests, split between callers.
    fn load(&self, calls: usize, callers: usize) -> LoadFigures {
        let share = calls.div_ceil(callers);
        let started = Instant::now();
        let samples = self.runtime.block_on(async {
            let mut running = JoinSet::new();
            for _ in 0..callers {
                running.spawn(requests(self.http.clone(), self.url.clone(), share));
            }
            running.join_all().await.concat()
        });
        summarise(samples, started.elapsed())
    }
}

async fn requests(http: reqwest::Client, url: String, count: usize) -> Vec<Duration> {
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        let response = http.get(&url).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.bytes().await.unwrap();
        samples.push(started.elapsed());
    }
    samples
}

fn single_thread() -> runtime::Runtime {
    runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
