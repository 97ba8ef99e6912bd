//! The deck at `/mcp`.

use capdeck_definition::Exposure;
use capdeck_host::Host;
use capdeck_test::{FakePlan, HttpClient};
use serde_json::{Value, json};

use crate::{
    event_stream::EventStream,
    served::{Setting, until},
};

fn names(client: &mut HttpClient) -> Vec<String> {
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_handshake_says_what_the_deck_is() {
    let served = Setting::of(&FakePlan::default()).serve();
    let result = served.client("/mcp").initialize();
    assert_eq!(
        result,
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "resources": {"listChanged": true}, "prompts": {"listChanged": true}, "logging": {}, "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}}},
            "serverInfo": {"name": "capdeck", "title": "Capdeck", "version": "0.0.0-test"},
            "instructions": "Use `search` to find tools, then `call_tool`. Here: fake.",
        })
    );
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let result = served.client("/mcp").initialize();
    assert_eq!(result["capabilities"]["prompts"], json!({"listChanged": true}));
    assert_eq!(result["capabilities"]["completions"], json!({}));
    assert_eq!(
        result["capabilities"]["resources"],
        json!({"listChanged": true, "subscribe": true})
    );
    assert_eq!(
        result["instructions"],
        "Tools are named `<capability>__<tool>`. Here: fake.\nfake: A server of the test"
    );
}

#[test]
fn tools_are_listed_and_called_in_every_view() {
    for (exposure, listed, call) in [
        (Exposure::Direct, "fake__echo", json!({"name": "fake__echo", "arguments": {"a": 1}})),
        (
            Exposure::Progressive,
            "fake",
            json!({"name": "fake", "arguments":
                {"operation": "call_tool", "name": "echo", "args": {"a": 1}}}),
        ),
        (
            Exposure::Search,
            "call_tool",
            json!({"name": "call_tool", "arguments": {"name": "fake__echo", "data": {"a": 1}}}),
        ),
    ] {
        let served = Setting::of(&FakePlan::default()).exposure(exposure).serve();
        let mut client = served.deck_client();
        assert!(names(&mut client).contains(&listed.to_owned()), "{exposure:?}");
        let answer = client.request("tools/call", call);
        assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#, "{exposure:?}");
    }
}

#[test]
fn resources_prompts_and_completions_are_served() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut client = served.deck_client();
    let listed = client.request("resources/list", json!({}));
    let uri = listed["result"]["resources"][0]["uri"].clone();
    let read = client.request("resources/read", json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"], "a note");
    let listed = client.request("resources/templates/list", json!({}));
    let template = listed["result"]["resourceTemplates"][0]["uriTemplate"].clone();
    let prompt = json!({"name": "fake__greet", "arguments": {"who": "Ada"}});
    let answer = client.request("prompts/get", prompt);
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "Greet Ada");
    let asked = json!({"ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": "id", "value": "be"}});
    let answer = client.request("completion/complete", asked);
    assert_eq!(answer["result"]["completion"]["values"], json!(["berta"]));
}

#[test]
fn errors_of_the_protocol_have_their_codes() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut client = served.deck_client();
    for (method, params, code) in [
        ("tools/list", json!({"cursor": "nonsense"}), -32602),
        ("resources/list", json!({"cursor": "1"}), -32602),
        ("prompts/list", json!({"cursor": ""}), -32602),
        ("tools/call", json!({"name": "zzzzzzzzzzzz", "arguments": {}}), -32602),
        ("tools/call", json!({"arguments": {}}), -32602),
        ("prompts/get", json!({"name": "nothing"}), -32602),
        ("resources/read", json!({"uri": "nothing://here"}), -32002),
        ("resources/read", json!({"uri": "caplets://fake/resources/fake%3A%2F%2Fgone"}), -32002),
        ("no/such/method", json!({}), -32601),
    ] {
        let answer = client.request(method, params.clone());
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    let gone = json!({"uri": "caplets://fake/resources/fake%3A%2F%2Fgone"});
    let answer = client.request("resources/read", gone);
    assert_eq!(answer["error"]["data"], json!({"uri": "fake://gone"}), "the server's own data");
}

