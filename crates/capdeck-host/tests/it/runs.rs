//! Runs that are recorded, pause, go on and are repeated, with real servers and workers.

mod flow;

use capdeck_host::{
    ApprovalDuration, ApprovalStore, Host, RecordedCall, RunEnd, RunRecord, RunReplayer, RunState,
    RunStore, Session, TestFile, WorkerCommand,
};
use capdeck_test::{FakePlan, sandbox_worker};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    approvals::destructive,
    code_mode::{coder, run, run_with, value_of},
    deck::{Deck, agent_with, call_listed, everything_below},
    record::Record,
};

/// The tools that were called, in order.
fn called(record: &Record) -> Vec<String> {
    let calls = record.received("tools/call");
    calls.iter().map(|call| call["name"].as_str().unwrap().to_owned()).collect()
}

fn store(deck: &Deck) -> RunStore {
    RunStore::new(&deck.dirs.state())
}

fn rehearsal() -> RunReplayer {
    RunReplayer::new(WorkerCommand { program: sandbox_worker(), args: Vec::new() })
}

/// The runs of a deck whose host is closed, the oldest first.
fn recorded(deck: &Deck) -> Vec<RunRecord> {
    let mut listing = store(deck).list().unwrap();
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    listing.runs.reverse();
    listing.runs
}

fn paused(envelope: &Value) -> (String, Vec<String>) {
    assert_eq!(envelope["error"]["code"], "RUN_PAUSED", "{envelope:#}");
    let details = &envelope["error"]["details"];
    let approvals = details["approvals"].as_array().unwrap().iter();
    let ids = approvals.map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    (details["runId"].as_str().unwrap().to_owned(), ids)
}

fn approve(host: &Host, ids: &[String]) {
    for id in ids {
        ApprovalStore::new(&host.settings().state_dir)
            .approve(id, ApprovalDuration::Once, Timestamp::now())
            .unwrap();
    }
}

async fn resume(session: &Session, id: &str) -> Value {
    run_with(session, json!({ "resume": id })).await
}

