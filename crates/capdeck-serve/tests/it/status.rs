//! Alive, ready, and in numbers.

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::served::{Setting, until};

#[test]
fn health_and_readiness_are_json() {
    let broken = json!({"name": "Broken", "description": "Has no command at all"});
    let served = Setting::of(&FakePlan::default()).entry("mcpServers", "broken", broken).serve();
    let mut client = served.client("/health");
    let health = client.send("GET", "/health", &[], b"");
    let mut facts: Value = serde_json::from_str(&health.body).unwrap();
    assert!(facts["uptime"].is_u64(), "{facts}");
    facts.as_object_mut().unwrap().remove("uptime");
    assert_eq!((health.status, facts), (200, json!({"status": "ok", "version": "0.0.0-test"})));
    let ready = client.send("GET", "/ready", &[], b"");
    let mut facts: Value = serde_json::from_str(&ready.body).unwrap();
    assert!(facts["catalogVersion"].is_u64());
    facts.as_object_mut().unwrap().remove("catalogVersion");
    assert_eq!(
        facts,
        json!({"status": "ready", "version": "0.0.0-test",
            "capabilities": {"usable": 1, "all": 1}, "quarantined": 1})
    );
    assert_eq!(client.send("POST", "/health", &[], b"").status, 405);
    let home = client.send("GET", "/", &[], b"");
    assert_eq!(home.status, 200);
    assert!(home.body.contains(&format!("http://{}/mcp", served.authority())), "{}", home.body);
}

#[test]
fn an_audit_trail_that_cannot_be_written_is_named() {
    for (mode, status) in [("lenient", 200), ("strict", 503)] {
        let setting = Setting::of(&FakePlan::default()).config("audit", json!(mode));
        let folder = setting.dirs.state().join("audit");
        std::fs::create_dir_all(setting.dirs.state()).unwrap();
        std::fs::write(&folder, "in the way").unwrap();
        let served = setting.exposure(Exposure::Direct).serve();
        let mut client = served.deck_client();
        client.request("tools/call", json!({"name": "fake__echo", "arguments": {}}));
        let ready = until("the problem", || {
            let ready = client.send("GET", "/ready", &[], b"");
            ready.body.contains("audit").then_some(ready)
        });
        assert_eq!(ready.status, status, "{}", ready.body);
        std::fs::remove_file(&folder).unwrap();
        until("the end of the problem", || {
            let ready = client.send("GET", "/ready", &[], b"");
            (ready.status == 200 && !ready.body.contains("audit")).then_some(())
        });
    }
}

#[test]
fn calls_are_counted_by_capability_and_outcome() {
    // The recorder is the process's, which other tests share; an id of its own tells the calls apart.
    let setting = Setting::new().server("counted", &FakePlan::default());
    let served = setting.exposure(Exposure::Direct).serve();
    let mut client = served.deck_client();
    client.request("tools/call", json!({"name": "counted__echo", "arguments": {}}));
    client.request("tools/call", json!({"name": "counted__echo", "arguments": {}}));
    client.request("tools/call", json!({"name": "counted__tool_error", "arguments": {}}));
    let metrics = served.client("/metrics").send("GET", "/metrics", &[], b"");
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    for line in [
        r#"capdeck_calls_total{capability="counted",outcome="ok"} 2"#,
        r#"capdeck_calls_total{capability="counted",outcome="tool_error"} 1"#,
        "capdeck_capabilities ",
        "capdeck_tools ",
        r#"capdeck_call_seconds_count{capability="counted",outcome="ok"} 2"#,
    ] {
        assert!(
            metrics.body.lines().any(|one| one.starts_with(line)),
            "`{line}` is not in:\n{}",
            metrics.body
        );
    }
}

#[test]
fn names_that_no_one_has_are_counted_as_one() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.client("/v1");
    for number in 0..20 {
        let path = format!("/v1/deck/capabilities/made-up-{number}/tools/echo/call");
        let headers = [("Content-Type", "application/json")];
        assert_eq!(client.send("POST", &path, &headers, b"{}").status, 404);
    }
    let metrics = client.send("GET", "/metrics", &[], b"").body;
    assert!(!metrics.contains("made-up"), "{metrics}");
    let counted = r#"capdeck_calls_total{capability="(unknown)",outcome="SERVER_NOT_FOUND"}"#;
    assert!(metrics.contains(counted), "{metrics}");
}
