//! Servers that misbehave fail their own calls, in time and in words; their neighbours do not notice.

use std::time::Duration;

use capdeck_host::{CallError, LastFailure, check};
use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::{Value, json};

use crate::deck::{Deck, call, text};

/// Guards against a call that hangs. That a call ends by its own timeout is what its error says.
const GUARD_TIMEOUT: Duration = Duration::from_secs(120);

fn deck(plan: &FakePlan) -> Deck {
    let limits = json!({"startupTimeoutMs": 3000, "callTimeoutMs": 300});
    Deck::new().server("bad", plan, limits).server("good", &FakePlan::default(), json!({}))
}

/// What an agent is informed: code, message, hint.
fn received(error: &CallError) -> (&'static str, &str, Option<&str>) {
    (error.code.as_str(), &error.message, error.hint.as_deref())
}

/// Calls `tool` of the bad server, then the good one; gives the bad one's error.
async fn failure_of(deck: &Deck, tool: &str) -> CallError {
    let (host, session) = deck.operator();
    let calling = call(&session, "bad", tool, json!({}));
    let error = tokio::time::timeout(GUARD_TIMEOUT, calling).await.unwrap().unwrap_err();
    let answer = call(&session, "good", "echo", json!({"a": 1})).await.unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    assert_eq!(LastFailure::of(&host, "bad").unwrap().message, error.message);
    assert_eq!(LastFailure::of(&host, "good"), None);
    host.close().await;
    error
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let entry = |command: &str| json!({"name": "Bad", "description": "A program that is not there", "command": command});
    let deck = deck(&FakePlan::default()).entry("mcpServers", "bad", entry("no-such-program-zz"));
    let error = failure_of(&deck, "echo").await;
    assert_eq!(error.code.as_str(), "SERVER_UNAVAILABLE");
    assert_eq!(error.message, "`no-such-program-zz` was not found on PATH");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("no-such-program-zz")));

    let deck = deck.entry("mcpServers", "bad", entry("/nowhere/at-all"));
    assert_eq!(
        received(&failure_of(&deck, "echo").await),
        (
            "SERVER_UNAVAILABLE",
            "there is no such program: `/nowhere/at-all`",
            Some("correct `command` or install the program")
        )
    );
}

#[tokio::test]
async fn a_crash_at_the_start_tells_the_exit_code_and_the_last_words() {
    let plan = FakePlan {
        exit_at_start: Some(7),
        stderr_line: Some("cannot open the database".to_owned()),
        ..FakePlan::default()
    };
    assert_eq!(
        received(&failure_of(&deck(&plan), "echo").await),
        (
            "SERVER_UNAVAILABLE",
            "`bad` ended with exit code 7: cannot open the database",
            Some("run its `command` in a terminal to see what it is missing")
        )
    );
}

#[tokio::test]
async fn a_handshake_without_an_answer_times_out() {
    let plan = FakePlan {
        initialize: FakeFault::Hang,
        stderr_line: Some("waiting for the network".to_owned()),
        ..FakePlan::default()
    };
    let deck = deck(&plan).server("bad", &plan, json!({"startupTimeoutMs": 300}));
    let error = failure_of(&deck, "echo").await;
    assert_eq!(error.code.as_str(), "SERVER_START_TIMEOUT");
    let (before, after) = around_millis(&error.message);
    assert_eq!(before, "`bad` did not finish its handshake within ");
    assert_eq!(after, " ms; it last wrote: waiting for the network");
    let hint = "raise `startupTimeoutMs` if the server is only slow to start";
    assert_eq!(error.hint.as_deref(), Some(hint));
}

/// A text without the number in front of `ms`, which is measured.
fn around_millis(text: &str) -> (&str, &str) {
    let (before, after) = text.split_at(text.find(" ms").unwrap());
    (before.trim_end_matches(|letter: char| letter.is_ascii_digit()), after)
}

#[tokio::test]
async fn a_handshake_that_is_refused_says_so() {
    let plan = FakePlan { initialize: FakeFault::Error, ..FakePlan::default() };
    let error = failure_of(&deck(&plan), "echo").await;
    let message = "`bad` refused the handshake: refused on purpose";
    assert_eq!(received(&error), ("DOWNSTREAM_PROTOCOL_ERROR", message, None));
    assert_eq!(error.rpc.unwrap().code, -32050);
}

