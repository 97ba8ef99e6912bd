//! What clients send about themselves stays here: no server behind this host sees a token, a cookie or a header of theirs.

use capdeck_definition::Exposure;
use capdeck_serve::ServeAuthMode;
use capdeck_test::{FakeApi, FakeApiReply, FakePlan};
use serde_json::json;

use super::stage::{ALL, KEY, many};
use crate::{
    modern_client::ModernClient,
    served::Setting,
    sign_in::browser::{Browser, client_with},
};

#[test]
fn security_05_no_server_over_http_sees_what_the_client_sent() {
    let api = FakeApi::start(|_| FakeApiReply::json(&json!({"ok": true})));
    let fake = FakePlan::default().start_http();
    let server = json!({"url": fake.url});
    let served = Setting::new()
        .entry("mcpServers", "far", server)
        .entry(
            "httpApis",
            "api",
            json!({"name": "Api", "description": "An API of our own.",
            "baseUrl": api.url(), "auth": {"type": "bearer", "token": "of-the-host"},
            "actions": {"get": {"method": "GET", "path": "/thing"}}}),
        )
        .exposure(Exposure::Direct)
        .registry()
        .auth(ServeAuthMode::Required)
        .key(KEY)
        .rates(many())
        .serve();
    let mut person = Browser::with_key(&served, KEY);
    let tokens = person.sign_in("/mcp", "deck:call", &ALL);
    let mut client = client_with(&served, "/mcp", &tokens.access);
    let cookie = person.cookie.clone().unwrap();
    for (name, value) in [
        ("Cookie", cookie.as_str()),
        ("X-Api-Key", "canary-key"),
        ("Proxy-Authorization", "Basic canary-proxy"),
        ("X-Forwarded-For", "192.0.2.77"),
        ("Traceparent-Of-Mine", "canary-header"),
    ] {
        client.headers.push((name.to_owned(), value.to_owned()));
    }
    let called = client.request("tools/call", json!({"name": "api__get", "arguments": {}}));
    assert_ne!(called["result"]["isError"], true, "{called}");
    let called = client.request("tools/call", json!({"name": "far__headers", "arguments": {}}));
    assert_ne!(called["result"]["isError"], true, "{called}");
    let seen = format!("{:?} {called}", api.requests());
    assert!(seen.contains("of-the-host") && seen.contains("/thing"), "{seen}");
    for sent in [tokens.access.as_str(), cookie.as_str(), KEY, "canary", "192.0.2.77", "cap_"] {
        assert!(!seen.contains(sent), "`{sent}`: {seen}");
    }
}

#[test]
fn security_06_what_a_server_asks_and_tells_never_carries_its_credentials() {
    const TOKEN: &str = "canary/4711+of-the-host";
    let fake = FakePlan::default().start_http();
    let server = json!({"url": fake.url, "auth": {"type": "bearer", "token": TOKEN}});
    let served = Setting::new()
        .entry("mcpServers", "far", server)
        .exposure(Exposure::Direct)
        .registry()
        .rates(many())
        .serve();
    for path in ["/mcp", "/servers/far/mcp"] {
        let capabilities = json!({"elicitation": {"url": {}, "form": {}}});
        let mut client = ModernClient::new(&served, path, capabilities);
        let prefix = if path == "/mcp" { "far__" } else { "" };
        // The server repeats what it is sent, and it is sent what it was given.
        let url = format!("https://sign-in.test/?key={TOKEN}");
        for (tool, arguments) in [
            ("ask_url", json!({"url": url})),
            ("log", json!({"text": format!("my token is {TOKEN}")})),
            ("params", json!({"text": TOKEN})),
            ("headers", json!({})),
        ] {
            let params = json!({"name": format!("{prefix}{tool}"), "arguments": arguments,
                "_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
            let reply = client.send("tools/call", params);
            assert_eq!(reply.status, 200, "{path} {tool}: {reply:?}");
            assert!(reply.body.contains("[redacted]"), "{path} {tool}: {}", reply.body);
            for form in ["canary", "4711"] {
                assert!(!reply.body.contains(form), "{path} {tool}: {}", reply.body);
            }
        }
    }
}
