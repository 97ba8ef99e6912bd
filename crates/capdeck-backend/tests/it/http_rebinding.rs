//! Calls whose way leads inside after it was checked: names that change their minds, and redirects.

use std::{
    io::{self, Read as _},
    net::{IpAddr, TcpListener},
    sync::Arc,
};

use async_trait::async_trait;
use capdeck_auth::NameResolver;
use capdeck_backend::{CallError, ErrorCode};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    http::{redirect, serve},
    http_network::{deck, port, was_contacted},
    support::Deck,
};

/// Gives these addresses one after the other, and the last one from then on.
#[derive(Debug)]
struct Rebinding {
    answers: Mutex<Vec<IpAddr>>,
    asked: Mutex<usize>,
}

#[async_trait]
impl NameResolver for Rebinding {
    async fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        *self.asked.lock() += 1;
        let mut answers = self.answers.lock();
        let next = if answers.len() > 1 { answers.remove(0) } else { answers[0] };
        Ok(vec![next])
    }
}

impl Rebinding {
    fn new(answers: &[&str]) -> Arc<Self> {
        let answers = answers.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { answers: Mutex::new(answers), asked: Mutex::new(0) })
    }
}

/// A block of each kind that is called at `base`, and the tool to call.
fn kinds(base: &str, folder: &Deck) -> [(Value, &'static str); 4] {
    let write = |name: &str, text: &str| {
        let path = folder.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let openapi = json!({"openapi": "3.1.0", "paths": {"/": {"get": {"operationId": "go"}}}});
    let google = json!({
        "kind": "discovery#restDescription", "name": "a", "version": "v1", "rootUrl": base, "servicePath": "",
        "methods": {"go": {"id": "go", "path": "things", "httpMethod": "GET"}},
    });
    let common = json!({
        "auth": {"type": "bearer", "token": "canary-token"}, "network": "private", "retries": 1, "requestTimeoutMs": 5000,
    });
    let block = |more: Value| {
        let mut block = common.clone();
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        block
    };
    [
        (
            block(json!({"kind": "http", "baseUrl": base,
                "actions": {"go": {"method": "GET", "path": "/"}}})),
            "go",
        ),
        (
            block(json!({"kind": "openapi", "baseUrl": base,
                "specPath": write("api.json", &openapi.to_string())})),
            "go",
        ),
        (
            block(json!({"kind": "googleDiscovery", "baseUrl": format!("{base}/"),
                "discoveryPath": write("google.json", &google.to_string())})),
            "go",
        ),
        (
            block(json!({"kind": "graphql", "endpointUrl": format!("{base}/graphql"),
                "schemaPath": write("schema.graphql", "type Query { go: String }")})),
            "query_go",
        ),
    ]
}

/// Takes this many connections, reads what comes first, and closes them.
fn closing(listener: TcpListener, times: usize) -> tokio::task::JoinHandle<(TcpListener, Vec<u8>)> {
    tokio::task::spawn_blocking(move || {
        listener.set_nonblocking(false).unwrap();
        let mut first = Vec::new();
        for _ in 0..times {
            let (mut stream, _peer) = listener.accept().unwrap();
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).unwrap();
            first.extend_from_slice(&buffer[..length]);
        }
        listener.set_nonblocking(true).unwrap();
        (listener, first)
    })
}

#[tokio::test]
async fn a_name_that_changes_between_attempts_is_held_against_the_rules_again() {
    for kind in 0..4 {
        let (listener, port) = port();
        let names = Rebinding::new(&["127.0.0.1", "169.254.169.254"]);
        let deck = Deck::with_names(Arc::clone(&names) as Arc<dyn NameResolver>);
        let base = format!("https://api.example.test:{port}");
        let (block, tool) = kinds(&base, &deck)[kind].clone();
        let cut = closing(listener, 1);
        // The first attempt may go there and is cut; the second one would go to the metadata service.
        let error = deck.call(block, tool, json!({})).await.unwrap_err();
        let (listener, sent) = cut.await.unwrap();
        assert_eq!(error.code, ErrorCode::Denied, "{kind}: {error}");
        assert!(error.message.ends_with("`api.example.test` is a metadata service"), "{error}");
        assert_eq!(*names.asked.lock(), 2);
        assert!(!was_contacted(&listener));
        assert_is_only_a_greeting(&sent);
    }
}

#[tokio::test]
async fn a_name_that_changes_between_calls_is_held_against_the_rules_again() {
    let (listener, port) = port();
    let names = Rebinding::new(&["127.0.0.1", "fe80::1"]);
    let deck = Deck::with_names(Arc::clone(&names) as Arc<dyn NameResolver>);
    let base = format!("https://api.example.test:{port}");
    let (mut block, tool) = kinds(&base, &deck)[0].clone();
    block["retries"] = json!(0);
    let connection = deck.connect(block).await.unwrap();
    let context = crate::support::context(std::time::Duration::from_secs(20));
    let call = async || crate::support::call(&connection, tool, json!({}), &context).await;
    let cut = closing(listener, 1);
    let first = call().await.unwrap_err();
    assert_ne!(first.code, ErrorCode::Denied, "{first}");
    let (listener, _sent) = cut.await.unwrap();
    for _ in 0..2 {
        let error = call().await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied, "{error}");
    }
    assert!(!was_contacted(&listener));
}

