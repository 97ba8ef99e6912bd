//! One capability as it is, at `/servers/<id>/mcp`: nothing added, nothing lost.

use capdeck_test::{FakePlan, HttpClient};
use serde_json::{Value, json};

use crate::{event_stream::EventStream, served::Setting};

const PATH: &str = "/servers/fake/mcp";

fn plan() -> FakePlan {
    FakePlan { instructions: Some("Call echo.".to_owned()), ..FakePlan::default() }
}

/// The text of one answer's `result`, exactly as it came.
fn result_text(client: &mut HttpClient, id: u64, method: &str, params: Value) -> String {
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let reply = client.post(&message.to_string());
    let own = |text: &String| {
        serde_json::from_str::<Value>(text).is_ok_and(|message| message["id"] == json!(id))
    };
    let text = reply.message_texts().into_iter().find(own).unwrap_or_else(|| panic!("{reply:?}"));
    text.split_once(r#""result":"#).unwrap_or_else(|| panic!("no result: {text}")).1.to_owned()
}

#[test]
fn the_handshake_and_every_answer_are_the_servers_own() {
    let fake = plan().start_http();
    let served = Setting::of(&plan()).serve();
    let (mut direct, mut through) = (HttpClient::new(&fake.url), served.client(PATH));
    assert_eq!(direct.initialize().to_string(), through.initialize().to_string());
    for (id, (method, params)) in (10..).zip([
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/read", json!({"uri": "fake://items/7"})),
        ("prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})),
        ("completion/complete", json!({"argument": {"name": "who", "value": "an"}})),
        ("logging/setLevel", json!({"level": "info"})),
        ("tools/call", json!({"name": "odd_content", "arguments": {}})),
        ("tools/call", json!({"name": "structured", "arguments": {}})),
        ("tools/call", json!({"name": "tool_error", "arguments": {}})),
    ]) {
        let own = result_text(&mut direct, id, method, params.clone());
        assert_eq!(result_text(&mut through, id, method, params), own, "{method}");
    }
}

#[test]
fn unknown_members_of_a_call_reach_the_server() {
    let served = Setting::of(&plan()).serve();
    let mut client = served.client(PATH);
    client.initialize();
    let call = json!({
        "name": "params", "arguments": {"b": 1, "a": 2}, "x-unknown": {"kept": true},
        "task": {"ttl": 5}, "_meta": {"example.com/trace": "abc", "progressToken": 9},
    });
    let answer = client.request("tools/call", call);
    let seen: Value =
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(seen["arguments"].to_string(), r#"{"b":1,"a":2}"#, "the order is kept");
    assert_eq!((&seen["x-unknown"], &seen["task"]), (&json!({"kept": true}), &json!({"ttl": 5})));
    assert_eq!(seen["_meta"]["example.com/trace"], "abc");
    assert_ne!(seen["_meta"]["progressToken"], 9, "tokens are per hop");
}

#[test]
fn the_servers_errors_pass_with_code_and_data() {
    let served = Setting::of(&plan()).serve();
    let mut client = served.client(PATH);
    client.initialize();
    let call = |name: &str| json!({"name": name, "arguments": {}});
    assert_eq!(
        client.request("tools/call", call("rpc_error"))["error"],
        json!({"code": -32050, "message": "refused on purpose", "data": {"why": "test"}})
    );
    assert_eq!(
        client.request("resources/read", json!({"uri": "fake://gone"}))["error"],
        json!({"code": -32002, "message": "resource not found", "data": {"uri": "fake://gone"}})
    );
    assert_eq!(
        client.request("vendor/extension", json!({"x": 1}))["error"],
        json!({"code": -32601, "message": "method not found: vendor/extension"})
    );
}

#[test]
fn bad_cursors_of_a_paging_server_are_the_servers_to_refuse() {
    let plan = FakePlan { page_size: Some(5), ..plan() };
    let served = Setting::of(&plan).serve();
    let mut client = served.client(PATH);
    client.initialize();
    let first = client.request("tools/list", json!({}));
    assert_eq!(first["result"]["tools"].as_array().unwrap().len(), 5);
    let cursor = first["result"]["nextCursor"].clone();
    let second = client.request("tools/list", json!({"cursor": cursor}));
    assert_eq!(second["result"]["tools"].as_array().unwrap().len(), 5);
    let wrong = client.request("tools/list", json!({"cursor": "nonsense"}));
    assert_eq!(wrong["error"]["code"], -32602);
}

#[test]
fn what_the_server_says_by_itself_arrives() {
    let served = Setting::of(&plan()).serve();
    let mut client = served.client(PATH);
    client.initialize();
    let session = client.session.clone().unwrap();
    let mut stream = EventStream::listen(served.authority(), PATH, &session);
    client.request("resources/subscribe", json!({"uri": "fake://note"}));
    let touch = json!({"name": "touch_resource", "arguments": {"uri": "fake://note"}});
    client.request("tools/call", touch);
    assert_eq!(
        stream.next(),
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated",
            "params": {"uri": "fake://note"}})
    );
}

#[test]
fn a_question_of_the_server_is_answered_by_the_client() {
    let served = Setting::of(&plan()).serve();
    let mut client = served.client(PATH);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "asked", "version": "1"}}});
    let reply = client.post(&hello.to_string());
    client.session = reply.header("mcp-session-id").map(str::to_owned);
    client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let session = client.session.clone().unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "ask_elicitation", "arguments": {}}});
    let mut stream = EventStream::post(served.authority(), PATH, &session, &call);
    let question = stream.next();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Who are you?");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(client.post(&answer.to_string()).status, 202);
    let result = stream.next();
    let text = result["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(r#""name":"Ada""#), "{text}");
}

