//! Clients of the modern era at both endpoints, with servers of the legacy era behind them.

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    modern_client::ModernClient,
    served::{Served, Setting},
};

const SERVER: &str = "/servers/fake/mcp";
const NOTE: &str = "caplets://fake/resources/fake%3A%2F%2Fnote";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn direct() -> Served {
    Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve()
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

/// Answers every question of an answer with Ada's name.
fn responses(answer: &Value) -> Value {
    let asked = answer["result"]["inputRequests"].as_object();
    let asked = asked.unwrap_or_else(|| panic!("nothing is asked: {answer}"));
    let reply = json!({"action": "accept", "content": {"name": "Ada"}});
    asked.keys().map(|key| (key.clone(), reply.clone())).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn what_is_advertised_is_answered() {
    for exposure in [Exposure::Direct, Exposure::Search] {
        let served = Setting::of(&FakePlan::default()).exposure(exposure).serve();
        let mut client = ModernClient::new(&served, "/mcp", json!({}));
        let hello = client.request("server/discover", json!({}));
        let capabilities = hello["result"]["capabilities"].as_object().unwrap().clone();
        let methods = [
            ("tools", "tools/list"),
            ("resources", "resources/list"),
            ("resources", "resources/templates/list"),
            ("prompts", "prompts/list"),
        ];
        for (capability, method) in
            methods.iter().filter(|(key, _)| capabilities.contains_key(*key))
        {
            let answer = client.request(method, json!({}));
            assert!(answer["result"].is_object(), "{capability}: {answer}");
        }
        assert_eq!(capabilities.contains_key("completions"), exposure == Exposure::Direct);
        for gone in ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(client.request(gone, json!({}))["error"]["code"], -32601, "{gone}");
        }
    }
}

#[test]
fn both_eras_list_the_same_bytes() {
    let served = direct();
    let legacy =
        served.deck_client().request("tools/list", json!({}))["result"]["tools"].to_string();
    let mut client = ModernClient::new(&served, "/mcp", json!({}));
    for _ in 0..2 {
        let modern = client.request("tools/list", json!({}))["result"]["tools"].to_string();
        assert_eq!(modern, legacy);
        client.request("tools/call", json!({"name": "fake__echo", "arguments": {}}));
    }
}

#[test]
fn a_question_of_a_legacy_server_is_answered_in_every_view() {
    for (exposure, call) in [
        (Exposure::Direct, json!({"name": "fake__ask_elicitation", "arguments": {}})),
        (
            Exposure::Search,
            json!({"name": "call_tool", "arguments": {"name": "fake__ask_elicitation", "data": {}}}),
        ),
        (
            Exposure::Progressive,
            json!({"name": "fake", "arguments":
                {"operation": "call_tool", "name": "ask_elicitation", "args": {}}}),
        ),
    ] {
        let served = Setting::of(&FakePlan::default()).exposure(exposure).serve();
        let mut client = ModernClient::new(&served, "/mcp", json!({"elicitation": {"form": {}}}));
        let asked = client.request("tools/call", call.clone());
        assert_eq!(asked["result"]["resultType"], "input_required", "{exposure:?}: {asked}");
        let mut again = call;
        again["inputResponses"] = responses(&asked);
        again["requestState"] = asked["result"]["requestState"].clone();
        let answer = client.request("tools/call", again);
        assert!(text_of(&answer).contains("Ada"), "{exposure:?}: {answer}");
    }
}

#[test]
fn a_made_up_request_state_opens_nothing() {
    let served = direct();
    let capabilities = json!({"elicitation": {"form": {}}});
    let call = json!({"name": "fake__ask_elicitation", "arguments": {}});
    let asked = ModernClient::new(&served, "/mcp", capabilities.clone())
        .request("tools/call", call.clone());
    let mut other = call;
    other["inputResponses"] = responses(&asked);
    other["requestState"] = json!("made up");
    let answer = ModernClient::new(&served, "/mcp", capabilities).request("tools/call", other);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn errors_of_the_legacy_era_have_their_modern_codes() {
    let served = direct();
    let mut deck = ModernClient::new(&served, "/mcp", json!({}));
    let gone = format!("{}gone", NOTE.trim_end_matches("note"));
    for uri in ["fake://nobody", gone.as_str()] {
        let answer = deck.request("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    let mut one = ModernClient::new(&served, SERVER, json!({}));
    let answer = one.request("resources/read", json!({"uri": "fake://gone"}));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["data"], json!({"uri": "fake://gone"}), "the server's own data");
    let answer = one.request("tools/call", json!({"name": "rpc_error", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32050);
}

#[test]
fn a_client_that_listens_to_the_deck_hears_what_it_asked_for() {
    let served = direct();
    let mut client = ModernClient::new(&served, "/mcp", json!({}));
    client.request("tools/list", json!({}));
    let filter =
        json!({"toolsListChanged": true, "resourceSubscriptions": [NOTE, "fake://nobody"]});
    let mut stream = client.listen(filter);
    let first = stream.next();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": [NOTE]});
    assert_eq!(first["params"]["notifications"], honoured);
    let subscription = first["params"]["_meta"][SUBSCRIPTION].clone();
    assert!(subscription.is_u64(), "{first}");
    let touch = json!({"name": "fake__touch_resource", "arguments": {"uri": "fake://note"}});
    client.request("tools/call", touch);
    let reported = stream.next();
    assert_eq!(
        (&reported["method"], &reported["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(NOTE))
    );
    assert_eq!(reported["params"]["_meta"][SUBSCRIPTION], subscription);
    for name in ["late", "later"] {
        let change = json!({"name": "fake__change_tools", "arguments": {"name": name}});
        client.request("tools/call", change);
        assert_eq!(stream.next()["method"], "notifications/tools/list_changed");
    }
}

#[test]
fn a_client_that_listens_to_one_server_hears_it() {
    let served = direct();
    let mut client = ModernClient::new(&served, SERVER, json!({}));
    let filter = json!({"toolsListChanged": true, "promptsListChanged": false,
        "resourceSubscriptions": ["fake://note"]});
    let mut stream = client.listen(filter);
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["fake://note"]});
    assert_eq!(stream.next()["params"]["notifications"], honoured);
    for uri in ["fake://other", "fake://note"] {
        client.request("tools/call", json!({"name": "touch_resource", "arguments": {"uri": uri}}));
    }
    assert_eq!(stream.next()["params"]["uri"], "fake://note", "the other one is not watched");
    client.request("tools/call", json!({"name": "change_tools", "arguments": {"name": "late"}}));
    assert_eq!(stream.next()["method"], "notifications/tools/list_changed");
    let wrong = client.request("subscriptions/listen", json!({"notifications": 5}));
    assert_eq!(wrong["error"]["code"], -32602);
}

#[test]
fn log_messages_come_only_with_a_level() {
    let served = direct();
    let mut client = ModernClient::new(&served, "/mcp", json!({}));
    let mut heard = |level: Option<&str>| {
        let mut call = json!({"name": "fake__log", "arguments": {}});
        if let Some(level) = level {
            call["_meta"] = json!({"io.modelcontextprotocol/logLevel": level});
        }
        let messages = client.send("tools/call", call).messages();
        messages.iter().filter(|message| message["method"] == "notifications/message").count()
    };
    assert_eq!((heard(None), heard(Some("info")), heard(Some("error"))), (0, 1, 0));
}

#[test]
fn tasks_that_were_not_handed_out_here_do_not_exist() {
    let served = direct();
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut client = ModernClient::new(&served, SERVER, tasks);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = client.request(method, json!({"taskId": "somebody-elses"}));
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        assert_eq!(answer["error"]["message"], "there is no task `somebody-elses`");
    }
}

#[test]
fn an_address_to_open_first_is_a_question_in_every_view() {
    let tool = json!({"name": "visit_first", "description": "Needs a sign-in", "inputSchema": {"type": "object"}});
    let plan = FakePlan { extra_tools: vec![tool], ..FakePlan::default() };
    let call = |exposure| match exposure {
        Exposure::Search => {
            json!({"name": "call_tool", "arguments": {"name": "fake__visit_first", "data": {}}})
        }
        Exposure::Progressive => json!({"name": "fake", "arguments":
            {"operation": "call_tool", "name": "visit_first", "args": {}}}),
        _ => json!({"name": "fake__visit_first", "arguments": {}}),
    };
    for (path, exposure, call) in [
        ("/mcp", Exposure::Direct, call(Exposure::Direct)),
        ("/mcp", Exposure::Search, call(Exposure::Search)),
        ("/mcp", Exposure::Progressive, call(Exposure::Progressive)),
        (SERVER, Exposure::Direct, json!({"name": "visit_first", "arguments": {}})),
    ] {
        let served = Setting::of(&plan).exposure(exposure).serve();
        let mut unable = ModernClient::new(&served, path, json!({})).named("unable");
        let answer = unable.request("tools/call", call.clone());
        assert_eq!(answer["error"]["code"], -32021, "{path} {exposure:?}: {answer}");
        let served = Setting::of(&plan).exposure(exposure).serve();
        let mut client = ModernClient::new(&served, path, json!({"elicitation": {"url": {}}}));
        let asked = client.request("tools/call", call.clone());
        let question = &asked["result"]["inputRequests"]["visit-1"]["params"];
        assert_eq!(question["url"], "https://sign-in.test/start", "{path} {exposure:?}: {asked}");
        let legacy_call = call.clone();
        let mut again = call;
        again["inputResponses"] = json!({"visit-1": {"action": "accept"}});
        again["requestState"] = asked["result"]["requestState"].clone();
        let answer = client.request("tools/call", again);
        assert_eq!(text_of(&answer), "signed in", "{path} {exposure:?}");
        let served = Setting::of(&plan).exposure(exposure).serve();
        let mut legacy = served.client(path);
        legacy.initialize();
        let error = &legacy.request("tools/call", legacy_call)["error"];
        assert_eq!(error["code"], -32042, "{path} {exposure:?}: {error}");
        assert_eq!(error["data"]["elicitations"][0]["elicitationId"], "e1", "{path} {exposure:?}");
    }
}

#[test]
fn gated_tools_are_shown_by_what_each_request_declares() {
    let plan = FakePlan { gated_tools: true, ..FakePlan::default() };
    let served = Setting::of(&plan).exposure(Exposure::Direct).serve();
    let gated = |capabilities: Value| {
        let mut client = ModernClient::new(&served, "/mcp", capabilities).named("gated");
        let answer = client.request("tools/list", json!({}));
        answer["result"]["tools"].to_string().matches("for_").count()
    };
    assert_eq!(gated(json!({})), 0);
    let some = gated(json!({"roots": {}}));
    assert!(some > 0);
    assert_eq!(gated(json!({"roots": {}, "sampling": {}})), 2 * some);
    assert_eq!(gated(json!({})), 0);
}
