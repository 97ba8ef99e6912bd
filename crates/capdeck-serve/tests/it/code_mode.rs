//! Code mode over HTTP, in both eras: sessions across requests, questions in the middle of a run, and clients that misbehave.

use capdeck_definition::Exposure;
use capdeck_test::{FakeEra, FakePlan, HttpClient};
use serde_json::{Value, json};

use crate::{
    event_stream::EventStream,
    modern_client::ModernClient,
    served::{Served, Setting, until},
};

fn served() -> Served {
    served_by(FakeEra::Legacy)
}

fn served_by(era: FakeEra) -> Served {
    let plan = FakePlan { era, ..FakePlan::default() };
    Setting::of(&plan).exposure(Exposure::CodeMode).serve()
}

fn call(code: &str) -> Value {
    json!({"name": "code_mode", "arguments": {"code": code}})
}

fn run(client: &mut HttpClient, arguments: Value) -> Value {
    let answer = client.request("tools/call", json!({"name": "code_mode", "arguments": arguments}));
    envelope(&answer)
}

fn envelope(answer: &Value) -> Value {
    let envelope = answer["result"]["structuredContent"].clone();
    assert!(envelope["ok"].is_boolean(), "{answer}");
    envelope
}

fn answers(asked: &Value, content: &Value) -> Value {
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    let answered =
        requests.keys().map(|key| (key.clone(), json!({"action": "accept", "content": content})));
    Value::Object(answered.collect())
}

#[test]
fn a_legacy_session_goes_on_from_request_to_request_and_ends_with_the_client() {
    let served = served();
    let mut client = served.deck_client();
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let first =
        run(&mut client, json!({"code": "const n = (await caplets.fake.echo({ n: 41 })).n"}));
    let again = json!({"code": "n + 1", "sessionId": first["meta"]["sessionId"]});
    assert_eq!(run(&mut client, again.clone())["value"], 42);
    let other = run(&mut served.deck_client(), again);
    assert_eq!(other["error"]["code"], "SESSION_NOT_FOUND", "{other}");
}

#[test]
fn a_modern_session_is_its_principals_whatever_the_client_says_of_itself() {
    let served = served();
    let mut client = ModernClient::new(&served, "/mcp", json!({}));
    let first = envelope(&client.request("tools/call", call("let n = 1")));
    let id = &first["meta"]["sessionId"];
    let again = json!({"name": "code_mode", "arguments": {"code": "++n", "sessionId": id}});
    assert_eq!(envelope(&client.request("tools/call", again.clone()))["value"], 2);
    // The same person with other capabilities is another client to the protocol.
    let mut able = ModernClient::new(&served, "/mcp", json!({"elicitation": {"form": {}}}));
    assert_eq!(envelope(&able.request("tools/call", again.clone()))["value"], 3);
    let beside = served.beside("a-key-of-somebody-else");
    let mut stranger = beside.client("/mcp");
    stranger.initialize();
    let answer = stranger.request("tools/call", again);
    assert_eq!(envelope(&answer)["error"]["code"], "SESSION_NOT_FOUND");
}

#[test]
fn a_modern_client_is_asked_and_the_run_goes_on_with_the_answer() {
    for era in [FakeEra::Legacy, FakeEra::Modern] {
        asked_and_answered(&served_by(era));
    }
}

fn asked_and_answered(served: &Served) {
    let mut client = ModernClient::new(served, "/mcp", json!({"elicitation": {"form": {}}}));
    let code = "const before = Math.random(); const said = await caplets.fake.ask_elicitation(); return { said, same: before !== undefined }";
    let asked = client.request("tools/call", call(code));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut again = call(code);
    again["inputResponses"] = answers(&asked, &json!({"name": "Ada"}));
    again["requestState"] = asked["result"]["requestState"].clone();
    let answer = envelope(&client.request("tools/call", again));
    assert_eq!(answer["ok"], true, "{answer}");
    assert!(answer["value"]["said"].to_string().contains("Ada"), "{answer}");
    assert_eq!(answer["meta"]["calls"], 1, "the call was not made twice");
}

