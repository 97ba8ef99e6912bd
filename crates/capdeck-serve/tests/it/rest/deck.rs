//! The deck: what is in it, calls, and what waits for a person.

use capdeck_test::{FakePlan, HttpClient};
use serde_json::json;

use super::stage::{Api, KEY, each};
use crate::served::{Setting, until};

fn with_fake() -> Api {
    Api::of(Setting::of(&FakePlan::default()))
}

#[test]
fn capabilities_and_tools_are_shown() {
    let mut api = with_fake();
    let listed = api.get("/v1/deck/capabilities").is(200);
    assert_eq!(each(&listed, "id"), ["fake"]);
    assert_eq!(
        (&listed["items"][0]["status"], &listed["items"][0]["tools"]),
        (&json!("ready"), &json!(null))
    );
    let tools = api.get("/v1/deck/capabilities/fake/tools?limit=200").is(200);
    assert!(each(&tools, "name").contains(&"echo".to_owned()), "{tools}");
    let listed = api.get("/v1/deck/capabilities?q=FAKE").is(200);
    assert!(listed["items"][0]["tools"].as_u64().unwrap() > 1, "known by now");
    assert!(listed["items"][0]["tokens"].as_u64().unwrap() > 1);
    assert!(each(&api.get("/v1/deck/capabilities?status=quarantined").is(200), "id").is_empty());
    let shown = api.get("/v1/deck/capabilities/fake").is(200);
    assert_eq!(
        (&shown["backend"]["type"], &shown["why"]["visible"]),
        (&json!("mcp"), &json!(true))
    );
    let tool = api.get("/v1/deck/capabilities/fake/tools/echo").is(200);
    assert_eq!((&tool["capability"], &tool["why"]["policy"]), (&json!("fake"), &json!("allow")));
    assert!(tool["inputSchema"].is_object());
    let missing = api.get("/v1/deck/capabilities/fake/tools/ecko");
    assert!(missing.fails(404, "tool_not_found")["hint"].to_string().contains("echo"));
    let found = api.get("/v1/deck/tools/search?q=echo&limit=2").is(200);
    assert_eq!(found["items"][0]["capability"], "fake");
    let budget = api.get("/v1/deck/budget").is(200);
    assert_eq!((&budget["items"][0]["id"], &budget["counting"]), (&json!("fake"), &json!("bound")));
    assert!(budget["items"][0]["direct"].as_u64() > budget["items"][0]["progressive"].as_u64());
    let checked = api.json("POST", "/v1/deck/capabilities/fake/check", json!({})).is(200);
    assert_eq!(checked["status"], "available");
}

#[test]
fn a_tool_is_called_and_what_goes_wrong_is_reported() {
    let mut api = with_fake();
    let path = "/v1/deck/capabilities/fake/tools/echo/call";
    let called = api.json("POST", path, json!({"arguments": {"text": "hello"}})).is(200);
    assert!(called["content"][0]["text"].as_str().unwrap().contains("hello"), "{called}");
    let structured = "/v1/deck/capabilities/fake/tools/structured/call";
    let bad = api.json("POST", structured, json!({"arguments": {"origin": {"x": "east"}}}));
    let problem = bad.fails(400, "request_invalid");
    assert!(problem["data"]["inputSchema"].is_object(), "{problem}");
    api.json("POST", path, json!({"arguments": [1]})).fails(400, "invalid_input");
    let unknown = "/v1/deck/capabilities/fake/tools/nothing/call";
    api.json("POST", unknown, json!({})).fails(404, "tool_not_found");
    let unknown = "/v1/deck/capabilities/nothing/tools/echo/call";
    api.json("POST", unknown, json!({})).fails(404, "server_not_found");
    let health = api.get("/v1/deck/health").is(200);
    assert_eq!(health["status"], "ok", "a caller's mistake says nothing about the capability");
}

