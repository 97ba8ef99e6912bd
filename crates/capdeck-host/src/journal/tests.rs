//! Tests of the store and the replay; runs with real workers are in the crate's tests.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use capdeck_sandbox::{CallFailure, CallHandler, CallRequest, DeckOperation, HandlerResponse};
use jiff::Timestamp;
use serde_json::{Value, json, value::RawValue};

use super::{
    record::RECORD_VERSION,
    replay::{CallReplay, ExpectedArgs, ExpectedCall, ReplayStrictness},
    run_store::RunLimits,
    *,
};

fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

fn record(id: &str) -> RunRecord {
    RunRecord {
        version: RECORD_VERSION,
        id: id.to_owned(),
        at: Timestamp::UNIX_EPOCH,
        state: RunState::Done,
        client: "agent".to_owned(),
        principal: "local".to_owned(),
        scope: RecordedScope::Operator,
        session: None,
        after: None,
        code: "return null".to_owned(),
        code_sha256: String::new(),
        timeout_ms: 1000,
        now_ms: 0,
        seed: 1,
        duration_ms: 1.0,
        capabilities: Vec::new(),
        calls: Vec::new(),
        moments: Vec::new(),
        end: RunEnd::Value(raw(&Value::Null)),
        diagnostics: Vec::new(),
        logs: Vec::new(),
        unrepeatable: None,
    }
}

fn store() -> (tempfile::TempDir, RunStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::new(folder.path());
    (folder, store)
}

fn place(folder: &Path, id: &str) -> std::path::PathBuf {
    folder.join("runs").join(format!("{id}.json"))
}

#[test]
fn a_record_comes_back_and_only_its_owner_reads_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, store) = store();
    store.save(&record("a-1")).unwrap();
    // A value of `null` is a value.
    assert!(matches!(store.find("a-1").unwrap().end, RunEnd::Value(_)));
    let mode = fs::metadata(place(folder.path(), "a-1")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}

#[test]
fn runs_are_found_by_the_beginning_or_the_end_of_their_id() {
    let (_folder, store) = store();
    for id in ["aa-1", "aa-2", "bb-2"] {
        store.save(&record(id)).unwrap();
    }
    assert_eq!(store.find("bb").unwrap().id, "bb-2");
    assert_eq!(store.find("-1").unwrap().id, "aa-1");
    assert!(
        matches!(store.find("aa"), Err(RunStoreError::Ambiguous { found, .. }) if found.len() == 2)
    );
    for nothing in ["cc", "", "../runs/aa-1", "/etc/passwd", "aa-1.json"] {
        assert!(matches!(store.find(nothing), Err(RunStoreError::Unknown { .. })), "{nothing}");
    }
    let ids: Vec<String> = store.list().unwrap().runs.into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["bb-2", "aa-2", "aa-1"]);
}

#[test]
fn broken_and_foreign_files_are_reported_of_and_skipped() {
    let (folder, store) = store();
    store.save(&record("good")).unwrap();
    let good = fs::read_to_string(place(folder.path(), "good")).unwrap();
    fs::write(place(folder.path(), "half"), good.split_at(good.len() / 2).0).unwrap();
    fs::write(place(folder.path(), "newer"), good.replace("\"version\":1", "\"version\":9"))
        .unwrap();
    fs::write(place(folder.path(), "copy"), &good).unwrap();
    fs::write(folder.path().join("runs/notes.txt"), "mine").unwrap();
    let listing = store.list().unwrap();
    assert_eq!(listing.runs.len(), 1);
    let problems: Vec<String> = listing.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems.iter().any(|text| text.contains("`newer`") && text.contains("version 9")),
        "{problems:?}"
    );
    assert!(problems.iter().any(|text| text.contains("its id is `good`")), "{problems:?}");
    assert!(matches!(store.find("half"), Err(RunStoreError::Unreadable { .. })));
}

#[test]
fn what_is_too_old_too_many_or_too_much_goes_and_the_newest_stays() {
    let (folder, store) = store();
    for number in 0..6 {
        store.save(&record(&format!("run-{number}"))).unwrap();
    }
    let left = |limits: RunLimits| {
        store.sweep(limits, SystemTime::now());
        store.list().unwrap().runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>()
    };
    let wide = RunLimits { max_age: Duration::from_secs(60), max_runs: 100, max_bytes: 1 << 20 };
    assert_eq!(left(wide).len(), 6);
    let old = fs::File::open(place(folder.path(), "run-0")).unwrap();
    old.set_modified(SystemTime::now() - Duration::from_secs(90)).unwrap();
    assert_eq!(left(wide).len(), 5);
    assert_eq!(left(RunLimits { max_runs: 3, ..wide }), ["run-5", "run-4", "run-3"]);
    assert_eq!(left(RunLimits { max_bytes: 1, ..wide }), ["run-5"]);
}

#[test]
fn one_process_at_a_time_resumes_a_run() {
    let (_folder, store) = store();
    store.save(&record("one")).unwrap();
    let held = store.claim("one").unwrap();
    assert!(matches!(store.claim("one"), Err(RunStoreError::Busy { .. })));
    drop(held);
    store.claim("one").unwrap();
}