#[test]
fn backends_that_are_no_servers_have_tools_all_the_same() {
    let tools = json!({"name": "Sayer", "description": "Says one word on request",
        "actions": {"say": {"command": "printf", "args": ["hi"]}}});
    let served = Setting::new().entry("cliTools", "sayer", tools).serve();
    let mut client = served.client("/servers/sayer/mcp");
    let hello = client.initialize();
    assert_eq!(hello["serverInfo"]["name"], "sayer");
    assert_eq!(hello["capabilities"], json!({"tools": {}, "resources": {}}));
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "say");
    let answer = client.request("tools/call", json!({"name": "say", "arguments": {}}));
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "hi");
    let answer = client.request("prompts/list", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
}

#[test]
fn large_results_of_backends_that_are_no_servers_are_their_resources() {
    let tools = json!({"name": "Counter", "description": "Counts to a number", "maxOutputBytes": 100,
        "actions": {"count": {"command": "seq", "args": ["2000"]}}});
    let served = Setting::new().entry("cliTools", "counter", tools).serve();
    let mut client = served.client("/servers/counter/mcp");
    client.initialize();
    assert_eq!(client.request("resources/list", json!({}))["result"], json!({"resources": []}));
    let templates = client.request("resources/templates/list", json!({}));
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(
        template,
        "capdeck://artifacts/{capability}/{call}/{file}{?offset,length,at,from,count}"
    );
    let answer = client.request("tools/call", json!({"name": "count", "arguments": {}}));
    let uri = answer["result"]["content"][1]["uri"].as_str().unwrap().to_owned();
    for path in ["/servers/counter/mcp", "/mcp"] {
        let mut client = served.client(path);
        client.initialize();
        let part = format!("{uri}?offset=2&length=2");
        let read = client.request("resources/read", json!({"uri": part}));
        assert_eq!(read["result"]["contents"][0]["text"], "2\n", "{path}: {read}");
        let wrong = client.request("resources/read", json!({"uri": format!("{uri}?offset=x")}));
        assert_eq!(wrong["error"]["code"], -32602, "{path}: {wrong}");
        let gone = client.request("resources/read", json!({"uri": format!("{uri}x")}));
        assert_eq!(gone["error"]["code"], -32002, "{path}: {gone}");
    }
}

#[test]
fn unknown_and_unusable_capabilities_are_distinguished() {
    let dead = FakePlan { exit_at_start: Some(5), ..FakePlan::default() };
    let served = Setting::of(&plan()).server("dead", &dead).serve();
    let unknown = served.client("/servers/nobody/mcp").post("{}");
    assert_eq!((unknown.status, unknown.body.as_str()), (404, "there is no capability `nobody`\n"));
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let reply = served.client("/servers/dead/mcp").post(&hello.to_string());
    let error = &reply.messages()[0]["error"];
    let message =
        "`dead` ended with exit code 5 (run its `command` in a terminal to see what it is missing)";
    assert_eq!(error["message"], message);
    assert_eq!(error["data"]["code"], "SERVER_UNAVAILABLE");
    let mut good = served.client(PATH);
    good.initialize();
}