#[tokio::test]
async fn calls_without_a_usable_answer_time_out() {
    for tool in ["hang", "wrong_id", "bad_json"] {
        let error = failure_of(&deck(&FakePlan::default()), tool).await;
        assert_eq!(error.code.as_str(), "TOOL_CALL_TIMEOUT");
        let before = format!("tool `{tool}` of `bad` gave no answer within ");
        assert_eq!(around_millis(&error.message), (before.as_str(), " ms"));
        let hint = "raise `callTimeoutMs` if the work takes that long";
        assert_eq!(error.hint.as_deref(), Some(hint));
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_ends_the_call() {
    assert_eq!(
        received(&failure_of(&deck(&FakePlan::default()), "crash").await),
        (
            "SERVER_UNAVAILABLE",
            "`bad` was ended by SIGABRT",
            Some("it is started again with the next call")
        )
    );
}

#[tokio::test]
async fn a_line_of_20_mb_is_refused_and_the_server_stays_in_use() {
    let limits = json!({"callTimeoutMs": 20_000});
    let deck = deck(&FakePlan::default()).server("bad", &FakePlan::default(), limits);
    let (host, session) = deck.operator();
    let error = call(&session, "bad", "huge_line", json!({})).await.unwrap_err();
    assert_eq!(
        received(&error),
        (
            "CONTENT_TOO_LARGE",
            "tool `huge_line` of `bad` answered with more than the limit of 16777216 bytes",
            Some("ask for less at once")
        )
    );
    assert_eq!(text(&call(&session, "bad", "echo", json!({})).await.unwrap()), "{}");
    host.close().await;
}

#[tokio::test]
async fn the_servers_own_error_keeps_its_code_and_data() {
    let error = failure_of(&deck(&FakePlan::default()), "rpc_error").await;
    assert_eq!(received(&error), ("DOWNSTREAM_TOOL_ERROR", "refused on purpose", None));
    let remote = error.rpc.unwrap();
    assert_eq!((remote.code, remote.message.as_str()), (-32050, "refused on purpose"));
    assert_eq!(remote.data.unwrap().get(), r#"{"why":"test"}"#);
}

#[tokio::test]
async fn a_failing_list_fails_the_call_that_needs_it() {
    for (fault, code) in [
        (FakeFault::Hang, "TOOL_CALL_TIMEOUT"),
        (FakeFault::BadJson, "TOOL_CALL_TIMEOUT"),
        (FakeFault::WrongId, "TOOL_CALL_TIMEOUT"),
        (FakeFault::Crash, "SERVER_UNAVAILABLE"),
        (FakeFault::Error, "DOWNSTREAM_PROTOCOL_ERROR"),
    ] {
        let plan = FakePlan { list: fault, ..FakePlan::default() };
        let error = failure_of(&deck(&plan), "echo").await;
        assert_eq!(error.code.as_str(), code, "{fault:?}: {error}");
    }
}

#[tokio::test]
async fn a_megabyte_of_stderr_disturbs_nothing() {
    let plan = FakePlan { chatter_bytes: 1 << 20, ..FakePlan::default() };
    let deck = deck(&plan).server("bad", &plan, json!({}));
    let (host, session) = deck.operator();
    assert_eq!(text(&call(&session, "bad", "chatter", json!({})).await.unwrap()), "chattered");
    let log = host.process_log(&capdeck_host::CapabilityId::new("bad").unwrap()).unwrap();
    assert!(log.len() <= 64 * 1024 && log.contains("chatter"), "{} bytes are kept", log.len());
    host.close().await;
}

#[tokio::test]
async fn a_slow_start_is_waited_for() {
    let plan = FakePlan { start_delay_ms: 700, ..FakePlan::default() };
    let deck = deck(&plan).server("bad", &plan, json!({}));
    let (host, session) = deck.operator();
    assert_eq!(text(&call(&session, "bad", "echo", json!({})).await.unwrap()), "{}");
    host.close().await;
}

#[tokio::test]
async fn lists_are_read_to_their_end_and_no_further() {
    let few = FakePlan { behaviours: false, tools: 95, ..FakePlan::default() };
    let paged = FakePlan { page_size: Some(10), ..few.clone() };
    let endless = FakePlan { page_size: Some(10), endless_pages: true, ..few.clone() };
    let twice = FakePlan { duplicate_tools: true, ..few.clone() };
    for plan in [few, paged, endless, twice] {
        let deck = deck(&plan).server("bad", &plan, json!({"startupTimeoutMs": 20_000}));
        let (host, session) = deck.operator();
        let report = check::check(&session.request(&crate::deck::context()), "bad").await;
        assert_eq!(report.outcome.unwrap().tools.len(), 95);
        assert_eq!(text(&call(&session, "bad", "tool_00094", json!({})).await.unwrap()), "{}");
        host.close().await;
    }
}

#[tokio::test]
async fn while_one_server_hangs_another_answers() {
    let plan = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() };
    let deck = deck(&plan).server("bad", &plan, json!({"startupTimeoutMs": 20_000}));
    let (host, session) = deck.operator();
    let hanging = {
        let session = session.clone();
        tokio::spawn(async move { call(&session, "bad", "echo", json!({})).await })
    };
    let answer = call(&session, "good", "echo", json!({})).await.unwrap();
    assert_eq!(text(&answer), "{}");
    assert!(!hanging.is_finished(), "the hanging call waits for its own server only");
    // Closing ends the start that is under way, too.
    host.close().await;
    let error = hanging.await.unwrap().unwrap_err();
    assert_eq!(error.code.as_str(), "CANCELLED", "{error}");
}

#[tokio::test]
async fn a_tool_that_fails_is_an_answer_and_not_a_failure() {
    let deck = deck(&FakePlan::default());
    let (host, session) = deck.operator();
    let answer = call(&session, "bad", "tool_error", json!({})).await.unwrap();
    let expected: Value = json!({
        "content": [{"type": "text", "text": "this tool fails on purpose"}], "isError": true,
    });
    assert_eq!(answer, expected);
    assert_eq!(LastFailure::of(&host, "bad"), None);
    host.close().await;
}

#[tokio::test]
async fn an_unset_variable_is_named_with_what_to_do() {
    let entry = json!({"env": {"TOKEN": "${SURELY_NOT_SET}"}});
    let deck = deck(&FakePlan::default()).server("bad", &FakePlan::default(), entry);
    assert_eq!(
        received(&failure_of(&deck, "echo").await),
        (
            "CONFIG_INVALID",
            "environment variable `SURELY_NOT_SET` is not set",
            Some("set it where capdeck is started, for example `export SURELY_NOT_SET=…`")
        )
    );
}