#[tokio::test]
async fn a_chain_of_redirects_leads_no_call_inside() {
    let (listener, port) = port();
    for location in [
        format!("https://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}/"),
        format!("https://0x7f000001:{port}/"),
        format!("https://0177.0.0.1:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        format!("https://inner.example.test:{port}/"),
        format!("//inner.example.test:{port}/"),
        "https://10.0.0.1/".to_owned(),
        "https://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let target = location.clone();
        let base = serve(move |path, _request| match path {
            "/next" => redirect(307, "/last"),
            "/last" => redirect(302, &target),
            _ => redirect(301, "/next"),
        })
        .await;
        let deck = deck(&["127.0.0.1"]);
        for (kind, (mut block, tool)) in kinds(&base, &deck).into_iter().enumerate() {
            block["network"] = json!("public");
            let error = deck.call(block, tool, json!({})).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::DownstreamProtocolError, "{location}: {error}");
            // A POST does not even take the first step.
            let said = if kind == 3 { "redirected a POST to `/next`" } else { "to another origin" };
            assert!(error.message.contains(said), "{location}: {error}");
        }
    }
    assert!(!was_contacted(&listener));
}

#[tokio::test]
async fn a_description_is_fetched_elsewhere_without_credentials() {
    let (listener, port) = port();
    let base = serve(move |_path, request| {
        assert_eq!(request.headers()["authorization"], "Bearer canary-token");
        redirect(302, &format!("https://elsewhere.example.test:{port}/openapi.json"))
    })
    .await;
    let block = |network: &str| {
        json!({
            "kind": "openapi", "specUrl": format!("{base}/openapi.json"), "baseUrl": base, "retries": 0,
            "auth": {"type": "bearer", "token": "canary-token"}, "network": network,
        })
    };
    let deck = deck(&["127.0.0.1"]);
    let discover = async |network: &str| -> Result<(), CallError> {
        let connection = deck.connect(block(network)).await?;
        let context = crate::support::context(std::time::Duration::from_secs(20));
        connection.discover(&context).await.map(drop)
    };
    let error = discover("public").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied, "{error}");
    assert!(!was_contacted(&listener));
    // Where the file opens the network the way is taken: what arrives is the start of TLS, and nothing in the clear.
    let cut = closing(listener, 1);
    let error = discover("private").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerUnavailable, "{error}");
    assert_is_only_a_greeting(&cut.await.unwrap().1);
}

/// The first message of TLS, which names the server it wants to reach and nothing else.
fn assert_is_only_a_greeting(sent: &[u8]) {
    assert_eq!(sent.first(), Some(&0x16));
    assert!(!String::from_utf8_lossy(sent).contains("canary"));
}
