//! The type checker as a process: warnings, walls, hanging, dying, being let go.

use std::{fs, time::Duration};

use capdeck_sandbox::{
    CellRun, CodeSeverity, RunErrorCode, RunReport, SandboxPool, SandboxSettings, TypeCheck,
    WorkerCommand,
};

use crate::support::{pool, run, settings, worker};

fn cell(code: &str, check: TypeCheck) -> CellRun {
    let mut cell = CellRun::new(code);
    cell.check = check;
    cell
}

fn code(report: &RunReport) -> Option<RunErrorCode> {
    report.envelope.outcome.as_ref().err().map(|error| error.code)
}

fn severities(report: &RunReport) -> Vec<(&str, CodeSeverity)> {
    let diagnostics = report.envelope.diagnostics.iter();
    diagnostics.map(|one| (one.code.as_str(), one.severity)).collect()
}

/// A cell whose types take the compiler minutes: every step doubles what there is to look at.
const TYPE_BOMB: &str = "
type Nest<D extends any[]> = D[\"length\"] extends 40 ? D : Nest<[...D, 1]> | Nest<[...D, 2]>;
function unused(nested: Nest<[]>) { return nested; }
return 1;
";

#[tokio::test]
async fn warnings_do_not_keep_a_cell_from_running() {
    let report = run(&pool(), cell("const n: number = \"one\"; return n", TypeCheck::Warn)).await;
    assert_eq!(code(&report), None);
    assert_eq!(severities(&report), [("2322", CodeSeverity::Warning)]);
}

#[tokio::test]
async fn no_checker_is_started_unless_it_is_asked_for() {
    let pool = pool();
    run(&pool, cell("return 1", TypeCheck::Off)).await;
    assert_eq!(pool.checker_process(), None);
    run(&pool, cell("return 1", TypeCheck::Full)).await;
    assert!(pool.checker_process().is_some());
}

#[tokio::test]
async fn a_check_that_does_not_end_is_killed_and_the_cell_does_not_run() {
    let limit = Duration::from_millis(500);
    let pool = SandboxPool::new(SandboxSettings { check_timeout: limit, ..settings() });
    pool.warm_checker().await.unwrap();
    let hanging = pool.checker_process().unwrap();
    let report = run(&pool, cell(TYPE_BOMB, TypeCheck::Full)).await;
    assert_eq!(code(&report), Some(RunErrorCode::DiagnosticBlocked));
    assert_eq!(severities(&report), [("TYPE_CHECK_FAILED", CodeSeverity::Error)]);
    assert!(!fs::exists(format!("/proc/{hanging}/status")).unwrap(), "it is still there");
    assert_eq!(pool.checker_process(), None);
}

#[tokio::test]
async fn after_a_killed_checker_comes_another_one() {
    let pool =
        SandboxPool::new(SandboxSettings { check_timeout: Duration::from_secs(3), ..settings() });
    let warned = run(&pool, cell(TYPE_BOMB, TypeCheck::Warn)).await;
    assert_eq!(code(&warned), None, "{:?}", warned.envelope);
    assert_eq!(severities(&warned), [("TYPE_CHECK_FAILED", CodeSeverity::Warning)]);
    let report = run(&pool, cell("const n: number = \"one\"", TypeCheck::Full)).await;
    assert_eq!(severities(&report), [("2322", CodeSeverity::Error)]);
}

#[tokio::test]
async fn the_time_of_a_check_is_not_the_time_of_the_run() {
    let mut short = cell("return 1", TypeCheck::Full);
    short.timeout = Some(Duration::from_millis(60));
    assert_eq!(code(&run(&pool(), short).await), None);
}

#[tokio::test]
async fn a_checker_that_cannot_be_started_keeps_the_cell_from_running() {
    // The first process is the session's and works; the second would be the checker.
    let folder = tempfile::tempdir().unwrap();
    let script = "mkdir \"$0\" 2>/dev/null && exec \"$1\"; exit 1";
    let started = folder.path().join("started").into_os_string();
    let args = vec!["-c".into(), script.into(), started, worker().program.into_os_string()];
    let worker = WorkerCommand { program: "/bin/sh".into(), args };
    let pool = SandboxPool::new(SandboxSettings { worker, ..settings() });
    let report = run(&pool, cell("console.log('not run')", TypeCheck::Full)).await;
    assert_eq!(code(&report), Some(RunErrorCode::DiagnosticBlocked));
    assert_eq!(severities(&report), [("TYPE_CHECK_FAILED", CodeSeverity::Error)]);
    assert!(report.logs.is_empty());
    let error = pool.warm_checker().await.unwrap_err();
    assert_eq!(error.code, RunErrorCode::Unavailable);
}

#[tokio::test]
async fn the_same_walls_stand_around_the_checker() {
    let pool = pool();
    let walls = pool.warm_checker().await.unwrap();
    assert_eq!(walls, pool.warm().await.unwrap());
    let id = pool.checker_process().unwrap();
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    assert!(status.contains("Seccomp:\t2"), "{status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let limits = fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
    let limit = |name: &str| limits.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(limit("Max open files").contains(" 3 "), "{limits}");
    assert!(limit("Max processes").contains(" 0 "), "{limits}");
    assert_eq!(fs::read(format!("/proc/{id}/environ")).unwrap(), b"");
}

#[tokio::test]
async fn an_unused_checker_ends() {
    let ttl = Duration::from_millis(50);
    let pool = SandboxPool::new(SandboxSettings { checker_ttl: ttl, ..settings() });
    pool.warm_checker().await.unwrap();
    while pool.checker_process().is_some() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let report = run(&pool, cell("return 1", TypeCheck::Full)).await;
    assert_eq!(code(&report), None);
}

#[tokio::test]
async fn a_cancelled_check_does_not_answer_the_next_one() {
    let pool = pool();
    pool.warm_checker().await.unwrap();
    let first = run(&pool, cell("const n: number = \"one\"", TypeCheck::Full));
    tokio::select! {
        biased;
        _ = first => panic!("it cannot have ended at once"),
        () = tokio::task::yield_now() => {}
    }
    let report = run(&pool, cell("return 1", TypeCheck::Full)).await;
    assert_eq!((code(&report), severities(&report)), (None, Vec::new()));
}

#[tokio::test]
async fn checks_asked_for_at_once_are_all_answered() {
    let pool = pool();
    let checks = (0..4).map(|_| run(&pool, cell("const n: number = \"one\"", TypeCheck::Full)));
    for report in futures_util::future::join_all(checks).await {
        assert_eq!(severities(&report), [("2322", CodeSeverity::Error)]);
    }
}
