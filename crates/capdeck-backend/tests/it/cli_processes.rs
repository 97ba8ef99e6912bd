//! Commands that hang, flood, fork or will not die.

use std::time::Duration;

use capdeck_backend::{ErrorCode, ErrorKind};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Deck, call, cancellable, context, pids_in, until_gone};

fn shell(script: &str) -> Value {
    json!({"kind": "cli", "actions": {"run": {
        "command": "sh", "args": ["-c", script, "sh", "$input.file"],
    }}})
}

#[tokio::test]
async fn a_command_that_reads_its_input_ends_at_once() {
    let backend = json!({"kind": "cli", "actions": {"run": {"command": "cat"}}});
    let result = Deck::new(&[]).call(backend, "run", json!({})).await.unwrap();
    assert_eq!(result["structuredContent"]["exitCode"], 0);
    assert_eq!(result["structuredContent"]["stdout"], "");
}

#[tokio::test]
async fn a_megabyte_of_errors_blocks_nothing() {
    let deck = Deck::new(&[]);
    let backend = json!({"kind": "cli", "actions": {"run": {
        "command": "sh",
        "args": ["-c", "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo done"],
    }}});
    let result = deck.call(backend, "run", json!({})).await.unwrap();
    let structured = &result["structuredContent"];
    assert_eq!(structured["exitCode"], 0);
    assert_eq!(structured["stdout"], "done\n");
    assert_eq!(structured["stderr"].as_str().unwrap().len(), 200_000 - "done\n".len());
    assert_eq!(structured["truncated"], true);
    assert_eq!(structured["artifact"]["filename"], "stderr.txt");
    assert_eq!(structured["artifact"]["byteLength"], 1_000_000);
}

#[tokio::test]
async fn output_over_the_limit_is_cut_and_kept_whole() {
    let deck = Deck::new(&[]);
    // Each line has an odd number of bytes around a two-byte letter, so the cut falls into one.
    let backend = json!({"kind": "cli", "maxOutputBytes": 1_001, "actions": {"run": {
        "command": "sh",
        "args": ["-c", "i=0; while [ $i -lt 500 ]; do printf 'éé'; i=$((i+1)); done; printf x >&2"],
    }}});
    let result = deck.call(backend, "run", json!({})).await.unwrap();
    let structured = &result["structuredContent"];
    assert_eq!(structured["stdout"], "é".repeat(500));
    assert_eq!(structured["stderr"], "x");
    assert_eq!(structured["truncated"], true);
    let uri = structured["artifact"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("capdeck://artifacts/thing/"), "{uri}");
    assert_eq!(result["content"][1]["type"], "resource_link");
    assert_eq!(result["content"][1]["uri"], uri);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.ends_with(&format!("[stdout cut at 1000 of 2000 bytes; all of it: {uri}]")),
        "{text}"
    );
    let (artifact, bytes) = deck.connector.artifacts().read(uri).await.unwrap();
    assert_eq!(bytes, "é".repeat(1000).as_bytes());
    assert_eq!(artifact.byte_length, 2000);
}

#[tokio::test]
async fn a_timeout_ends_everything_and_tells_what_was_printed() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("pids");
    let mut backend = shell("echo begun; echo trouble >&2; sleep 1000 & echo $$ $! > $1; wait");
    backend["timeoutMs"] = json!(700);
    let connection = deck.connect(backend).await.unwrap();
    let context = cancellable(CancellationToken::new());
    let error = call(&connection, "run", json!({"file": file}), &context).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolCallTimeout);
    assert_eq!(error.message, "`run` did not end within 700 ms and was ended");
    let data = error.data.unwrap();
    assert_eq!((&data["stdout"], &data["stderr"]), (&json!("begun\n"), &json!("trouble\n")));
    until_gone(&pids_in(&file, 2).await).await;
    assert!(deck.connector.process_log("thing").unwrap().contains("run: timed out after "));
}

#[tokio::test]
async fn a_group_that_ignores_the_request_to_end_is_killed() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("pids");
    let mut backend = shell(
        "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $$ $! > $1; wait; wait",
    );
    backend["timeoutMs"] = json!(700);
    let connection = deck.connect(backend).await.unwrap();
    let context = cancellable(CancellationToken::new());
    let error = call(&connection, "run", json!({"file": file}), &context).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    until_gone(&pids_in(&file, 2).await).await;
}

#[tokio::test]
async fn cancelling_ends_the_command() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("pids");
    let connection = deck.connect(shell("sleep 1000 & echo $$ $! > $1; wait")).await.unwrap();
    let cancel = CancellationToken::new();
    let context = cancellable(cancel.clone());
    let calling = call(&connection, "run", json!({"file": file.clone()}), &context);
    let cancelling = async {
        let pids = pids_in(&file, 2).await;
        cancel.cancel();
        pids
    };
    let (result, pids) = tokio::join!(calling, cancelling);
    assert_eq!(result.unwrap_err().code, ErrorCode::Cancelled);
    until_gone(&pids).await;
}

#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("pids");
    let connection = deck.connect(shell("sleep 1000 & echo $$ $! > $1; wait")).await.unwrap();
    let context = cancellable(CancellationToken::new());
    let pids = tokio::select! {
        _ = call(&connection, "run", json!({"file": file.clone()}), &context) => panic!("it never ends"),
        pids = pids_in(&file, 2) => pids,
    };
    until_gone(&pids).await;
}

#[tokio::test]
async fn what_a_finished_command_left_behind_is_ended() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("pids");
    let script = "sleep 1000 & echo $! > $1; echo done";
    let connection = deck.connect(shell(script)).await.unwrap();
    let context = context(Duration::from_secs(20));
    let result = call(&connection, "run", json!({"file": file.clone()}), &context).await.unwrap();
    assert_eq!(result["structuredContent"]["stdout"], "done\n");
    until_gone(&pids_in(&file, 1).await).await;
}

#[tokio::test]
async fn closing_the_connection_ends_its_commands() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("pids");
    let connection = deck.connect(shell("sleep 1000 & echo $$ $! > $1; wait")).await.unwrap();
    assert_eq!(connection.ended(), None);
    let context = cancellable(CancellationToken::new());
    let calling = call(&connection, "run", json!({"file": file.clone()}), &context);
    let closing = async {
        let pids = pids_in(&file, 2).await;
        connection.close().await;
        pids
    };
    let (result, pids) = tokio::join!(calling, closing);
    assert_eq!(result.unwrap_err().code, ErrorCode::Cancelled);
    assert!(connection.ended().is_some());
    until_gone(&pids).await;
}