#[test]
fn a_failed_call_is_a_result_that_a_model_can_act_on() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut client = served.deck_client();
    let wrong = json!({"name": "fake__structured", "arguments": {"origine": {}}});
    let result = client.request("tools/call", wrong)["result"].clone();
    assert_eq!(result["isError"], true);
    let error = &result["structuredContent"]["error"];
    assert_eq!(error["code"], "REQUEST_INVALID");
    assert_eq!(
        error["details"]["unexpectedArgs"],
        json!([{"name": "origine", "nearest": "origin"}])
    );
    assert!(error["details"]["inputSchema"]["$defs"].is_object());
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("REQUEST_INVALID: ") && text.contains("did you mean `origin`"),
        "{text}"
    );

    let refused = json!({"name": "fake__rpc_error", "arguments": {}});
    let result = client.request("tools/call", refused)["result"].clone();
    let error = &result["structuredContent"]["error"];
    assert_eq!(error["message"], "refused on purpose");
    assert_eq!(error["details"], json!({"remote": {"code": -32050, "data": {"why": "test"}}}));
}

#[test]
fn a_reload_is_announced_on_the_get_stream() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut client = served.deck_client();
    let before = names(&mut client);
    let session = client.session.clone().unwrap();
    let mut stream = EventStream::listen(served.authority(), "/mcp", &session);
    let file = "---\nname: Sayer\ndescription: Says one word on request\n\
                cliTools: {actions: {say: {command: printf, args: [hi]}}}\n---\n";
    served.dirs.write("config/sayer.md", file);
    served.inside(Host::reload);
    assert_eq!(
        stream.next(),
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    );
    let after = names(&mut client);
    assert_eq!(after.len(), before.len() + 1);
    assert!(after.contains(&"sayer__say".to_owned()));
}

#[test]
fn a_servers_own_change_is_announced_too() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut client = served.deck_client();
    names(&mut client);
    let session = client.session.clone().unwrap();
    let mut stream = EventStream::listen(served.authority(), "/mcp", &session);
    let change = json!({"name": "fake__change_tools", "arguments": {"name": "late"}});
    client.request("tools/call", change);
    // The first listing was the client's own doing and is not announced; this is the change.
    assert_eq!(stream.next()["method"], "notifications/tools/list_changed");
    while !names(&mut client).contains(&"fake__late".to_owned()) {
        let reported = stream.next();
        assert!(reported["method"].as_str().unwrap().ends_with("/list_changed"), "{reported}");
    }
}

#[test]
fn progress_carries_the_callers_own_token() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut client = served.deck_client();
    let session = client.session.clone().unwrap();
    names(&mut client);
    let message = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {
        "name": "fake__progress", "arguments": {"steps": 2, "intervalMs": 300},
        "_meta": {"progressToken": "my-token"}}});
    let mut stream = EventStream::post(served.authority(), "/mcp", &session, &message);
    for step in 1..=2 {
        let reported = stream.next();
        assert_eq!(reported["method"], "notifications/progress");
        assert_eq!(
            reported["params"],
            json!({"progressToken": "my-token", "progress": step, "total": 2,
                "message": format!("step {step}")})
        );
    }
    let answer = stream.next();
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(77), &json!("done"))
    );
}

#[test]
fn a_cancelled_request_reaches_the_server() {
    let setting = Setting::new().exposure(Exposure::Direct);
    let record = setting.record();
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    let served = setting.server("fake", &plan).serve();
    let mut client = served.deck_client();
    names(&mut client);
    let session = client.session.clone().unwrap();
    let hang = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "fake__hang", "arguments": {}}});
    let mut stream = EventStream::post(served.authority(), "/mcp", &session, &hang);
    let received = |method: &str| {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.into_iter().find(|message| message["method"] == method)
    };
    until("the call", || received("tools/call"));
    client.post(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#);
    assert_eq!(stream.next()["error"]["code"], -32800);
    until("the cancellation", || received("notifications/cancelled"));
}

#[test]
fn bad_messages_are_refused_with_a_status() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.deck_client();
    assert_eq!(client.post("{ not json").status, 400);
    let huge = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(17 << 20)
    );
    assert_eq!(client.post(&huge).status, 413);
    assert_eq!(client.send("PUT", "/mcp", &[], b"").status, 405);
    client.session = Some("no-such-session".to_owned());
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 404);
    client.session = None;
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).status, 400);
}

#[test]
fn a_deleted_session_is_over() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.deck_client();
    assert_eq!(client.send("DELETE", "/mcp", &[], b"").status, 204);
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 404);
}

#[test]
fn what_is_only_for_the_shell_has_no_endpoint() {
    let mut entry = FakePlan::default().deck_entry();
    entry["exposure"] = json!("none");
    let served = Setting::new().entry("mcpServers", "fake", entry).serve();
    assert_eq!(served.client("/servers/fake/mcp").post("{}").status, 404);
}
