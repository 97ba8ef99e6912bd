//! Both eras on one pair of pipes, against a client driven by hand.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::server::{StdioOptions, serve_stdio};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use crate::support::*;

struct Pipes {
    fixture: Arc<Fixture>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Pipes {
    fn start() -> Self {
        let fixture = Fixture::new();
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let service = Arc::clone(&fixture);
        let options =
            StdioOptions { finish_grace: Duration::from_millis(20), ..StdioOptions::default() };
        tokio::spawn(async move { serve_stdio(reader, writer, service, options).await });
        let (reader, writer) = tokio::io::split(ours);
        Self { fixture, lines: BufReader::new(reader).lines(), writer }
    }

    async fn send(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = soon(self.lines.next_line()).await.unwrap().expect("the server closed");
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        self.receive().await
    }
}

/// Params that say who sends them.
fn signed(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    params
}

#[tokio::test]
async fn a_client_may_look_around_and_still_shake_hands() {
    let mut pipes = Pipes::start();
    let found = pipes.ask(1, "server/discover", signed(json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    let listed = pipes.ask(2, "tools/list", signed(json!({}))).await;
    assert_eq!(listed["result"]["resultType"], "complete");
    let early = pipes.ask(3, "tools/list", json!({})).await;
    assert_eq!(early["error"]["code"], -32600, "without an introduction it needs a handshake");
    let hello = pipes.ask(4, "initialize", json!({"protocolVersion": "2025-11-25"})).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    let listed = pipes.ask(5, "tools/list", signed(json!({}))).await;
    assert!(
        listed["result"]["resultType"].is_null(),
        "after a handshake nothing is modern: {listed}"
    );
    let found = pipes.ask(6, "server/discover", signed(json!({}))).await;
    assert_eq!(found["error"]["code"], -32601);
    assert_eq!(pipes.ask(7, "ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn refusals_have_their_codes() {
    let mut pipes = Pipes::start();
    let code = |answer: Value| (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap());
    assert_eq!(code(pipes.ask(1, "server/discover", json!({})).await), (json!(1), -32602));
    let mut odd = signed(json!({}));
    odd["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v9");
    let answer = pipes.ask(2, "tools/list", odd).await;
    assert_eq!(answer["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "v9"}));
    assert_eq!(code(answer), (json!(2), -32022));
    for method in ["initialize", "ping", "logging/setLevel", "unknown/method"] {
        assert_eq!(code(pipes.ask(3, method, signed(json!({}))).await), (json!(3), -32601));
    }
    let mut bare = signed(json!({"name": "ask"}));
    bare["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    assert_eq!(code(pipes.ask(4, "tools/call", bare).await), (json!(4), -32021));
    let deep = format!("{}{}\n", "[".repeat(10_000), "]".repeat(10_000));
    pipes.writer.write_all(deep.as_bytes()).await.unwrap();
    assert_eq!(code(pipes.receive().await), (Value::Null, -32700));
}

#[tokio::test]
async fn a_question_is_an_answer_here_too() {
    let mut pipes = Pipes::start();
    let asked = pipes.ask(1, "tools/call", signed(json!({"name": "ask"}))).await;
    let state = asked["result"]["requestState"].clone();
    assert_eq!(asked["result"]["inputRequests"]["question-1"]["method"], "elicitation/create");
    let answers = json!({"question-1": {"action": "decline"}});
    let retry = signed(json!({"name": "ask", "inputResponses": answers, "requestState": state}));
    let done = pipes.ask(2, "tools/call", retry.clone()).await;
    assert_eq!(
        (&done["result"]["action"], &done["result"]["resultType"]),
        (&json!("decline"), &json!("complete"))
    );
    assert_eq!(pipes.ask(3, "tools/call", retry).await["error"]["code"], -32602);
}

#[tokio::test]
async fn requests_are_cancelled_by_a_notification_and_keep_their_ids_to_themselves() {
    let mut pipes = Pipes::start();
    let hang = json!({"id": 1, "method": "tools/call", "params": signed(json!({"name": "hang"}))});
    pipes.send(&hang).await;
    pipes.fixture.until(&Happening::Started("hang".to_owned())).await;
    pipes.send(&hang).await;
    let twice = pipes.receive().await;
    assert_eq!((&twice["id"], &twice["error"]["code"]), (&json!(1), &json!(-32600)));
    pipes.send(&json!({"method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    pipes.fixture.until(&Happening::Cancelled).await;
    let next = pipes.ask(2, "tools/call", signed(json!({"name": "echo"}))).await;
    assert_eq!(next["id"], 2, "a cancelled request is not answered");
}

#[tokio::test]
async fn a_subscription_shares_the_line_and_ends_with_it() {
    let mut pipes = Pipes::start();
    let wanted = signed(json!({"notifications": {"toolsListChanged": true}}));
    let acknowledged = pipes.ask(9, "subscriptions/listen", wanted).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    pipes.fixture.release.notify_one();
    let changed = pipes.receive().await;
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
    let listed = pipes.ask(10, "tools/list", signed(json!({}))).await;
    assert_eq!(listed["id"], 10, "other requests go on");
    let Pipes { fixture, lines, writer } = pipes;
    drop((lines, writer));
    fixture.until_all(&[Happening::Cancelled, Happening::Closed]).await;
}
