//! Two principals at one host: nothing that one was given is of use to the other.

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    modern_client::ModernClient,
    served::{Beside, Served, Setting},
    tasks::{JOBS, jobs, with_tasks},
};

const KEY: &str = "open-sesame-and-more";

fn with_key(beside: &Beside, path: &'static str, capabilities: Value) -> ModernClient {
    ModernClient::over(beside.client(path), path, capabilities)
}

/// A large deck, so that its list has pages, at two addresses.
fn large() -> (Served, Beside) {
    let plan = FakePlan { tools: 9000, ..FakePlan::default() };
    let served = Setting::of(&plan)
        .server("secret", &FakePlan::default())
        .config("policy", json!([{"deny": {"capability": "secret", "principal": "key"}}]))
        .config("options", json!({"surfaceTokens": 10_000_000}))
        .exposure(Exposure::Direct)
        .serve();
    let beside = served.beside(KEY);
    (served, beside)
}

#[test]
fn a_session_and_a_cursor_belong_to_one_principal() {
    let (served, beside) = large();
    let mut ada = served.deck_client();
    let first = ada.request("tools/list", json!({}));
    let cursor = &first["result"]["nextCursor"];
    assert!(cursor.is_string(), "the list has pages");

    let mut eve = beside.client("/mcp");
    eve.session.clone_from(&ada.session);
    let reply = eve.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(reply.status, 404, "{reply:?}");
    eve.session = None;
    eve.initialize();
    assert_ne!(eve.session, ada.session);
    let answer = eve.request("tools/list", json!({"cursor": cursor}));
    assert_eq!(answer["error"]["code"], -32602, "another list has other cursors: {answer}");
    let own = ada.request("tools/list", json!({"cursor": cursor}));
    assert!(own["result"]["tools"].is_array(), "{own}");
}

#[test]
fn what_is_denied_to_a_principal_has_no_endpoint_for_it() {
    let (served, beside) = large();
    let (denied, unknown) = ("/servers/secret/mcp", "/servers/nobody/mcp");
    served.client(denied).initialize();
    for (ending, method) in [("", "POST"), ("", "GET"), ("/server-card", "GET")] {
        let ask = |path: &str| {
            let path = format!("{path}{ending}");
            let headers = [("Content-Type", "application/json")];
            let reply = beside.client(&path).send(method, &path, &headers, b"{}");
            (reply.status, reply.body.replace("secret", "NAME").replace("nobody", "NAME"))
        };
        assert_eq!(ask(denied), ask(unknown), "{method} {ending}");
        assert_eq!(ask(denied).0, 404, "{method} {ending}");
    }
    let card = "/servers/secret/mcp/server-card";
    assert_eq!(served.client(card).send("GET", card, &[], b"").status, 200);
}

#[test]
fn a_request_state_belongs_to_one_principal() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let beside = served.beside(KEY);
    let capabilities = json!({"elicitation": {"form": {}}});
    let call = json!({"name": "fake__ask_elicitation", "arguments": {}});
    let mut ada = ModernClient::new(&served, "/mcp", capabilities.clone());
    let asked = ada.request("tools/call", call.clone());
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let mut again = call;
    again["inputResponses"] = json!({key: {"action": "accept", "content": {"name": "Ada"}}});
    again["requestState"] = asked["result"]["requestState"].clone();
    let mut eve = with_key(&beside, "/mcp", capabilities);
    let answer = eve.request("tools/call", again.clone());
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = ada.request("tools/call", again);
    assert!(
        answer["result"]["content"].to_string().contains("Ada"),
        "it was not used up: {answer}"
    );
}

#[test]
fn a_task_belongs_to_one_principal() {
    for era in ["legacy", "modern"] {
        let served = jobs(era).serve();
        let beside = served.beside(KEY);
        let mut ada = ModernClient::new(&served, JOBS, with_tasks());
        let call = json!({"name": "slow_compute", "arguments": {"seconds": 60}});
        let made = ada.request("tools/call", call);
        let id = made["result"]["taskId"].as_str().unwrap().to_owned();
        let mut eve = with_key(&beside, JOBS, with_tasks());
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let mut ask = |id: &str| {
                let params = json!({"taskId": id, "inputResponses": {}});
                eve.request(method, params)["error"].to_string().replace(id, "ID")
            };
            assert_eq!(ask(&id), ask("made-up"), "{era} {method}");
            assert!(ask(&id).contains("-32602"), "{era} {method}");
        }
        let task = ada.request("tasks/get", json!({"taskId": id}));
        assert_eq!(task["result"]["status"], "working", "{era}: {task}");
        ada.request("tasks/cancel", json!({"taskId": id}));
    }
}
