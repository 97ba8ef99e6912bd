//! Spans of calls to `capdeck up`, by the config and by variables.

use capdeck_test::{CapdeckRun, FakeApi, FakeApiReply, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, run};

fn collector() -> FakeApi {
    FakeApi::start(|_| FakeApiReply::json(&json!({})))
}

/// A deck whose config sends spans to a collector, with a header from a variable.
fn deck(collector: &FakeApi) -> TestDirs {
    let dirs = TestDirs::new();
    let otlp = json!({
        "endpoint": collector.url(), "headers": {"x-key": "$env:COLLECTOR_KEY"}, "service": "deck-of-the-file",
    });
    dirs.write_config(&json!({"serve": {"otlp": otlp}}));
    dirs
}

/// Serves, calls a tool of the starter deck, and stops, which sends what is left.
fn call_once(capdeck: CapdeckRun) {
    let mut host = capdeck.up(&[]);
    let mut client = host.client("/mcp");
    client.initialize();
    let arguments = json!({"name": "machine__now", "data": {"zone": "UTC"}});
    client.request("tools/call", json!({"name": "call_tool", "arguments": arguments}));
    host.stop();
}

/// The name of the service in every message of a collector.
fn services(collector: &FakeApi) -> Vec<String> {
    let name = |body: &str| {
        let message: Value = serde_json::from_str(body).unwrap();
        let attributes = &message["resourceSpans"][0]["resource"]["attributes"];
        attributes[0]["value"]["stringValue"].as_str().unwrap().to_owned()
    };
    collector.requests().iter().map(|request| name(&request.body)).collect()
}

#[test]
fn spans_go_where_the_config_says() {
    let collector = collector();
    let dirs = deck(&collector);
    call_once(capdeck(&dirs).env("COLLECTOR_KEY", "canary-key"));
    let requests = collector.requests();
    assert!(!requests.is_empty());
    for request in &requests {
        assert_eq!(request.target, "/v1/traces");
        assert_eq!(request.header("x-key"), Some("canary-key"));
    }
    assert_eq!(services(&collector).first().map(String::as_str), Some("deck-of-the-file"));
}

#[test]
fn variables_come_first_and_take_no_key_along() {
    let (configured, named) = (collector(), collector());
    let dirs = deck(&configured);
    let host = capdeck(&dirs).env("COLLECTOR_KEY", "canary-key");
    call_once(host.env("OTEL_EXPORTER_OTLP_ENDPOINT", named.url()));
    assert!(configured.requests().is_empty());
    let requests = named.requests();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|request| request.header("x-key").is_none()), "{requests:?}");
    assert_eq!(services(&named).first().map(String::as_str), Some("deck-of-the-file"));
}

#[test]
fn a_key_that_is_not_there_stops_the_spans_and_not_the_host() {
    let collector = collector();
    let dirs = deck(&collector);
    call_once(capdeck(&dirs));
    assert!(collector.requests().is_empty());
    let doctor = run(&dirs, &["doctor", "--json"]);
    assert!(doctor.stdout.contains("`serve.otlp.headers` cannot be used"), "{}", doctor.stdout);
}
