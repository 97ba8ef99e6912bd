//! The card at `<mcp-url>/server-card`.

use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::served::Setting;

#[test]
fn each_endpoint_has_a_card_that_lists_no_tools() {
    let served = Setting::of(&FakePlan::default()).serve();
    for (path, name, title) in [
        ("/mcp", "local.capdeck/deck", "Capdeck"),
        ("/servers/fake/mcp", "local.capdeck/fake", "fake"),
    ] {
        let card = format!("{path}/server-card");
        let reply = served.client(&card).send("GET", &card, &[], b"");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some("application/mcp-server-card+json"));
        let shown: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!((&shown["name"], &shown["title"]), (&json!(name), &json!(title)));
        assert_eq!(shown["remotes"][0]["url"], format!("http://{}{path}", served.authority()));
        let versions = shown["remotes"][0]["supportedProtocolVersions"].as_array().unwrap();
        assert!(versions.contains(&json!("2025-11-25")) && versions.contains(&json!("2026-07-28")));
        assert!(!reply.body.contains("echo"), "{}", reply.body);
    }
}

#[test]
fn addresses_are_those_that_people_use() {
    let view = json!({"reading": {"description": "Reads only", "tools": ["fake.echo"]}});
    let setting = Setting::of(&FakePlan::default()).config("views", view);
    let served = setting.public_url("https://deck.example").serve();
    for path in ["/mcp", "/servers/fake/mcp", "/views/reading/mcp"] {
        let card = format!("{path}/server-card");
        let reply = served.client(&card).send("GET", &card, &[], b"");
        let shown: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(shown["remotes"][0]["url"], format!("https://deck.example{path}"));
    }
    let home = served.client("/").send("GET", "/", &[("Accept", "*/*")], b"");
    assert!(home.body.contains("connect to https://deck.example/mcp\n"), "{}", home.body);
}

#[test]
fn what_has_no_endpoint_has_no_card() {
    let hidden = json!({"name": "Sayer", "description": "Says one word on request", "exposure": "none",
        "actions": {"say": {"command": "printf", "args": ["hi"]}}});
    let served =
        Setting::new().entry("cliTools", "sayer", hidden).key("open-sesame-and-more").serve();
    let get =
        |path: &str, key: &[(&str, &str)]| served.client(path).send("GET", path, key, b"").status;
    let key = [("Authorization", "Bearer open-sesame-and-more")];
    assert_eq!(get("/servers/nobody/mcp/server-card", &key), 404);
    assert_eq!(get("/servers/sayer/mcp/server-card", &key), 404);
    assert_eq!(get("/mcp/server-card", &key), 200);
    assert_eq!(get("/mcp/server-card", &[]), 401);
}