async fn close(host: Host, session: &Session) {
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn every_run_is_recorded_and_repeats_when_the_server_is_gone() {
    let (deck, record) = destructive();
    {
        let host = deck.open();
        let session = coder(&host);
        let code = "const id = crypto.randomUUID(); const [a, b] = await Promise.all([caplets.fake.echo({ id }), caplets.fake.callTool('tool_error')]); \
                    return [a.id === id, b.ok, id, Date.now(), Math.random()]";
        value_of(&session, code).await;
        run(&session, "throw new TypeError('on purpose')").await;
        close(host, &session).await;
    }
    let runs = recorded(&deck);
    assert_eq!(
        runs.iter().map(|run| run.state).collect::<Vec<_>>(),
        [RunState::Done, RunState::Failed]
    );
    let [first, second] = runs.try_into().unwrap();
    let targets: Vec<String> = first.calls.iter().map(RecordedCall::target).collect();
    assert_eq!(targets, ["fake.echo", "fake.tool_error"]);
    assert_eq!((first.client.as_str(), first.principal.as_str()), ("test-agent", "local"));
    let calls = record.calls();
    for run in [first, second] {
        let chain = store(&deck).chain(run).unwrap();
        let replayed = rehearsal().replay(&chain).await.unwrap().unwrap();
        assert!(replayed.differences.is_empty(), "{:?}", replayed.differences);
    }
    assert_eq!(record.calls(), calls);
}

#[tokio::test]
async fn a_run_that_needs_approval_goes_on_in_another_process_and_calls_everything_once() {
    let (deck, record) = destructive();
    let code = "const before = await caplets.fake.echo({ n: 1, at: Date.now(), id: crypto.randomUUID() }); \
                const both = await Promise.all([caplets.fake.wipe({ path: 'a' }), caplets.fake.echo({ n: 2 })]); \
                const after = await caplets.fake.echo({ n: 3 }); \
                return [before.n, both.length, after.n, before.id.length]";
    let (id, approvals) = {
        let host = deck.open();
        let session = coder(&host);
        let envelope = run(&session, code).await;
        let (id, approvals) = paused(&envelope);
        assert_eq!(approvals.len(), 1);
        let hint = envelope["error"]["hint"].as_str().unwrap();
        assert!(hint.contains(&format!("capdeck approve {}", approvals[0])), "{hint}");
        assert!(hint.contains(&id) && hint.contains("resume"), "{hint}");
        assert_eq!(envelope["meta"]["runId"], json!(id));
        close(host, &session).await;
        (id, approvals)
    };
    assert_eq!(called(&record), ["echo", "echo"]);
    let host = deck.open();
    let session = coder(&host);
    // No one has approved yet: it waits on, and nothing is called again.
    let (same, again) = paused(&resume(&session, &id).await);
    assert_eq!((&same, &again), (&id, &approvals));
    assert_eq!(called(&record), ["echo", "echo"]);
    approve(&host, &approvals);
    let envelope = resume(&session, &id).await;
    assert_eq!(envelope["value"], json!([1, 2, 3, 36]), "{envelope:#}");
    assert_eq!(called(&record), ["echo", "echo", "wipe", "echo"]);
    assert_eq!(envelope["meta"]["runId"], json!(id));
    // What is done stays done.
    let refused = call_listed(&session, "code_mode", json!({"resume": id})).await.unwrap_err();
    assert!(refused.message.contains("is not paused: it is done"), "{refused}");
    close(host, &session).await;
    let [run] = recorded(&deck).try_into().unwrap();
    assert_eq!((run.state, run.calls.len()), (RunState::Done, 4));
    let chain = store(&deck).chain(run).unwrap();
    let replayed = rehearsal().replay(&chain).await.unwrap().unwrap();
    assert!(replayed.differences.is_empty(), "{:?}", replayed.differences);
    assert_eq!(record.calls(), 4);
}

#[tokio::test]
async fn several_calls_can_wait_and_a_run_can_pause_again() {
    let (deck, record) = destructive();
    let host = deck.open();
    let session = coder(&host);
    let code = "await Promise.all(['a', 'b'].map(path => caplets.fake.wipe({ path }))); await caplets.fake.wipe({ path: 'c' }); return 'done'";
    let (id, approvals) = paused(&run(&session, code).await);
    assert_eq!(approvals.len(), 2);
    approve(&host, &approvals[..1]);
    let (_, left) = paused(&resume(&session, &id).await);
    assert_eq!((left.as_slice(), called(&record).len()), (&approvals[1..], 1));
    approve(&host, &left);
    let (_, last) = paused(&resume(&session, &id).await);
    assert_eq!((last.len(), called(&record).len()), (1, 2));
    approve(&host, &last);
    assert_eq!(resume(&session, &id).await["value"], "done");
    let paths: Vec<Value> = record
        .received("tools/call")
        .iter()
        .map(|call| call["arguments"]["path"].clone())
        .collect();
    assert_eq!(paths, ["a", "b", "c"]);
    close(host, &session).await;
}

#[tokio::test]
async fn a_paused_cell_finds_what_earlier_cells_declared() {
    let (deck, record) = destructive();
    let (id, approvals) = {
        let host = deck.open();
        let session = coder(&host);
        let first = run(
            &session,
            "let seen = (await caplets.fake.echo({ n: 7 })).n; const id = crypto.randomUUID();",
        )
        .await;
        let arguments = |code: &str| json!({"code": code, "sessionId": first["meta"]["sessionId"]});
        run_with(&session, arguments("seen += 1")).await;
        let code = "await caplets.fake.wipe({ path: id }); return seen";
        let found = paused(&run_with(&session, arguments(code)).await);
        close(host, &session).await;
        found
    };
    let host = deck.open();
    let session = coder(&host);
    approve(&host, &approvals);
    let envelope = resume(&session, &id).await;
    assert_eq!(envelope["value"], 8, "{envelope:#}");
    assert_eq!(called(&record), ["echo", "wipe"]);
    // The session goes on under its new name.
    let next = json!({"code": "return seen + 1", "sessionId": envelope["meta"]["sessionId"]});
    assert_eq!(run_with(&session, next).await["value"], 9);
    close(host, &session).await;
}

#[tokio::test]
async fn a_run_whose_record_was_changed_does_not_call_anything() {
    let (deck, record) = destructive();
    let host = deck.open();
    let session = coder(&host);
    let code = "const one = await caplets.fake.echo({ n: 1 }); await caplets.fake.wipe({ path: String(one.n) }); return 1";
    let (id, approvals) = paused(&run(&session, code).await);
    approve(&host, &approvals);
    let path = deck.dirs.state().join(format!("runs/{id}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("{ n: 1 }", "{ n: 2 }")).unwrap();
    let envelope = resume(&session, &id).await;
    assert_eq!(envelope["error"]["code"], "RUN_DIVERGED", "{envelope:#}");
    let message = envelope["error"]["message"].as_str().unwrap();
    assert!(message.contains("`fake.echo` with other arguments"), "{message}");
    assert_eq!(called(&record), ["echo"]);
    // A record that is no JSON any more is informed as that.
    std::fs::write(&path, "{ half").unwrap();
    let broken = call_listed(&session, "code_mode", json!({"resume": id})).await.unwrap_err();
    assert!(broken.message.contains("cannot be read"), "{broken}");
    close(host, &session).await;
}

#[tokio::test]
async fn a_paused_run_is_there_for_its_own_client_only() {
    let (deck, record) = destructive();
    let host = deck.open();
    let session = coder(&host);
    let (id, approvals) =
        paused(&run(&session, "return await caplets.fake.wipe({ path: 'x' })").await);
    approve(&host, &approvals);
    let other = agent_with(&host, Some(capdeck_definition::Exposure::DirectAndCodeMode));
    let refused = call_listed(&other, "code_mode", json!({"resume": id})).await.unwrap_err();
    let unknown = call_listed(&other, "code_mode", json!({"resume": "nothing"})).await.unwrap_err();
    assert_eq!(refused.message.replace(&id, "nothing"), unknown.message);
    for unclear in
        [json!({}), json!({"code": "1", "resume": id}), json!({"resume": id, "sessionId": "x"})]
    {
        let error = call_listed(&session, "code_mode", unclear).await.unwrap_err();
        assert!(error.message.contains("either `code` to run"), "{error}");
    }
    assert_eq!(record.calls(), 0);
    close(host, &session).await;
}

#[tokio::test]
async fn without_a_journal_a_script_hears_of_the_approval_itself() {
    let (deck, _record) = destructive();
    let deck = deck.config("runs", json!({"record": false}));
    let host = deck.open();
    let session = coder(&host);
    let code = "const answer = await caplets.fake.callTool('wipe', { path: 'a' }); return answer.error.code";
    assert_eq!(value_of(&session, code).await, "APPROVAL_REQUIRED");
    close(host, &session).await;
    assert!(recorded(&deck).is_empty());
}

#[tokio::test]
async fn a_recorded_run_becomes_a_test_that_can_fail() {
    let (deck, _record) = destructive();
    {
        let host = deck.open();
        let session = coder(&host);
        let first = run(&session, "const base = (await caplets.fake.echo({ n: 40 })).n").await;
        let code = "const more = await caplets.fake.echo({ n: 2 }); return { sum: base + more.n }";
        run_with(&session, json!({"code": code, "sessionId": first["meta"]["sessionId"]})).await;
        close(host, &session).await;
    }
    let last = recorded(&deck).pop().unwrap();
    assert!(matches!(last.end, RunEnd::Value(_)));
    let test = TestFile::from_runs(&store(&deck).chain(last).unwrap());
    assert_eq!(test.expect.calls.as_deref(), Some(["fake.echo".to_owned()].as_slice()));
    // It survives being written and read.
    let text = serde_json::to_string(&test).unwrap();
    let test: TestFile = serde_json::from_str(&text).unwrap();
    let failures = async |test: &TestFile| rehearsal().test(test).await;
    assert_eq!(failures(&test).await, [""; 0]);
    let mut wrong = test.clone();
    wrong.expect.value = Some(json!({"sum": 43}));
    assert_eq!(failures(&wrong).await, ["`/sum` is `42`, expected `43`"]);
    let mut other = test.clone();
    other.cells[1].code = other.cells[1].code.replace("n: 2", "n: 3");
    let shown = failures(&other).await.join("\n");
    assert!(
        shown.contains("cell 2: call 1 is `fake.echo`, which has no recorded result"),
        "{shown}"
    );
    let mut fails = test.clone();
    fails.cells[1].code = "throw new TypeError('x')".to_owned();
    fails.expect = capdeck_host::TestExpectation {
        error: Some("sandbox_type_error".to_owned()),
        calls: Some(Vec::new()),
        ..capdeck_host::TestExpectation::default()
    };
    assert_eq!(failures(&fails).await, [""; 0]);
}

#[tokio::test]
async fn secrets_are_not_written_down() {
    let deck = Deck::new();
    let plan = FakePlan::default();
    let deck = deck
        .server("fake", &plan, json!({"env": {"API_TOKEN": "${API_TOKEN}"}}))
        .variable("API_TOKEN", "s3cret-canary-value");
    {
        let host = deck.open();
        let session = coder(&host);
        for code in [
            "const a = await caplets.fake.echo({ said: 's3cret-' + 'canary-value', password: 'hunter2-hunter2' }); console.log(a.said); return a.said",
            "console.log('s3cret-' + 'canary-value'); await caplets.fake.echo({}); return 's3cret-canary-value'",
        ] {
            let envelope = run(&session, code).await;
            assert_eq!(envelope["ok"], true, "{envelope:#}");
        }
        close(host, &session).await;
    }
    let remaining = everything_below(deck.dirs.state().join("runs"));
    assert!(!remaining.contains("s3cret-canary-value"), "{remaining}");
    let [echoed, shown] = recorded(&deck).try_into().unwrap();
    // The script itself never had the secret, so the run repeats.
    assert_eq!(echoed.unrepeatable, None);
    assert_eq!(echoed.calls[0].args["args"]["password"], "[redacted]");
    assert_eq!(shown.unrepeatable.as_deref(), Some("it contained a secret, which is not stored"));
    let refused = store(&deck).chain(shown).unwrap_err();
    assert!(refused.to_string().contains("it contained a secret"), "{refused}");
}

#[tokio::test]
async fn the_cells_of_a_lost_session_can_be_read() {
    let deck = Deck::of(&FakePlan::default());
    let lost = {
        let host = deck.open();
        let session = coder(&host);
        let first = run(&session, "const rate = 3; rate").await;
        let id = first["meta"]["sessionId"].as_str().unwrap().to_owned();
        assert_eq!(first["meta"]["recoveryRef"], json!(id), "{first}");
        let code = "(await caplets.fake.echo({ rate })).rate";
        let second = run_with(&session, json!({ "code": code, "sessionId": id })).await;
        assert_eq!((&second["value"], &second["meta"]["recoveryRef"]), (&json!(3), &Value::Null));
        close(host, &session).await;
        id
    };
    let host = deck.open();
    let session = coder(&host);
    let gone = run_with(&session, json!({ "code": "rate", "sessionId": lost })).await;
    assert_eq!(gone["error"]["code"], "SESSION_NOT_FOUND");
    assert_eq!(gone["meta"]["recoveryRef"], json!(lost), "{gone}");
    let read =
        |rest: &str| format!("await caplets.debug.readRecovery({{ recoveryRef: '{lost}'{rest} }})");
    let known = value_of(&session, &read("")).await;
    let entries = known["entries"].as_array().unwrap();
    let shown: Vec<(&Value, &Value)> =
        entries.iter().map(|one| (&one["outcome"], &one["recoveryClassification"])).collect();
    let [done, setup, effects] =
        [json!({ "ok": true }), json!("setup_like"), json!("side_effecting")];
    assert_eq!(shown, [(&done, &setup), (&done, &effects)], "{known}");
    assert_eq!(entries[0]["code"], "const rate = 3; rate");
    assert_eq!(entries[0]["summary"], "done: const rate = 3; rate");
    assert_eq!(entries[1]["summary"], "done; called fake.echo");
    assert_eq!(entries[0]["declarationHash"], gone["meta"]["declarationHash"]);
    let page = value_of(&session, &read(", limit: 1")).await;
    assert_eq!((&page["entries"][0], &page["nextCursor"]), (&entries[0], &json!("1")));
    let rest = value_of(&session, &read(", cursor: '1'")).await;
    assert_eq!(rest["entries"], json!([entries[1]]));
    let bad = run(&session, &read(", cursor: 'x'")).await;
    assert_eq!(bad["error"]["details"]["code"], "REQUEST_INVALID", "{bad}");
    let unknown = run_with(&session, json!({ "code": "1", "sessionId": "never-was" })).await;
    assert_eq!(unknown["meta"]["recoveryRef"], Value::Null, "{unknown}");
    close(host, &session).await;
}

#[tokio::test]
async fn a_run_can_be_recovered_as_soon_as_it_has_answered() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let (session, other) = (coder(&host), coder(&host));
    for number in 0..32 {
        let done = run(&session, &format!("const number = {number}; number")).await;
        let reference = done["meta"]["recoveryRef"].as_str().unwrap();
        // At once: another run would give the record time to reach the disk.
        let recorded = RunStore::settled(&host).list().unwrap().runs;
        assert!(recorded.iter().any(|one| one.session.as_deref() == Some(reference)), "{number}");
        let read = format!("await caplets.debug.readRecovery({{ recoveryRef: '{reference}' }})");
        let known = value_of(&other, &read).await;
        let code = known["entries"][0]["code"].as_str().unwrap();
        assert_eq!(code, format!("const number = {number}; number"), "{known}");
    }
    other.close().await;
    close(host, &session).await;
}

#[tokio::test]
async fn recovered_code_shows_no_secrets() {
    let value = "canary-7f3a9c";
    let server = json!({ "env": { "NOTES_KEY": "${NOTES_KEY}" } });
    let deck = Deck::of(&FakePlan::default())
        .server("notes", &FakePlan::default(), server)
        .variable("NOTES_KEY", value);
    let host = deck.open();
    let session = coder(&host);
    // A value of a capability that the code does not call, a key by its form, and one by its name.
    let code = format!(
        "const a = '{value}'; const b = 'sk-live-0123456789abcdef'; const password = 'two words'; \
         await caplets.fake.echo({{ a, b, note: `Bearer abc123` }}); 1"
    );
    let done = run(&session, &code).await;
    let reference = done["meta"]["recoveryRef"].as_str().unwrap();
    let read = format!("await caplets.debug.readRecovery({{ recoveryRef: '{reference}' }})");
    let known = value_of(&session, &read).await.to_string();
    for secret in [value, "sk-live-0123456789abcdef", "two words", "abc123"] {
        assert!(!known.contains(secret), "{secret}: {known}");
    }
    assert!(known.contains("const password = '[redacted]'"), "{known}");
    close(host, &session).await;
    let records = store(&deck).list().unwrap().runs;
    let remaining = records.iter().find(|one| one.session.as_deref() == Some(reference)).unwrap();
    let remaining = serde_json::to_string(remaining).unwrap();
    for secret in [value, "sk-live-0123456789abcdef"] {
        assert!(!remaining.contains(secret), "{secret}: {remaining}");
    }
}
