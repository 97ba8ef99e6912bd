//! `capdeck add openapi`: the sign-in that a description asks for, with a server that demands it.

use std::fs;

use capdeck_test::{FakeApi, FakeApiReply, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, run, terminal::Terminal};

const KEY: &str = "key-of-the-pets";

/// A server that wants a key for pets and none for its health, and describes itself.
fn pets() -> FakeApi {
    FakeApi::start(|request| {
        let has_key = request.headers.contains(&("x-key".to_owned(), KEY.to_owned()));
        match request.target.as_str() {
            "/api.json" => FakeApiReply::json(&description("/")),
            "/health" => FakeApiReply::json(&json!({"ok": true})),
            _ if has_key => FakeApiReply::json(&json!({"name": "Rex"})),
            _ => FakeApiReply { status: 401, ..FakeApiReply::json(&json!({"error": "no key"})) },
        }
    })
}

fn description(server: &str) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": server}],
        "security": [{"key": []}],
        "paths": {
            "/pets/{id}": {"get": {"operationId": "getPet"}},
            "/pets": {"post": {"operationId": "addPet"}},
            "/health": {"get": {"operationId": "health", "security": []}},
        },
        "components": {"securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        }},
    })
}

/// The description as a file of the project, with the address of the server in it.
fn with_file() -> (TestDirs, FakeApi) {
    let (dirs, api) = (TestDirs::new(), pets());
    dirs.write("project/api.json", description(api.url()).to_string());
    (dirs, api)
}

const CALL: [&str; 5] = ["call", "pets", "getPet", "--args", r#"{"path": {"id": "7"}}"#];

#[test]
fn a_key_of_the_environment_is_sent_in_the_header_that_the_description_names() {
    let (dirs, _api) = with_file();
    let words = ["add", "openapi", "pets", "--spec", "api.json", "--token-env", "PETS_KEY"];
    let refused = run(&dirs, &words);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("`127.0.0.1` is this machine"), "{}", refused.stderr);
    assert!(refused.stderr.contains("add: --network private"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(dirs.config()).unwrap().count(), 0);

    let added = run(&dirs, &[&words[..], &["--network", "private"]].concat()).success();
    let needed = "the header `X-Key` is needed by 2 of 3 operations: getPet, addPet";
    assert!(added.stderr.contains(needed), "{}", added.stderr);
    let file = fs::read_to_string(dirs.config().join("pets.md")).unwrap();
    assert!(file.contains("  network: private\n  auth:\n    type: headers\n"), "{file}");
    assert!(file.contains("X-Key: ${PETS_KEY}"), "{file}");

    let called = capdeck(&dirs).args(CALL).env("PETS_KEY", KEY).run().success();
    assert!(called.stdout.contains("Rex"), "{}", called.stdout);
}

#[test]
fn a_key_for_the_vault_is_saved_and_granted() {
    let (dirs, api) = (TestDirs::new(), pets());
    let spec = format!("{}/api.json", api.url());
    let words = ["add", "openapi", "pets", "--spec", &spec, "--token-vault", "PETS_KEY", "--json"];
    let added = capdeck(&dirs).args(words).stdin(format!("{KEY}\n")).run().success().json();
    let security = json!({
        "scheme": "key", "auth": "headers", "operations": ["getPet", "addPet"], "openOperations": 1,
    });
    assert_eq!(added["security"], security);
    let listed = json(&dirs, &["vault", "list"]);
    assert_eq!(listed["items"][0]["grants"][0]["capability"], "pets", "{listed}");
    assert!(run(&dirs, &CALL).success().stdout.contains("Rex"));
}

#[test]
fn a_terminal_asks_for_the_network_and_for_the_key() {
    let (dirs, _api) = with_file();
    let mut terminal = Terminal::start(&dirs, &["add", "openapi", "pets", "--spec", "api.json"]);
    terminal.wait_for("May `pets` reach private networks and this machine? [y/N] ");
    terminal.answer("y");
    terminal.wait_for("value of the header X-Key (not shown; empty for none): ");
    terminal.answer(KEY);
    terminal.wait_for("saved in the vault as PETS_TOKEN, granted to pets");
    assert_eq!(terminal.end().0, Some(0));
    assert!(run(&dirs, &CALL).success().stdout.contains("Rex"));
}

#[test]
fn without_a_key_the_flags_are_named_and_another_server_gets_none() {
    let (dirs, api) = (TestDirs::new(), pets());
    let spec = format!("{}/api.json", api.url());
    let added = run(&dirs, &["add", "openapi", "pets", "--spec", &spec]).success();
    let flags = format!("capdeck add openapi pets --spec {spec} --force --token-env NAME");
    assert!(added.stderr.contains(&flags), "{}", added.stderr);

    let elsewhere = FakeApi::start(|_| FakeApiReply::json(&description("https://api.example/v1")));
    let spec = format!("{}/api.json", elsewhere.url());
    let words = ["add", "openapi", "other", "--spec", &spec, "--token-env", "OTHER_KEY"];
    let refused = run(&dirs, &words);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let flag = "add: --base-url https://api.example/v1";
    assert!(refused.stderr.contains(flag), "{}", refused.stderr);
    run(&dirs, &[&words[..], &["--base-url", "https://api.example/v1"]].concat()).success();

    let missing = run(&dirs, &["add", "openapi", "p", "--spec", &spec, "--scheme", "token"]);
    assert!(missing.stderr.contains("known here: key"), "{}", missing.stderr);
}