#[test]
fn a_chain_ends_at_the_first_cell_and_names_what_is_missing() {
    let (_folder, store) = store();
    let after = |id: &str, before: &str| RunRecord { after: Some(before.to_owned()), ..record(id) };
    store.save(&record("first")).unwrap();
    store.save(&after("second", "first")).unwrap();
    let third = after("third", "second");
    let ids: Vec<String> = store.chain(third).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["first", "second", "third"]);
    let orphan = store.chain(after("fourth", "gone")).unwrap_err();
    assert_eq!(orphan.to_string(), "run `fourth` depends on run `gone`, which was deleted");
    let secret =
        RunRecord { unrepeatable: Some("it contained a secret".to_owned()), ..record("x") };
    assert!(matches!(store.chain(secret), Err(ReplayError::Unrepeatable { .. })));
    // A file that depends on itself must not loop.
    store.save(&after("loop", "loop")).unwrap();
    assert!(store.chain(store.load("loop").unwrap()).is_err());
}

fn known(tool: &str, args: &Value, answer: Option<(usize, Value)>) -> ExpectedCall {
    let sent = json!({"name": tool, "args": args});
    ExpectedCall {
        capability: Some("files".to_owned()),
        method: DeckOperation::CallTool,
        args: ExpectedArgs::Like(sent),
        target: format!("files.{tool}"),
        answer: answer
            .map(|(place, data)| (place, HandlerResponse { outcome: Ok(raw(&data)), meta: None })),
    }
}

fn request(tool: &str, args: &Value) -> CallRequest {
    CallRequest {
        capability: Some("files".to_owned()),
        method: DeckOperation::CallTool,
        args: raw(&json!({"name": tool, "args": args})),
    }
}

/// Counts live calls.
#[derive(Default)]
struct Live(AtomicUsize);

#[async_trait]
impl CallHandler for Live {
    async fn call(&self, _: CallRequest) -> HandlerResponse {
        self.0.fetch_add(1, Ordering::Relaxed);
        HandlerResponse::data(raw(&json!("live")))
    }
}

fn text(answer: HandlerResponse) -> String {
    match answer.outcome {
        Ok(data) => data.get().to_owned(),
        Err(CallFailure { code, message, .. }) => format!("{code}: {message}"),
    }
}

#[tokio::test]
async fn answers_come_in_the_order_they_came() {
    let calls = vec![
        known("slow", &json!({}), Some((1, json!("slow")))),
        known("quick", &json!({}), Some((0, json!("quick")))),
    ];
    let replay = CallReplay::offline(calls, ReplayStrictness::Exact);
    let order = parking_lot::Mutex::new(Vec::new());
    let made = async |tool: &str| {
        let answer = text(replay.call(request(tool, &json!({}))).await);
        order.lock().push(answer);
    };
    tokio::join!(made("slow"), made("quick"));
    assert_eq!(*order.lock(), ["\"quick\"", "\"slow\""]);
    assert_eq!(replay.divergence(), None);
}

#[tokio::test]
async fn only_calls_without_an_answer_are_made_when_a_run_goes_on() {
    let live = Live::default();
    let calls = vec![
        known("read", &json!({}), Some((0, json!("recorded")))),
        known("remove", &json!({}), None),
    ];
    let replay = CallReplay::resuming(calls, &live);
    assert_eq!(text(replay.call(request("read", &json!({}))).await), "\"recorded\"");
    assert_eq!(live.0.load(Ordering::Relaxed), 0);
    assert_eq!(text(replay.call(request("remove", &json!({}))).await), "\"live\"");
    assert_eq!(text(replay.call(request("other", &json!({}))).await), "\"live\"");
    assert_eq!((live.0.load(Ordering::Relaxed), replay.divergence()), (2, None));
}

#[tokio::test]
async fn a_run_that_leaves_the_record_calls_nothing_any_more() {
    let live = Live::default();
    let calls = vec![known("read", &json!({"path": "a"}), Some((0, json!(1))))];
    let replay = CallReplay::resuming(calls, &live);
    let answer = text(replay.call(request("read", &json!({"path": "b"}))).await);
    assert!(answer.starts_with("REPLAY_DIVERGED"), "{answer}");
    assert!(answer.contains("call 1 is `files.read` with other arguments"), "{answer}");
    let later = text(replay.call(request("remove", &json!({}))).await);
    assert!(later.starts_with("REPLAY_DIVERGED"), "{later}");
    assert_eq!(live.0.load(Ordering::Relaxed), 0);
    assert!(replay.divergence().is_some());
    let calls = vec![known("read", &json!({}), Some((0, json!(1))))];
    let divergence = CallReplay::offline(calls, ReplayStrictness::Exact).divergence().unwrap();
    assert_eq!(divergence, "it did not make the recorded call 1, `files.read`");
}

#[tokio::test]
async fn a_test_takes_known_calls_in_any_order_each_once() {
    let calls = || {
        vec![
            known("a", &json!({"token": "[redacted]", "n": [1]}), Some((0, json!("A")))),
            known("b", &json!({"text": "begin… (5 more)"}), Some((1, json!("B")))),
        ]
    };
    let replay = CallReplay::offline(calls(), ReplayStrictness::AnyOrder);
    let b = request("b", &json!({"text": "begin12345"}));
    assert_eq!(text(replay.call(b).await), "\"B\"");
    let a = || request("a", &json!({"token": "hush", "n": [1]}));
    assert_eq!(text(replay.call(a()).await), "\"A\"");
    assert_eq!(replay.divergence(), None);
    let answer = text(replay.call(a()).await);
    assert!(answer.contains("has no recorded result"), "{answer}");
    let other = CallReplay::offline(calls(), ReplayStrictness::AnyOrder);
    let answer = text(other.call(request("a", &json!({"token": "hush", "n": [2]}))).await);
    assert!(answer.starts_with("REPLAY_DIVERGED"), "{answer}");
}