#[test]
fn the_run_of_a_client_that_cannot_be_asked_waits_for_a_person() {
    let served = served_by(FakeEra::Modern);
    let code = "const r = await caplets.fake.callTool('ask_elicitation'); return r.error";
    let mut modern = ModernClient::new(&served, "/mcp", json!({}));
    let modern = envelope(&modern.request("tools/call", call(code)));
    let legacy = run(&mut served.deck_client(), json!({ "code": code }));
    for answer in [modern, legacy] {
        let error = &answer["error"];
        assert_eq!(error["code"], "RUN_PAUSED", "{answer}");
        let command = format!("capdeck runs resume {}", answer["meta"]["runId"].as_str().unwrap());
        assert!(error["hint"].as_str().unwrap().contains(&command), "{answer}");
        assert!(error["message"].as_str().unwrap().contains("fake.ask_elicitation"), "{answer}");
    }
}

/// Code that takes until its time is over.
const ENDLESS: [&str; 4] = [
    "for (;;) {}",
    "for (;;) await Promise.all(Array(100).fill(Promise.resolve()))",
    "/^(a+)+$/.test('a'.repeat(40) + 'b')",
    "'a'.repeat(2 ** 22).indexOf('a'.repeat(2 ** 21) + 'b')",
];

/// The longest time that a run may have.
const MAX_TIMEOUT_MS: u32 = 120_000;

#[test]
fn other_clients_are_answered_while_code_misbehaves() {
    let setting = Setting::new();
    let record = setting.record();
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    let served = setting.server("fake", &plan).exposure(Exposure::CodeMode).serve();
    let mut client = served.deck_client();
    for (number, endless) in ENDLESS.iter().enumerate() {
        // The call says that the code runs now. It has so much time that it is still running when the others are answered.
        let mark = format!("attack-{number}");
        let code = format!("await caplets.fake.echo({{ mark: '{mark}' }}); {endless}");
        let arguments = json!({"code": code, "timeoutMs": MAX_TIMEOUT_MS});
        let attack = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
            "params": {"name": "code_mode", "arguments": arguments}});
        let mut attacker = served.deck_client();
        let session = attacker.session.clone().unwrap();
        let mut stream = EventStream::post(served.authority(), "/mcp", &session, &attack);
        until("the attack", || {
            std::fs::read_to_string(&record).unwrap_or_default().contains(&mark).then_some(())
        });
        for _ in 0..3 {
            let code = "(await caplets.fake.echo({ a: 1 })).a";
            let answer = run(&mut client, json!({"code": code, "timeoutMs": MAX_TIMEOUT_MS}));
            assert_eq!(answer["value"], 1, "{endless}: {answer}");
        }
        assert!(!stream.has_answer(), "{endless}: it is over before the others are answered");
        attacker.post(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#,
        );
    }
}

#[test]
fn code_that_misbehaves_is_ended() {
    let served = served();
    let endless = ENDLESS.map(|code| (code, "sandbox_timeout", 1500));
    let limited = [
        "const all = []; for (;;) all.push(new Array(1e5).fill('x'.repeat(1000)))",
        "const f = () => f() + 1; f()",
    ]
    .map(|code| (code, "sandbox_limit", MAX_TIMEOUT_MS));
    for (code, ending, timeout) in endless.into_iter().chain(limited) {
        let envelope = run(&mut served.deck_client(), json!({"code": code, "timeoutMs": timeout}));
        assert_eq!(envelope["error"]["code"], ending, "{code}: {envelope}");
    }
}

#[test]
fn a_cancelled_run_cancels_its_calls() {
    let setting = Setting::new();
    let record = setting.record();
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    let served = setting.server("fake", &plan).exposure(Exposure::CodeMode).serve();
    let mut client = served.deck_client();
    let received = |method: &str| {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        text.contains(&format!(r#""method":"{method}""#)).then_some(())
    };
    let session = client.session.clone().unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call("await caplets.fake.hang()")});
    let _stream = EventStream::post(served.authority(), "/mcp", &session, &body);
    until("the call", || received("tools/call"));
    client.post(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#);
    until("the cancellation", || received("notifications/cancelled"));
}
