//! What a server's process is given: a small environment, its variables, its folder.

use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, call, text};

#[tokio::test]
async fn a_server_gets_its_own_variables_and_little_else() {
    let deck = Deck::new();
    let folder = deck.dirs.root().join("data");
    let more = json!({
        "env": {"GIVEN": "${SOURCE}", "DEFAULTED": "${UNSET_HERE:-fallback}", "ALSO": "$env:SOURCE"},
        "cwd": folder,
    });
    let deck = deck
        .server("fake", &FakePlan::default(), more)
        .variable("SOURCE", "a value")
        .variable("UNRELATED_TOKEN", "not for servers");
    let (host, session) = deck.operator();
    let answer = call(&session, "fake", "environment", json!({})).await.unwrap();
    let seen: Value = serde_json::from_str(text(&answer)).unwrap();
    let names: Vec<&String> = seen["env"].as_object().unwrap().keys().collect();
    assert!(!names.iter().any(|name| *name == "UNRELATED_TOKEN"), "{names:?}");
    assert_eq!(seen["env"]["DEFAULTED"], "fallback");
    assert_eq!(seen["cwd"], json!(folder.canonicalize().unwrap()));
    assert!(seen["env"]["PATH"].is_string());
    host.close().await;
}
