//! MCP servers that die, hang, lie and chatter: each fails its own calls, in time, and says why.

use std::time::Duration;

use capdeck_backend::{ConnectOptions, ErrorCode};
use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    mcp::{PLENTY, answer, stdio},
    support::{Deck, call, cancellable, context, definition},
};

#[tokio::test]
async fn a_server_that_ends_at_once_says_how_and_why() {
    let plan = FakePlan {
        exit_at_start: Some(3),
        stderr_line: Some("cannot find the license canary-1234".to_owned()),
        ..FakePlan::default()
    };
    let deck = Deck::new(&[("LICENSE_KEY", "canary-1234")]);
    let mut backend = stdio(&plan);
    backend["env"] = json!({"KEY": "${LICENSE_KEY}"});
    let error = deck.connect(backend).await.unwrap_err();
    // One that waited for the deadline would be `ServerStartTimeout`.
    assert_eq!(error.code, ErrorCode::ServerUnavailable);
    assert_eq!(error.message, "`thing` ended with exit code 3: cannot find the license [redacted]");
    let hint = "run its `command` in a terminal to see what it is missing";
    assert_eq!(error.hint.as_deref(), Some(hint));
}

#[tokio::test]
async fn a_handshake_has_one_deadline() {
    for initialize in [FakeFault::Hang, FakeFault::WrongId, FakeFault::BadJson] {
        let plan = FakePlan {
            initialize,
            stderr_line: Some("warming up".to_owned()),
            ..FakePlan::default()
        };
        let mut backend = stdio(&plan);
        backend["startupTimeoutMs"] = json!(1500);
        let error = Deck::new(&[]).connect(backend).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ServerStartTimeout, "{error}");
        assert_eq!(
            error.message,
            "`thing` did not finish its handshake within 1500 ms; it last wrote: warming up"
        );
    }
}

#[tokio::test]
async fn connecting_can_be_cancelled() {
    let plan = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() };
    let cancel = CancellationToken::new();
    let options = ConnectOptions { cancel: cancel.clone(), ..ConnectOptions::default() };
    let deck = Deck::new(&[]);
    let definition = definition(stdio(&plan));
    let connecting = deck.connector.connect(&definition, options);
    let (outcome, ()) = tokio::join!(connecting, async { cancel.cancel() });
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Cancelled);
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let error = Deck::new(&[])
        .connect(json!({"kind": "mcp", "command": "no-such-program"}))
        .await
        .unwrap_err();
    assert_eq!(error.message, "`no-such-program` was not found on PATH");
}

#[tokio::test]
async fn a_crash_fails_the_calls_in_flight_at_once() {
    let plan = FakePlan { stderr_line: Some("out of cheese".to_owned()), ..FakePlan::default() };
    let connection = Deck::new(&[]).connect(stdio(&plan)).await.unwrap();
    let context = context(PLENTY);
    let (hanging, crashing) = tokio::join!(
        call(&connection, "hang", json!({}), &context),
        call(&connection, "crash", json!({}), &context),
    );
    for outcome in [hanging, crashing] {
        let error = outcome.unwrap_err();
        // One that waited for the deadline would be `ToolCallTimeout`.
        assert_eq!(error.code, ErrorCode::ServerUnavailable);
        assert!(error.message.starts_with("`thing` was ended by SIGABRT"), "{error}");
        assert!(error.message.ends_with("; it last wrote: out of cheese"), "{error}");
    }
    assert!(connection.ended().unwrap().contains("out of cheese"));
    let error = call(&connection, "echo", json!({}), &context).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerUnavailable);
}

#[tokio::test]
async fn lies_and_silence_end_at_the_deadline_and_harm_no_other_call() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    for tool in ["hang", "wrong_id", "bad_json"] {
        let error = call(&connection, tool, json!({}), &context(Duration::from_millis(200)))
            .await
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolCallTimeout);
        assert!(
            error.message.starts_with(&format!("tool `{tool}` of `thing` gave no answer within")),
            "{error}"
        );
        let fine = call(&connection, "echo", json!({"n": 1}), &context(PLENTY)).await.unwrap();
        assert_eq!(answer(&fine), json!({"n": 1}));
    }
}

#[tokio::test]
async fn an_answer_that_says_nothing_is_not_waited_for() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    for (tool, problem) in [
        ("no_outcome", "its answer has neither `result` nor `error`"),
        ("text_result", "the result of `text_result` is no object"),
    ] {
        let error = call(&connection, tool, json!({}), &context(PLENTY)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::DownstreamProtocolError, "{tool}");
        assert_eq!(error.message, format!("`thing` broke the protocol: {problem}"));
        let fine = call(&connection, "echo", json!({"n": 1}), &context(PLENTY)).await.unwrap();
        assert_eq!(answer(&fine), json!({"n": 1}));
    }
}

#[tokio::test]
async fn a_line_of_twenty_megabytes_is_refused_and_the_next_call_works() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    let error = call(&connection, "huge_line", json!({}), &context(PLENTY)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ContentTooLarge);
    assert!(
        error.message.starts_with("tool `huge_line` of `thing` answered with more than"),
        "{error}"
    );
    let fine = call(&connection, "echo", json!({"n": 1}), &context(PLENTY)).await.unwrap();
    assert_eq!(answer(&fine), json!({"n": 1}));
}

#[tokio::test]
async fn a_large_answer_within_the_limit_passes() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    let bytes = 12 * 1024 * 1024;
    let result =
        call(&connection, "big_result", json!({"bytes": bytes}), &context(PLENTY)).await.unwrap();
    assert_eq!(result["content"][0]["text"].as_str().unwrap().len(), bytes);
}

#[tokio::test]
async fn chatter_on_standard_error_blocks_nothing() {
    let plan = FakePlan { chatter_bytes: 1 << 20, ..FakePlan::default() };
    let result =
        Deck::new(&[]).call(stdio(&plan), "chatter", json!({"bytes": 1 << 20})).await.unwrap();
    assert_eq!(answer(&result), "chattered");
}

#[tokio::test]
async fn cancelling_a_call_tells_the_server() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    let cancel = CancellationToken::new();
    let hanging = cancellable(cancel.clone());
    let cancelling = async {
        call(&connection, "echo", json!({}), &context(PLENTY)).await.unwrap();
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(call(&connection, "hang", json!({}), &hanging), cancelling);
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Cancelled);
    let received = call(&connection, "received", json!({}), &context(PLENTY)).await.unwrap();
    let received: Vec<Value> = serde_json::from_value(answer(&received)).unwrap();
    assert!(
        received.iter().any(|one| one.to_string().contains("notifications/cancelled")),
        "{received:?}"
    );
}

#[tokio::test]
async fn a_server_that_refuses_to_end_is_ended() {
    let plan = FakePlan { ignore_sigterm: true, ignore_stdin_close: true, ..FakePlan::default() };
    let connection = Deck::new(&[]).connect(stdio(&plan)).await.unwrap();
    tokio::time::timeout(PLENTY, connection.close()).await.unwrap();
}
