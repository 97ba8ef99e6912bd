//! Code against real servers: what a script reaches, what comes back, and that nothing passes beside the gate.

mod calls;
mod gate;
mod surface;

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{Host, Session};
use serde_json::{Value, json};

use crate::deck::{agent_with, call_listed};

/// An agent that reaches everything by code and by nothing else.
pub(crate) fn coder(host: &Host) -> Arc<Session> {
    agent_with(host, Some(Exposure::CodeMode))
}

/// Runs a cell as the tool does; the envelope.
pub(crate) async fn run(session: &Session, code: &str) -> Value {
    run_with(session, json!({ "code": code })).await
}

/// Runs a cell with these arguments of the tool; the envelope.
pub(crate) async fn run_with(session: &Session, arguments: Value) -> Value {
    let result = call_listed(session, "code_mode", arguments).await.unwrap().expect("it is listed");
    let envelope = result["structuredContent"].clone();
    assert_eq!(result["isError"], json!(envelope["ok"] == false), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    // The text has nothing that the structure has not, and leaves out what no model asked for.
    let said: Value = serde_json::from_str(text).unwrap();
    for (key, value) in said.as_object().unwrap() {
        match key.as_str() {
            "meta" => value.as_object().unwrap().iter().for_each(|(key, value)| {
                assert_eq!(*value, envelope["meta"][key], "{key}");
                assert!(["sessionId", "recoveryRef"].contains(&key.as_str()), "{key}");
            }),
            key => assert_eq!(*value, envelope[key], "{key}"),
        }
    }
    for key in ["ok", "value", "error"] {
        assert_eq!(said.get(key), envelope.get(key), "{key}");
    }
    envelope
}

/// The value of a cell that has to succeed.
pub(crate) async fn value_of(session: &Session, code: &str) -> Value {
    let envelope = run(session, code).await;
    assert_eq!(envelope["ok"], true, "{envelope:#}");
    envelope["value"].clone()
}
