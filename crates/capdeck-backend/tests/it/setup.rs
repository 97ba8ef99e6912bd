//! Declared set-up steps.

use capdeck_backend::{ErrorCode, SetupEvent, SetupPhase, SetupReport, StepStatus};
use capdeck_definition::SetupCommands;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Deck, definition, pids_in, until_gone};

async fn run(deck: &Deck, setup: Value) -> (SetupReport, Vec<String>) {
    let mut prepared = definition(json!({"kind": "cli", "actions": {"run": {"command": "true"}}}));
    prepared.setup = Some(serde_json::from_value::<SetupCommands>(setup).unwrap());
    let mut events = Vec::new();
    let report = deck
        .connector
        .run_setup(&prepared, &CancellationToken::new(), |event| {
            events.push(match event {
                SetupEvent::Started { index, count, step, .. } => {
                    format!("{} of {count}: {}", index + 1, step.label)
                }
                SetupEvent::Finished { report, .. } => format!("{:?}", report.status),
            });
        })
        .await
        .unwrap();
    (report, events)
}

fn shell(label: &str, script: &str) -> Value {
    json!({"label": label, "command": "sh", "args": ["-c", script]})
}

#[tokio::test]
async fn commands_come_before_verification() {
    let deck = Deck::new(&[]);
    let marker = deck.folder.path().join("made");
    let setup = json!({
        "verify": [{"label": "look", "command": "test", "args": ["-e", marker]}],
        "commands": [{"label": "make", "command": "touch", "args": [marker]}, shell("say", "echo hi; cat")],
    });
    let (report, events) = run(&deck, setup).await;
    assert!(report.succeeded(), "{report:?}");
    assert_eq!(events, ["1 of 3: make", "Done", "2 of 3: say", "Done", "3 of 3: look", "Done"]);
    assert_eq!(report.steps[1].stdout, "hi\n");
    let phases: Vec<_> = report.steps.iter().map(|step| step.phase).collect();
    assert_eq!(phases, [SetupPhase::Commands, SetupPhase::Commands, SetupPhase::Verify]);
}

#[tokio::test]
async fn the_first_failure_stops_the_rest() {
    for (step, reason) in [
        (shell("fail", "echo why >&2; exit 4"), "exit code 4"),
        (
            json!({"label": "fail", "command": "no-such-program"}),
            "`no-such-program` was not found on PATH",
        ),
        (
            json!({"label": "fail", "command": "true", "cwd": "relative"}),
            "the working folder of a set-up step must be an absolute path: `relative`",
        ),
    ] {
        let setup =
            json!({"commands": [step, shell("never", "true")], "verify": [shell("never", "true")]});
        let (report, _events) = run(&Deck::new(&[]), setup).await;
        assert!(!report.succeeded());
        assert_eq!((report.steps.len(), report.not_run), (1, 2));
        let StepStatus::Failed { reason: reported, .. } = &report.steps[0].status else {
            panic!("{report:?}")
        };
        assert_eq!(reported, reason);
    }
}

#[tokio::test]
async fn a_step_ends_at_its_deadline_with_all_it_started() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("pids");
    let mut step = shell("hang", "sleep 1000 & echo $$ $! > $0; wait");
    step["args"].as_array_mut().unwrap().push(json!(file));
    step["timeoutMs"] = json!(600);
    let (report, _events) = run(&deck, json!({"commands": [step]})).await;
    let failed = StepStatus::Failed { reason: "did not end within 600 ms".to_owned(), hint: None };
    assert_eq!(report.steps[0].status, failed);
    until_gone(&pids_in(&file, 2).await).await;
}

#[tokio::test]
async fn output_is_cut_and_secrets_are_taken_out() {
    let mut step = shell("leak", "echo $API_TOKEN $OTHER; printf %0300d 0 >&2");
    step["env"] = json!({"API_TOKEN": "canary-1", "OTHER": "$env:VALUE"});
    step["maxOutputBytes"] = json!(100);
    let deck = Deck::new(&[("VALUE", "canary-2")]);
    let (report, _events) = run(&deck, json!({"verify": [step]})).await;
    assert_eq!(report.steps[0].stdout, "[redacted] [redacted]\n");
    assert_eq!(report.steps[0].stderr, format!("{}\n[cut at 100 of 300 bytes]", "0".repeat(100)));
}

#[tokio::test]
async fn nothing_runs_when_a_reference_is_missing_or_nothing_is_declared() {
    let deck = Deck::new(&[]);
    let marker = deck.folder.path().join("made");
    let mut prepared = definition(json!({"kind": "cli", "actions": {"run": {"command": "true"}}}));
    let cancel = CancellationToken::new();
    let error = deck.connector.run_setup(&prepared, &cancel, |_event| {}).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestInvalid);
    let setup = json!({"commands": [
        {"label": "make", "command": "touch", "args": [marker]},
        {"label": "use", "command": "echo", "args": ["$env:MISSING"]},
    ]});
    prepared.setup = Some(serde_json::from_value(setup).unwrap());
    let error = deck.connector.run_setup(&prepared, &cancel, |_event| {}).await.unwrap_err();
    assert_eq!(error.message, "environment variable `MISSING` is not set");
    assert!(!marker.exists());
}
