//! Sessions, cancelling, limits and walls, as the host meets them.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use capdeck_sandbox::{
    CallOutcome, CellRun, DeterminismSettings, RunErrorCode, SandboxLimits, SandboxPool,
    SandboxSettings, SessionChoice, SessionId, SessionStatus, TimerPace, WorkerCommand,
};
use serde_json::{Value, json};

use crate::support::{Deck, envelope, pool, run, settings, worker};

fn code(report: &capdeck_sandbox::RunReport) -> Option<RunErrorCode> {
    report.envelope.outcome.as_ref().err().map(|error| error.code)
}

fn message(report: &capdeck_sandbox::RunReport) -> &str {
    report.envelope.outcome.as_ref().err().map_or("", |error| error.message.as_str())
}

fn value(report: &capdeck_sandbox::RunReport) -> Value {
    let value = report.envelope.outcome.as_ref();
    serde_json::from_str(value.unwrap_or_else(|error| panic!("{error:?}")).get()).unwrap()
}

async fn open(pool: &SandboxPool, owner: &str) -> SessionId {
    let mut first = CellRun::new("const mine = 1;");
    first.owner = owner.to_owned();
    run(pool, first).await.envelope.meta.session_id.unwrap()
}

fn again(id: &SessionId, owner: &str) -> CellRun {
    let mut next = CellRun::new("return mine").in_session(id.clone());
    next.owner = owner.to_owned();
    next
}

#[tokio::test]
async fn an_unknown_session_is_not_found() {
    let report = run(&pool(), CellRun::new("return 1").in_session(SessionId::from("nope"))).await;
    assert_eq!(code(&report), Some(RunErrorCode::SessionNotFound));
    assert_eq!(envelope(&report).pointer("/meta/sessionStatus"), Some(&Value::Null));
}

#[tokio::test]
async fn a_session_belongs_to_its_owner() {
    let pool = pool();
    let id = open(&pool, "me").await;
    assert_eq!(code(&run(&pool, again(&id, "you")).await), Some(RunErrorCode::SessionNotFound));
    assert_eq!(value(&run(&pool, again(&id, "me")).await), json!(1));
}

