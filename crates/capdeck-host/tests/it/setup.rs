//! Declared set-ups: hidden until approved, run and verified.

use capdeck_host::{SetupEvent, SetupState, StepStatus};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::deck::{Deck, agent, call, call_listed, caplet, listed};

fn file(setup: Value) -> String {
    caplet(&json!({
        "name": "Needs set-up", "description": "Works after its set-up", "setup": setup,
        "cliTools": {"actions": {"say": {"command": "printf", "args": ["ready"]}}},
    }))
}

fn steps(deck: &Deck, verify: &str) -> Value {
    let mark = deck.dirs.root().join("mark");
    json!({
        "commands": [{"label": "make a mark", "command": "touch", "args": [mark]}],
        "verify": [{"label": "look for it", "command": "test", "args": [verify, mark]}],
    })
}

#[tokio::test]
async fn a_verified_set_up_makes_the_capability_visible() {
    let deck = Deck::new();
    let deck = {
        let text = file(steps(&deck, "-e"));
        deck.file("config/tool.md", &text)
    };
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, [] as [&str; 0]);
    let error = call(&host.operator(), "tool", "say", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_UNAVAILABLE");
    assert_eq!(error.message, "`tool` needs its set-up first");
    assert_eq!(error.hint.as_deref(), Some("the person runs: capdeck setup tool"));

    let mut received = Vec::new();
    let report = SetupState::run(&host, "tool", &CancellationToken::new(), |event| {
        received.push(match event {
            SetupEvent::Started { index, step, .. } => format!("start {index} {}", step.label),
            SetupEvent::Finished { index, report, .. } => {
                format!("end {index} {:?}", report.status)
            }
        });
    })
    .await
    .unwrap();
    assert!(report.succeeded());
    assert_eq!(
        received,
        ["start 0 make a mark", "end 0 Done", "start 1 look for it", "end 1 Done"]
    );
    assert_eq!(listed(&session).await, ["search", "describe", "call_tool", "call_read_only"]);
    let answer = call_listed(&session, "call_tool", json!({"name": "tool__say"})).await;
    assert_eq!(answer.unwrap().unwrap()["structuredContent"]["stdout"], "ready");
    host.close().await;

    // The approval is kept, for this very definition.
    let host = deck.open();
    assert!(host.catalog().get("tool").unwrap().is_usable());
    let changed = file(steps(&deck, "-f"));
    deck.dirs.write("config/tool.md", changed);
    host.reload();
    assert!(!host.catalog().get("tool").unwrap().is_usable());
    host.close().await;
}

#[tokio::test]
async fn a_failing_check_keeps_it_hidden() {
    let deck = Deck::new();
    let deck = {
        let text = file(steps(&deck, "-d"));
        deck.file("config/tool.md", &text)
    };
    let host = deck.open();
    let report =
        SetupState::run(&host, "tool", &CancellationToken::new(), |_event| {}).await.unwrap();
    assert!(!report.succeeded());
    let last = report.steps.last().unwrap();
    assert_eq!(last.label, "look for it");
    assert_eq!(last.status, StepStatus::Failed { reason: "exit code 1".to_owned(), hint: None });
    assert!(!host.catalog().get("tool").unwrap().is_usable());
    host.close().await;
}

#[tokio::test]
async fn a_missing_program_stops_the_steps_after_it() {
    let setup = json!({
        "commands": [
            {"label": "install", "command": "no-such-installer-zz"},
            {"label": "never", "command": "true"},
        ],
    });
    let deck = Deck::new().file("config/tool.md", &file(setup));
    let host = deck.open();
    let report =
        SetupState::run(&host, "tool", &CancellationToken::new(), |_event| {}).await.unwrap();
    assert_eq!((report.steps.len(), report.not_run), (1, 1));
    let error =
        SetupState::run(&host, "other", &CancellationToken::new(), |_event| {}).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_NOT_FOUND");
    host.close().await;
}

#[tokio::test]
async fn the_set_up_of_an_untrusted_project_is_not_run() {
    let deck = Deck::new();
    let mark = deck.dirs.root().join("mark");
    let deck = {
        let text = file(steps(&deck, "-e"));
        deck.file("project/.capdeck/tool.md", &text)
    };
    let host = deck.open();
    let outcome = SetupState::run(&host, "tool", &CancellationToken::new(), |_event| {}).await;
    assert!(!mark.exists(), "an untrusted project ran a command");
    assert_eq!(outcome.unwrap_err().code.as_str(), "DENIED");
    host.close().await;
}