#[test]
fn a_capability_that_does_not_start_is_reported_and_degrades_health() {
    let plan = FakePlan { exit_at_start: Some(3), ..FakePlan::default() };
    let mut api = Api::of(Setting::of(&plan));
    let failed = api.json("POST", "/v1/deck/capabilities/fake/tools/echo/call", json!({}));
    failed.fails(503, "server_unavailable");
    let checked = api.json("POST", "/v1/deck/capabilities/fake/check", json!({})).is(200);
    assert_eq!(checked["status"], "unavailable");
    let health = api.get("/v1/deck/health").is(200);
    assert_eq!(health["status"], "degraded");
    assert!(health["capabilities"][0]["lastFailure"]["message"].as_str().is_some());
}

#[test]
fn a_tool_that_needs_a_person_waits_for_one() {
    let policy = json!([{"ask": {"tool": "echo"}}]);
    let mut api = Api::of(Setting::of(&FakePlan::default()).config("policy", policy));
    let path = "/v1/deck/capabilities/fake/tools/echo/call";
    let asked = api.json("POST", path, json!({"arguments": {"text": "hello"}}));
    assert!(asked.fails(409, "approval_required")["hint"].to_string().contains("approved"));
    let approved = json!({"arguments": {"text": "hello"}, "approved": true});
    api.json("POST", path, approved).is(200);
    // An agent's call waits, and is approved here.
    let mut agent = api.served.deck_client();
    let call = |text: &str| json!({"name": "call_tool", "arguments": {"name": "fake__echo", "data": {"text": text}}});
    agent.request("tools/call", call("x"));
    let waiting = api.get("/v1/deck/approvals?state=waiting").is(200);
    let id = waiting["items"][0]["id"].as_str().unwrap().to_owned();
    api.json("POST", "/v1/deck/approvals/nothing/approve", json!({})).fails(404, "not_found");
    let approve = format!("/v1/deck/approvals/{id}/approve");
    assert_eq!(api.json("POST", &approve, json!({})).is(200)["state"], "approved");
    let answer = agent.request("tools/call", call("x"));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    let again = agent.request("tools/call", call("y"));
    assert_eq!(again["result"]["isError"], true, "{again}");
    let waiting = api.get("/v1/deck/approvals").is(200);
    let id = waiting["items"][0]["id"].as_str().unwrap().to_owned();
    api.delete(&format!("/v1/deck/approvals/{id}")).is(204);
    assert!(each(&api.get("/v1/deck/approvals").is(200), "id").is_empty());
}

#[test]
fn item_22_a_client_cannot_name_itself_out_of_the_audit() {
    let mut api = with_fake();
    let mut agent = api.served.client("/mcp");
    // A few lines with it would be more than may wait for the disk.
    let info = json!({"name": "N".repeat(9 << 20), "version": "0"});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}});
    agent.session = agent.post(&hello.to_string()).header("mcp-session-id").map(str::to_owned);
    for _ in 0..3 {
        let call = json!({"name": "call_tool", "arguments": {"name": "fake__echo", "data": {}}});
        agent.request("tools/call", call);
    }
    let path = "/v1/audit?source=deck&action=tools/call";
    let lines = until("the lines", || {
        let lines = api.get(path).is(200);
        (lines["items"].as_array().unwrap().len() == 3).then_some(lines)
    });
    assert!(each(&lines, "client").iter().all(|name| name.len() == 1_000));
}