#[tokio::test]
async fn a_session_runs_one_cell_at_a_time() {
    let pool = pool();
    let deck = Deck::default();
    let id = open(&pool, "").await;
    let slow = CellRun::new("return await caplets.echo.wait({})").in_session(id.clone());
    let first = pool.run(slow, &deck, &deck);
    let second = async {
        deck.started.notified().await;
        let report = run(&pool, again(&id, "")).await;
        deck.release.notify_one();
        report
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(code(&second), Some(RunErrorCode::SessionBusy));
    assert_eq!(value(&first), json!("released"));
}

#[tokio::test]
async fn a_run_for_once_leaves_no_session() {
    let pool = pool();
    let mut once = CellRun::new("return 1");
    once.session = SessionChoice::Once;
    let report = run(&pool, once).await;
    assert_eq!(report.envelope.meta.session_status, Some(SessionStatus::Closed));
    assert_eq!(pool.session_count(), 0);
    let id = report.envelope.meta.session_id.unwrap();
    assert_eq!(code(&run(&pool, again(&id, "")).await), Some(RunErrorCode::SessionNotFound));
}

#[tokio::test]
async fn the_session_used_longest_ago_makes_room() {
    let pool = SandboxPool::new(SandboxSettings { max_sessions_per_owner: 2, ..settings() });
    let (first, second) = (open(&pool, "").await, open(&pool, "").await);
    run(&pool, again(&first, "")).await;
    let third = open(&pool, "").await;
    let gone = run(&pool, again(&second, "")).await;
    assert_eq!(code(&gone), Some(RunErrorCode::SessionNotFound));
    assert!(message(&gone).contains("replaced by newer"), "{}", message(&gone));
    for id in [first, third] {
        assert_eq!(value(&run(&pool, again(&id, "")).await), json!(1));
    }
}

#[tokio::test]
async fn idle_sessions_make_room_for_processes() {
    let pool = SandboxPool::new(SandboxSettings { max_workers: 1, ..settings() });
    let first = open(&pool, "a").await;
    let second = open(&pool, "b").await;
    assert_eq!(code(&run(&pool, again(&first, "a")).await), Some(RunErrorCode::SessionNotFound));
    assert_eq!(value(&run(&pool, again(&second, "b")).await), json!(1));
}

#[tokio::test]
async fn when_every_worker_is_busy_a_run_waits_no_longer_than_its_time() {
    let pool = SandboxPool::new(SandboxSettings { max_workers: 1, ..settings() });
    let deck = Deck::default();
    let first = pool.run(CellRun::new("return await caplets.echo.wait({})"), &deck, &deck);
    let second = async {
        deck.started.notified().await;
        let mut next = CellRun::new("return 2");
        next.timeout = Some(Duration::from_millis(50));
        let report = run(&pool, next).await;
        deck.release.notify_one();
        report
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(code(&second), Some(RunErrorCode::Unavailable));
    assert!(message(&second).contains("all 1 workers"), "{}", message(&second));
    assert_eq!(value(&first), json!("released"));
}

#[tokio::test]
async fn a_session_that_falls_idle_makes_room_for_a_run_that_waits() {
    let pool = SandboxPool::new(SandboxSettings { max_workers: 1, ..settings() });
    let deck = Deck::default();
    let first = pool.run(CellRun::new("return await caplets.echo.wait({})"), &deck, &deck);
    let second = async {
        deck.started.notified().await;
        deck.release.notify_one();
        run(&pool, CellRun::new("return 2")).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((value(&first), value(&second)), (json!("released"), json!(2)));
}

#[tokio::test]
async fn an_unused_session_expires_and_its_process_ends() {
    let ttl = Duration::from_millis(100);
    let pool = SandboxPool::new(SandboxSettings { session_ttl: ttl, ..settings() });
    let id = open(&pool, "").await;
    while pool.session_count() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let report = run(&pool, again(&id, "")).await;
    assert_eq!(code(&report), Some(RunErrorCode::SessionNotFound));
    assert!(message(&report).contains("not used for too long"), "{}", message(&report));
}

#[tokio::test]
async fn a_timeout_ends_the_session_and_its_calls() {
    let pool = pool();
    let deck = Deck::default();
    let mut slow = CellRun::new("console.log('started'); await caplets.echo.wait({});");
    slow.timeout = Some(Duration::from_millis(100));
    let report = pool.run(slow, &deck, &deck).await;
    assert_eq!(code(&report), Some(RunErrorCode::Timeout));
    assert_eq!(report.envelope.meta.session_status, Some(SessionStatus::Closed));
    assert_eq!(report.logs.len(), 1);
    assert!(
        matches!(report.calls.as_slice(), [call] if matches!(call.outcome, CallOutcome::Cancelled))
    );
    deck.dropped.notified().await;
    let id = report.envelope.meta.session_id.unwrap();
    let after = run(&pool, again(&id, "")).await;
    assert_eq!(code(&after), Some(RunErrorCode::SessionClosed));
    assert!(message(&after).contains("did not end in time"), "{}", message(&after));
}

#[tokio::test]
async fn dropping_a_run_cancels_its_calls_and_closes_its_session() {
    let pool = pool();
    let deck = Arc::new(Deck::default());
    let id = open(&pool, "").await;
    let task = {
        let (pool, deck, id) = (pool.clone(), deck.clone(), id.clone());
        let slow = CellRun::new("await caplets.echo.wait({})").in_session(id);
        tokio::spawn(async move { pool.run(slow, &*deck, &*deck).await })
    };
    deck.started.notified().await;
    task.abort();
    deck.dropped.notified().await;
    assert!(task.await.unwrap_err().is_cancelled());
    let after = run(&pool, again(&id, "")).await;
    assert_eq!(code(&after), Some(RunErrorCode::SessionClosed));
    assert!(message(&after).contains("cancelled"), "{}", message(&after));
}

#[tokio::test]
async fn waiting_for_calls_is_not_computing() {
    let mut patient = CellRun::new(
        "for (let i = 0; i < 4; i += 1) await caplets.echo.sleep({ ms: 100 }); return 1",
    );
    patient.limits = SandboxLimits { cpu: Duration::from_millis(300), ..SandboxLimits::default() };
    assert_eq!(value(&run(&pool(), patient).await), json!(1));
    let mut busy = CellRun::new("while (true) {}");
    busy.limits = SandboxLimits { cpu: Duration::from_millis(100), ..SandboxLimits::default() };
    let report = run(&pool(), busy).await;
    assert_eq!(code(&report), Some(RunErrorCode::Timeout));
    assert!(message(&report).contains("computed for longer than 100 ms"), "{}", message(&report));
}

#[tokio::test]
async fn an_interrupted_loop_has_its_place() {
    let mut busy = CellRun::new(
        "const a: number = 1;\nfunction spin() {\n  for (;;) Math.sqrt(2);\n}\nspin();",
    );
    busy.timeout = Some(Duration::from_millis(300));
    let report = run(&pool(), busy).await;
    let error = report.envelope.outcome.unwrap_err();
    assert_eq!(error.code, RunErrorCode::Timeout);
    assert_eq!(error.location.map(|place| place.line), Some(3));
}

#[tokio::test]
async fn calls_wait_in_line_beyond_the_limit() {
    let deck = Deck::default();
    let mut many = CellRun::new(
        "const a = Array.from({ length: 6 }, () => caplets.echo.sleep({ ms: 30 })); await Promise.all(a); return 1",
    );
    many.limits = SandboxLimits { concurrent_calls: 2, ..SandboxLimits::default() };
    let report = pool().run(many, &deck, &deck).await;
    assert_eq!(value(&report), json!(1));
    // With two at a time the last pair begins only after two answers.
    let last = report.calls.last().unwrap();
    assert!(last.started_ms >= 50.0, "{}", last.started_ms);
}

#[tokio::test]
async fn too_many_calls_are_an_error_that_can_be_caught() {
    let mut many = CellRun::new(
        "let made = 0; try { for (;;) { await caplets.echo.echo({}); made += 1; } } catch (e) { return [made, e.message]; }",
    );
    many.limits = SandboxLimits { calls: 3, ..SandboxLimits::default() };
    let report = run(&pool(), many).await;
    assert_eq!(value(&report), json!([3, "a run may make at most 3 calls"]));
    assert_eq!(report.calls.len(), 3);
}

#[tokio::test]
async fn a_large_answer_is_a_failure_that_says_so() {
    let mut large = CellRun::new(
        "const r = await caplets.echo.callTool('big', { bytes: 2000 }); return [r.ok, r.error.code]",
    );
    large.limits = SandboxLimits { answer_bytes: 1000, ..SandboxLimits::default() };
    let report = run(&pool(), large).await;
    assert_eq!(value(&report), json!([false, "CONTENT_TOO_LARGE"]));
}

#[tokio::test]
async fn every_call_is_recorded_in_order() {
    let script = "await caplets.echo.echo({ n: 1 }); await caplets.echo.callTool('fail'); return await caplets.search('x')";
    let report = run(&pool(), CellRun::new(script)).await;
    let calls: Vec<(Option<&str>, &str, Value)> = report
        .calls
        .iter()
        .map(|call| {
            let args = serde_json::from_str(call.args.get()).unwrap();
            (call.capability.as_deref(), call.method.script_name(), args)
        })
        .collect();
    assert_eq!(
        calls,
        [
            (Some("echo"), "callTool", json!({"name": "echo", "args": {"n": 1}})),
            (Some("echo"), "callTool", json!({"name": "fail", "args": {}})),
            (None, "search", json!({"query": "x"})),
        ]
    );
    let outcomes: Vec<(bool, usize)> = report
        .calls
        .iter()
        .map(|call| match &call.outcome {
            CallOutcome::Done { place, .. } => (true, *place),
            CallOutcome::Failed { place, .. } => (false, *place),
            CallOutcome::Held { .. } | CallOutcome::Cancelled => panic!("every call was answered"),
        })
        .collect();
    assert_eq!(outcomes, [(true, 0), (false, 1), (true, 2)]);
}

#[tokio::test]
async fn a_repeatable_run_repeats() {
    let script = "const at = [Date.now(), performance.now()]; await new Promise((d) => setTimeout(d, 3600000)); \
                  return [at, new Date().toISOString(), Math.random(), crypto.randomUUID(), Array.from(crypto.getRandomValues(new Uint8Array(4)))]";
    let pool = pool();
    let mut repeatable = CellRun::new(script);
    let timers = TimerPace::Skip;
    repeatable.determinism =
        Some(DeterminismSettings { now_ms: 1_600_000_000_000, seed: 7, timers });
    let first = value(&run(&pool, repeatable.clone()).await);
    let second = value(&run(&pool, repeatable.clone()).await);
    assert_eq!(first, second);
    assert_eq!(first.pointer("/0"), Some(&json!([1_600_000_000_000_i64, 0])));
    assert_eq!(first.pointer("/1"), Some(&json!("2020-09-13T13:26:40.000Z")));
    repeatable.determinism = Some(DeterminismSettings { now_ms: 0, seed: 8, timers });
    assert_ne!(value(&run(&pool, repeatable).await), first);
}

#[tokio::test]
async fn logs_outlive_a_killed_worker() {
    let mut stuck = CellRun::new(
        "console.log('started'); const s = 'ab'.repeat(8e6), n = 'ab'.repeat(3e6) + 'c'; for (;;) s.lastIndexOf(n);",
    );
    stuck.timeout = Some(Duration::from_millis(500));
    let report = run(&pool(), stuck).await;
    assert_eq!(code(&report), Some(RunErrorCode::Timeout));
    assert_eq!(report.logs.first().map(|entry| entry.message.as_str()), Some("started"));
}

#[tokio::test]
async fn bad_requests_are_refused_before_any_process_starts() {
    let pool = SandboxPool::new(SandboxSettings::new(WorkerCommand {
        program: "/no/such/worker".into(),
        args: Vec::new(),
    }));
    let mut long = CellRun::new("return 1");
    long.timeout = Some(Duration::from_secs(121));
    let report = run(&pool, long).await;
    assert_eq!(code(&report), Some(RunErrorCode::DiagnosticBlocked));
    assert_eq!(report.envelope.diagnostics.first().unwrap().code, "TIMEOUT_POLICY_EXCEEDED");
    let mut none = CellRun::new("return 1");
    none.timeout = Some(Duration::ZERO);
    assert_eq!(code(&run(&pool, none).await), Some(RunErrorCode::RequestInvalid));
    let large = CellRun::new("x".repeat((1 << 20) + 1));
    assert_eq!(code(&run(&pool, large).await), Some(RunErrorCode::RequestInvalid));
    let report = run(&pool, CellRun::new("return 1")).await;
    assert_eq!(code(&report), Some(RunErrorCode::Unavailable));
}

#[tokio::test]
async fn spare_workers_are_ready_before_they_are_asked_for() {
    let pool = SandboxPool::new(SandboxSettings { spare_workers: 2, ..settings() });
    let isolation = pool.warm().await.unwrap();
    assert!(isolation.resource_limits);
    assert_eq!(value(&run(&pool, CellRun::new("return 1")).await), json!(1));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_is_walled_in() {
    let pool = pool();
    let isolation = pool.warm().await.unwrap();
    assert!(isolation.resource_limits && isolation.system_call_filter, "{isolation:?}");
    let id = open(&pool, "").await;
    let process = pool.session_process(&id).unwrap();
    let read = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).unwrap();
    let status = read("status");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert!(status.contains("Seccomp:\t2"), "{status}");
    assert_eq!(read("environ"), "");
    let limits = read("limits");
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line.trim_start_matches(name).split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(limit("Max open files"), "3");
    let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["0", "1", "2"], "nothing of the fork server or of other sessions is open");
    assert_eq!(limit("Max processes"), "0");
    assert_eq!(limit("Max file size"), "0");
    assert_ne!(limit("Max address space"), "unlimited");
    assert_ne!(limit("Max cpu time"), "unlimited");
    assert_eq!(fs::read_link(format!("/proc/{process}/cwd")).unwrap().to_str(), Some("/"));
}

/// A frame as the pipe carries it.
fn frame(content: &Value) -> Vec<u8> {
    let text = content.to_string();
    let mut bytes = u32::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

#[test]
fn a_worker_ends_when_its_host_is_gone() {
    let start = frame(&json!({"Start": {"role": "Session", "address_space": 768 << 20}}));
    let limits = SandboxLimits { cpu: Duration::from_millis(200), ..SandboxLimits::default() };
    let run = |code: &str| {
        frame(&json!({"Run": {
            "code": code, "timeout_ms": 500, "limits": limits, "determinism": null, "repeat": null,
            "capabilities": "[]", "type_check": false,
        }}))
    };
    let endless = run("while (true) {}");
    let waiting = run("await caplets.types('x')");
    for frames in [vec![], vec![&start], vec![&start, &endless], vec![&start, &waiting]] {
        let WorkerCommand { program, .. } = worker();
        let mut process =
            Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = process.stdin.take().unwrap();
        for frame in frames {
            input.write_all(frame).unwrap();
        }
        drop((input, process.stdout.take()));
        // It ends by itself; otherwise this waits until the test is ended from outside.
        process.wait().unwrap();
    }
}

async fn session_after(pool: &SandboxPool, code: &str) -> SessionId {
    run(pool, CellRun::new(code)).await.envelope.meta.session_id.unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_session_has_a_process_only_while_it_holds_something() {
    let pool = pool();
    let id = session_after(&pool, "return 1").await;
    assert_eq!(pool.session_process(&id), None);
    let in_session = |code: &str| CellRun::new(code).in_session(id.clone());
    // Built-in objects are as they were, even if they could not have been restored.
    let frozen = "Object.freeze(Array.prototype); return [2].at(0)";
    assert_eq!(value(&run(&pool, in_session(frozen)).await), json!(2));
    assert_eq!(
        value(&run(&pool, in_session("return Object.isFrozen(Array.prototype)")).await),
        json!(false)
    );
    assert_eq!(pool.session_process(&id), None);
    let report = run(&pool, in_session("globalThis.one = 1")).await;
    assert_eq!(report.envelope.meta.session_status, Some(SessionStatus::Reused));
    let process = pool.session_process(&id).unwrap();
    assert_eq!(value(&run(&pool, in_session("const two = 2; return one + two")).await), json!(3));
    assert_eq!(value(&run(&pool, in_session("delete globalThis.one; return two")).await), json!(2));
    assert_eq!(pool.session_process(&id), Some(process));
}

#[tokio::test]
async fn sessions_share_no_random_numbers() {
    let pool = pool();
    let code = "return [Math.random(), crypto.randomUUID()]";
    let (first, second) =
        (run(&pool, CellRun::new(code)).await, run(&pool, CellRun::new(code)).await);
    let (first, second) = (value(&first), value(&second));
    assert_ne!(first.get(0), second.get(0));
    assert_ne!(first.get(1), second.get(1));
}

#[tokio::test]
async fn idle_sessions_over_the_memory_limit_are_ended() {
    let pool = SandboxPool::new(SandboxSettings { max_idle_bytes: 8 << 20, ..settings() });
    let small = session_after(&pool, "var kept = 1").await;
    let large =
        "var kept = []; for (let i = 0; i < 2e5; i += 1) kept.push({ i }); return kept.length";
    let report = run(&pool, CellRun::new(large)).await;
    assert_eq!(value(&report), json!(200_000));
    for id in [small, report.envelope.meta.session_id.unwrap()] {
        let again = run(&pool, CellRun::new("return kept").in_session(id)).await;
        assert_eq!(code(&again), Some(RunErrorCode::SessionNotFound));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_killed_fork_server_is_replaced_and_its_sessions_go_on() {
    let pool = pool();
    let id = session_after(&pool, "var kept = 7").await;
    let session = pool.session_process(&id).unwrap();
    let status = fs::read_to_string(format!("/proc/{session}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    let server = rustix::process::Pid::from_raw(parent.trim().parse().unwrap()).unwrap();
    assert_ne!(server.as_raw_nonzero().get().unsigned_abs(), std::process::id());
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    assert_eq!(value(&run(&pool, CellRun::new("return 1")).await), json!(1));
    assert_eq!(value(&run(&pool, CellRun::new("return kept").in_session(id)).await), json!(7));
}
