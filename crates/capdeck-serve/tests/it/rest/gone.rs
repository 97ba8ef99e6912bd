//! Requests whose sender goes away before they are answered.

use std::{fs, io::Write as _, net::TcpStream};

use capdeck_test::FakePlan;
use serde_json::json;

use super::stage::{Api, each};
use crate::served::{Setting, until};

const WAIT: &str = "/v1/deck/capabilities/fake/tools/wait/call";

/// A host with a server that writes down what it is sent.
fn recorded() -> Api {
    let setting = Setting::new();
    let plan = FakePlan { record: Some(setting.record()), ..FakePlan::default() };
    Api::of(setting.server("fake", &plan))
}

/// How often the server was called.
fn calls(api: &Api) -> usize {
    let record = fs::read_to_string(api.served.dirs.root().join("record")).unwrap_or_default();
    record.lines().filter(|line| line.contains("tools/call") && line.contains("wait")).count()
}

/// Asks for a call, and goes away once it is under way.
fn call_and_leave(api: &Api, arguments: &str, headers: &str) {
    let authority = api.served.authority();
    let mut stream = TcpStream::connect(authority).unwrap();
    let request = format!(
        "POST {WAIT} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{arguments}",
        arguments.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    until("the call", || (calls(api) > 0).then_some(()));
}

#[test]
fn what_is_asked_under_a_key_is_done_once_and_its_answer_kept() {
    let mut api = recorded();
    let arguments = json!({"arguments": {"ms": 400}});
    call_and_leave(&api, &arguments.to_string(), "Idempotency-Key: once\r\n");
    let key = [("Idempotency-Key", "once")];
    let reported = until("the answer to the client that left", || {
        let again = api.json_with("POST", WAIT, &key, arguments.clone());
        (again.status != 409).then_some(again)
    });
    assert_eq!(reported.reply.header("idempotency-replayed"), Some("true"), "{:?}", reported.reply);
    assert!(reported.is(200)["content"][0]["text"].as_str().unwrap().contains("waited"));
    assert_eq!(calls(&api), 1);
}

#[test]
fn item_22_a_call_that_no_one_waits_for_any_more_has_its_line() {
    let mut api = recorded();
    call_and_leave(&api, &json!({"arguments": {"ms": 60_000}}).to_string(), "");
    let lines = until("the line of the call", || {
        let lines = api.get("/v1/audit?source=deck&action=tools/call").is(200);
        (!lines["items"].as_array().unwrap().is_empty()).then_some(lines)
    });
    assert_eq!(each(&lines, "outcome"), ["CANCELLED"], "{lines}");
    assert_eq!(each(&lines, "approved"), ["policy"], "{lines}");
}
