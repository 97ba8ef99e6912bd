//! What connecting itself can answer.

use capdeck_backend::{ConnectOptions, ErrorCode};
use serde_json::{Value, json};

use crate::support::{Deck, definition};

#[tokio::test]
async fn all_missing_references_are_reported_at_once() {
    let backend = json!({
        "kind": "cli", "env": {"A": "$env:FIRST", "B": "$vault:SECOND"},
        "actions": {"run": {"command": "true", "args": ["${THIRD}", "${FOURTH:-fine}"]}},
    });
    let deck = Deck::new(&[]);
    let error = deck.connect(backend.clone()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ConfigInvalid);
    for name in ["FIRST", "SECOND", "THIRD"] {
        assert!(error.message.contains(&format!("`{name}`")), "{error}");
    }
    assert!(!error.message.contains("FOURTH"), "{error}");
    let data = error.data.unwrap();
    let places: Vec<&str> = data["unresolved"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["place"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["actions.run.args.0", "env.A", "env.B"]);
    assert_eq!(data["unresolved"][2]["code"], "missing");
    assert!(error.hint.unwrap().contains("run: capdeck vault set SECOND --grant thing"));
    assert_eq!(deck.connector.check(&definition(backend)).len(), 1);
}

#[test]
fn files_and_requests_agree_on_the_headers_that_are_ours() {
    assert_eq!(capdeck_definition::FORBIDDEN_HEADERS, capdeck_auth::TRANSPORT_HEADERS);
}

#[tokio::test]
async fn a_login_lists_tools_and_asks_for_it_at_the_call() {
    for kind in ["oauth2", "oidc"] {
        let backend: Value = json!({
            "kind": "http", "baseUrl": "https://api.example", "auth": {"type": kind},
            "actions": {"get": {"method": "GET", "path": "/"}},
        });
        let deck = Deck::new(&[]);
        let connection = deck.connect(backend.clone()).await.unwrap();
        let context = crate::support::context(std::time::Duration::from_secs(1));
        assert_eq!(connection.discover(&context).await.unwrap().tools.len(), 1);
        let error = deck.call(backend, "get", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::AuthRequired);
        assert!(error.message.ends_with("` asks for a sign-in"), "{error}");
        assert!(error.hint.unwrap().starts_with("run: capdeck auth login "));
    }
}

#[tokio::test]
async fn a_project_bound_capability_needs_a_project() {
    let mut bound = definition(json!({"kind": "cli", "actions": {"run": {"command": "true"}}}));
    bound.project_bound = true;
    let deck = Deck::new(&[]);
    let error = deck.connector.connect(&bound, ConnectOptions::default()).await.unwrap_err();
    assert_eq!(error.message, "this capability works inside a project and there is none");
    assert_eq!(deck.connector.check(&bound)[0].message, error.message);
}

#[tokio::test]
async fn a_ready_definition_has_nothing_to_say() {
    for backend in [
        json!({"kind": "cli", "cwd": "/", "actions": {"run": {"command": "sh"}, "any": {"command": "$input.x"}}}),
        json!({"kind": "mcp", "command": "sh"}),
        json!({"kind": "http", "baseUrl": "https://api.example", "auth": {"type": "none"},
            "actions": {"get": {"method": "GET", "path": "/"}}}),
    ] {
        let problems = Deck::new(&[]).connector.check(&definition(backend));
        assert!(problems.is_empty(), "{problems:?}");
    }
}

#[tokio::test]
async fn what_is_missing_on_the_machine_is_reported_once() {
    let backend = json!({"kind": "cli", "actions": {
        "one": {"command": "no-such-program"},
        "two": {"command": "no-such-program"},
        "three": {"command": "sh", "cwd": "/no/such/folder"},
    }});
    let problems = Deck::new(&[]).connector.check(&definition(backend));
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`no-such-program` was not found on PATH",
            "the working folder does not exist: `/no/such/folder`"
        ]
    );
    let server = json!({"kind": "mcp", "command": "no-such-program"});
    assert_eq!(Deck::new(&[]).connector.check(&definition(server)).len(), 1);
}
