//! The stdio server against a client driven by hand.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::server::{StdioOptions, serve_stdio};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf},
    task::JoinHandle,
};

use crate::support::*;

struct Talk {
    fixture: Arc<Fixture>,
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Talk {
    fn start() -> Self {
        let options = StdioOptions {
            max_line: 10_000,
            finish_grace: Duration::from_millis(20),
            ..StdioOptions::default()
        };
        let fixture = Fixture::new();
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(serve_stdio(reader, writer, fixture.clone(), options));
        let (reader, writer) = tokio::io::split(ours);
        Self { fixture, lines: BufReader::new(reader).lines(), writer, serving }
    }

    async fn introduced(version: &str) -> Self {
        let mut talk = Self::start();
        talk.write(&format!(
            r#"{{"id":0,"method":"initialize","params":{{"protocolVersion":"{version}"}}}}"#
        ))
        .await;
        assert_eq!(talk.read().await["id"], 0);
        talk
    }

    async fn write(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let line = soon(self.lines.next_line()).await.unwrap().expect("the server hung up");
        serde_json::from_str(&line).unwrap()
    }
}

#[tokio::test]
async fn nothing_but_ping_comes_before_the_handshake() {
    let mut talk = Talk::start();
    talk.write(r#"{"id":1,"method":"tools/list"}"#).await;
    assert_eq!(talk.read().await["error"]["code"], -32600);
    talk.write(r#"{"id":"p","method":"ping"}"#).await;
    assert_eq!(talk.read().await, json!({"jsonrpc":"2.0","id":"p","result":{}}));
    talk.write(r#"{"id":2,"method":"initialize","params":{}}"#).await;
    assert_eq!(talk.read().await["error"]["code"], -32602);
    talk.write(
        r#"{"id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"unwelcome"}}}"#,
    )
    .await;
    assert_eq!(talk.read().await["error"]["message"], "not you");
    talk.write(r#"{"id":4,"method":"initialize","params":{"protocolVersion":"2030-01-01"}}"#).await;
    assert_eq!(talk.read().await["result"]["protocolVersion"], "2025-11-25");
    talk.write(r#"{"id":5,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#).await;
    assert_eq!(talk.read().await["error"]["code"], -32600);
}

#[tokio::test]
async fn every_known_revision_is_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut talk = Talk::start();
        let params = json!({"protocolVersion": version});
        talk.write(&json!({"id": 1, "method": "initialize", "params": params}).to_string()).await;
        assert_eq!(talk.read().await["result"]["protocolVersion"], version);
    }
}

#[tokio::test]
async fn ids_are_echoed_as_they_came() {
    let mut talk = Talk::introduced("2025-11-25").await;
    for id in [json!("a\u{e9}"), json!(-3), json!(0), json!(1.5), json!("")] {
        talk.write(&json!({"id": id, "method": "tools/list"}).to_string()).await;
        assert_eq!(talk.read().await["id"], id);
    }
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_the_next_is_served() {
    let mut talk = Talk::introduced("2025-11-25").await;
    for (line, code) in [
        ("{nope".to_owned(), -32700),
        (r#"{"id":7}"#.to_owned(), -32600),
        (r#"{"id":{},"method":"tools/list"}"#.to_owned(), -32600),
        (r#"{"id":8,"method":"tools/list","params":[1]}"#.to_owned(), -32602),
        (r#"[{"id":9,"method":"ping"}]"#.to_owned(), -32600),
        ("x".repeat(20_000), -32600),
    ] {
        talk.write(&line).await;
        assert_eq!(talk.read().await["error"]["code"], code, "{line}");
    }
    talk.write(r#"{"id":10,"method":"tools/list"}"#).await;
    assert_eq!(talk.read().await["id"], 10);
}

/// An error without an id is what a peer says about something it could not read. Two peers that answered it would never stop.
#[tokio::test]
async fn an_error_response_is_never_answered() {
    let mut talk = Talk::introduced("2025-03-26").await;
    for line in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#,
        r#"{"error":""}"#,
        r#"[{"error":{"code":1,"message":"x"}},{"id":null,"error":1}]"#,
    ] {
        talk.write(line).await;
    }
    talk.write(r#"{"id":10,"method":"ping"}"#).await;
    assert_eq!(talk.read().await["id"], 10);
}

#[tokio::test]
async fn older_clients_may_send_batches() {
    let mut talk = Talk::introduced("2025-03-26").await;
    talk.write(
        r#"[{"id":1,"method":"ping"},{"method":"notifications/x"},5,{"id":2,"method":"ping"}]"#,
    )
    .await;
    let mut ids = [talk.read().await, talk.read().await, talk.read().await];
    ids.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(ids[0]["error"]["code"], -32600);
    assert_eq!((&ids[1]["id"], &ids[2]["id"]), (&json!(1), &json!(2)));
    talk.fixture.until(&Happening::Notified("notifications/x".to_owned())).await;
}

#[tokio::test]
async fn a_request_id_in_use_is_refused_and_a_cancelled_request_is_not_answered() {
    let mut talk = Talk::introduced("2025-11-25").await;
    let hang = r#"{"id":1,"method":"tools/call","params":{"name":"hang"}}"#;
    talk.write(hang).await;
    talk.fixture.until(&Happening::Started("hang".to_owned())).await;
    talk.write(hang).await;
    assert_eq!(talk.read().await["error"]["message"], "request id 1 is in use");
    talk.write(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    talk.fixture.until(&Happening::Cancelled).await;
    talk.write(r#"{"id":2,"method":"ping"}"#).await;
    assert_eq!(talk.read().await["id"], 2);
}

#[tokio::test]
async fn a_cancellation_right_behind_its_request_cancels_it() {
    let mut talk = Talk::introduced("2025-11-25").await;
    // In one piece, so that all are read at once. Were the first call still there, its id would be refused to the second.
    talk.write(concat!(
        r#"{"id":1,"method":"tools/call","params":{"name":"hang"}}"#,
        "\n",
        r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#,
    ))
    .await;
    talk.write(r#"{"id":2,"method":"ping"}"#).await;
    assert_eq!(talk.read().await["id"], 2, "the call is not answered");
    talk.write(r#"{"id":1,"method":"tools/call","params":{"name":"hang"}}"#).await;
    talk.write(r#"{"id":3,"method":"ping"}"#).await;
    assert_eq!(talk.read().await["id"], 3, "and its id is free");
}

#[tokio::test]
async fn the_end_of_input_lets_quick_requests_finish_and_cancels_the_others() {
    let Talk { fixture, mut lines, mut writer, serving } = Talk::introduced("2025-11-25").await;
    writer
        .write_all(
            b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hang\"}}\n{\"id\":2,\"method\":\"tools/list\"}",
        )
        .await
        .unwrap();
    writer.shutdown().await.unwrap();
    let answer: Value =
        serde_json::from_str(&soon(lines.next_line()).await.unwrap().unwrap()).unwrap();
    assert_eq!(answer["id"], 2);
    fixture.until_all(&[Happening::Cancelled, Happening::Closed]).await;
    soon(serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_stops_reading_ends_the_session() {
    let Talk { fixture, lines, mut writer, serving } = Talk::introduced("2025-11-25").await;
    writer
        .write_all(b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hang\"}}\n")
        .await
        .unwrap();
    fixture.until(&Happening::Started("hang".to_owned())).await;
    drop((lines, writer));
    fixture.until_all(&[Happening::Cancelled, Happening::Closed]).await;
    soon(serving).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_more_is_read_from_a_client_that_does_not_read() {
    let mut talk = Talk::introduced("2025-11-25").await;
    let flood = async {
        for _ in 0..50_000 {
            talk.write(r#"{"id":1,"method":"ping"}"#).await;
        }
    };
    // Time passes only while nothing else happens, so this is no matter of speed.
    assert!(tokio::time::timeout(Duration::from_secs(5), flood).await.is_err(), "it is held up");
    for _ in 0..2_000 {
        assert_eq!(talk.read().await["id"], 1, "and answered once it reads");
    }
}

#[tokio::test]
async fn dropping_the_server_cancels_its_requests() {
    let mut talk = Talk::introduced("2025-11-25").await;
    talk.write(r#"{"id":1,"method":"tools/call","params":{"name":"hang"}}"#).await;
    talk.fixture.until(&Happening::Started("hang".to_owned())).await;
    talk.serving.abort();
    talk.fixture.until(&Happening::Cancelled).await;
}

#[tokio::test]
async fn a_question_no_one_answers_ends_at_its_deadline() {
    let mut talk = Talk::introduced("2025-11-25").await;
    let peer = talk.fixture.peer();
    let asking = peer.request("roots/list", None, Duration::from_millis(20));
    let error = soon(asking).await.unwrap_err();
    assert_eq!(error.message, "the client did not answer `roots/list` within 20 ms");
    let question = talk.read().await;
    let cancelled = talk.read().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
}