#[test]
fn who_approved_what_is_written_down() {
    let policy = json!([{"ask": {"tool": "echo"}}]);
    let setting = Setting::of(&FakePlan::default()).config("policy", policy).key(KEY).registry();
    let mut api = Api::of(setting).with_token(KEY);
    let ann = api.json("POST", "/v1/operators", json!({"name": "Ann", "role": "admin"})).is(201);
    let mut agent = api.served.client("/mcp");
    agent.headers = vec![("Authorization".to_owned(), format!("Bearer {KEY}"))];
    agent.initialize();
    let wait = |agent: &mut HttpClient, api: &mut Api| {
        let call = json!({"name": "call_tool", "arguments": {"name": "fake__echo", "data": {}}});
        agent.request("tools/call", call);
        let waiting = api.get("/v1/deck/approvals?state=waiting").is(200);
        waiting["items"][0]["id"].as_str().unwrap().to_owned()
    };
    let id = wait(&mut agent, &mut api);
    api.sign_in(ann["key"].as_str().unwrap());
    api.json("POST", &format!("/v1/deck/approvals/{id}/approve"), json!({})).is(200);
    api.delete(&format!("/v1/deck/approvals/{id}")).is(204);
    api.json("POST", "/v1/deck/pins/fake/approve", json!({"tool": "echo"})).is(200);
    for (action, about) in
        [("call.approve", &*id), ("call.revoke", &id), ("pin.approve", "fake/echo")]
    {
        let lines = api.get(&format!("/v1/audit?action={action}")).is(200);
        assert_eq!(lines["items"].as_array().unwrap().len(), 1, "{lines}");
        let line = &lines["items"][0];
        assert_eq!((&line["agent"], &line["subject"]), (&ann["id"], &json!(about)), "{line}");
    }
}

#[test]
fn failed_calls_and_definitions_to_look_at_are_counted_and_found() {
    let sly = json!({"name": "sly", "description": "Reads.\u{e0041}\u{e0042}", "inputSchema": {"type": "object"}});
    let plan = FakePlan { behaviours: true, extra_tools: vec![sly], ..FakePlan::default() };
    let policy = json!([{"ask": {"tool": "sly"}}]);
    let mut api = Api::of(Setting::of(&plan).config("policy", policy));
    assert_eq!(api.get("/v1/overview").is(200)["pending"]["pins"], 0, "nothing is known yet");
    api.get("/v1/deck/capabilities/fake/tools").is(200);
    assert_eq!(api.get("/v1/overview").is(200)["pending"]["pins"], 1);
    let call = |api: &mut Api, tool: &str| {
        let path = format!("/v1/deck/capabilities/fake/tools/{tool}/call");
        api.json("POST", &path, json!({})).status
    };
    assert_eq!(call(&mut api, "echo"), 200);
    assert_eq!(call(&mut api, "sly"), 409, "it waits for a person");
    // Lines are written together, a moment after their calls.
    let all = "/v1/audit?source=deck&action=tools/call";
    while api.get(all).is(200)["items"].as_array().unwrap().len() < 2 {}
    let path = "/v1/audit?source=deck&action=tools/call&outcome=failed";
    let failed = api.get(path).is(200)["items"].as_array().unwrap().len();
    let counted = &api.get("/v1/overview").is(200)["calls"]["errors_last_24_hours"];
    assert_eq!(failed, 1);
    assert_eq!(*counted, json!(failed), "what is counted is what the link shows");
    let fine = api.get("/v1/audit?source=deck&action=tools/call&outcome=ok").is(200);
    assert_eq!(each(&fine, "tool"), ["echo"]);
}

#[test]
fn pins_runs_and_artifacts_are_listed() {
    let mut api = with_fake();
    api.get("/v1/deck/capabilities/fake/tools").is(200);
    let pins = api.get("/v1/deck/pins?capability=fake&limit=200").is(200);
    assert!(each(&pins, "tool").contains(&"echo".to_owned()), "{pins}");
    assert_eq!(api.get("/v1/deck/pins/fake/diff").is(200)["items"], json!([]));
    let approved = api.json("POST", "/v1/deck/pins/fake/approve", json!({"tool": "echo"})).is(200);
    assert_eq!(approved, json!({"id": "fake", "tool": "echo", "approved": 1}));
    api.json("POST", "/v1/deck/pins/fake/approve", json!({"tool": "no"})).fails(404, "not_found");
    api.get("/v1/deck/pins?capability=nothing").fails(404, "server_not_found");
    let empty = json!({"items": [], "next_cursor": null});
    assert_eq!(api.get("/v1/deck/runs").is(200), empty);
    assert_eq!(api.get("/v1/deck/artifacts").is(200), empty);
    api.get("/v1/deck/runs?state=nonsense").fails(400, "invalid_input");
}
