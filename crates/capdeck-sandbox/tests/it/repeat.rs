//! Runs that are repeated from what was recorded of them, and runs that pause.

use std::{collections::VecDeque, sync::Mutex};

use async_trait::async_trait;
use capdeck_sandbox::{
    CallFailure, CallHandler, CallOutcome, CallRecord, CallRequest, CellRun, DeterminismSettings,
    EarlierRun, HandlerResponse, RunErrorCode, RunReport, SandboxPool, SessionStatus, TimerPace,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{Deck, pool, run};

const START: DeterminismSettings =
    DeterminismSettings { now_ms: 1000, seed: 3, timers: TimerPace::Wait };

fn repeatable(code: &str) -> CellRun {
    CellRun { determinism: Some(START), ..CellRun::new(code) }
}

fn value(report: &RunReport) -> Value {
    let value = report.envelope.outcome.as_ref().unwrap();
    serde_json::from_str(value.get()).unwrap()
}

/// Answers from a recorded run, in the order the answers came.
struct Recorded {
    calls: Mutex<VecDeque<CallRecord>>,
    turn: watch::Sender<usize>,
}

#[async_trait]
impl CallHandler for Recorded {
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        let record = self.calls.lock().unwrap().pop_front().unwrap();
        assert_eq!(record.args.get(), call.args.get());
        let (answer, place) = match record.outcome {
            CallOutcome::Done { data, meta, place } => {
                (HandlerResponse { outcome: Ok(data), meta }, place)
            }
            CallOutcome::Failed { failure, meta, place } => {
                (HandlerResponse { outcome: Err(failure), meta }, place)
            }
            CallOutcome::Held { .. } | CallOutcome::Cancelled => std::future::pending().await,
        };
        self.turn.subscribe().wait_for(|turn| *turn == place).await.unwrap();
        self.turn.send_modify(|turn| *turn += 1);
        answer
    }
}

/// The same run again, with the answers it had and without waiting for timers.
async fn again(pool: &SandboxPool, code: &str, report: RunReport) -> RunReport {
    let recorded =
        Recorded { calls: Mutex::new(report.calls.into()), turn: watch::Sender::default() };
    let repeat = EarlierRun { moments: report.moments, elapsed_ms: 0.0 };
    let determinism = Some(DeterminismSettings { timers: TimerPace::Skip, ..START });
    let repeated = CellRun { determinism, repeat: Some(repeat), ..CellRun::new(code) };
    pool.run(repeated, &Deck::default(), &recorded).await
}

#[tokio::test]
async fn a_recorded_run_can_be_answered_again() {
    let pool = pool();
    for code in [
        "const id = crypto.randomUUID(); const all = await Promise.all([caplets.echo.echo({ id }), caplets.echo.callTool('fail')]); \
         await new Promise((d) => setTimeout(d, 20)); return [all, (await caplets.echo.sleep({ ms: 5 })).slept, Date.now()]",
        // The second answer comes first.
        "return await Promise.race([caplets.echo.sleep({ ms: 60 }), caplets.echo.sleep({ ms: 5 })])",
        // A timer fires while a call is under way, and another one does not.
        "const late = new Promise((d) => setTimeout(() => d('timer'), 10)); \
         const first = await Promise.race([caplets.echo.sleep({ ms: 60 }), late]); \
         const next = await Promise.race([caplets.echo.sleep({ ms: 5 }), new Promise((d) => setTimeout(() => d('timer'), 5000))]); \
         return [first, next, Date.now(), performance.now()]",
        // The one who polls until a time gets there.
        "let polls = 0; const end = Date.now() + 40; while (Date.now() < end) { await caplets.echo.sleep({ ms: 5 }); polls++; } return [polls, Date.now()]",
    ] {
        let first = run(&pool, repeatable(code)).await;
        let wanted = value(&first);
        let second = again(&pool, code, first).await;
        assert_eq!(value(&second), wanted, "{code}");
    }
}

#[tokio::test]
async fn the_clock_of_a_repeatable_run_moves_with_its_answers() {
    let code = "const start = Date.now(); await caplets.echo.sleep({ ms: 30 }); return [start, Date.now() - start]";
    let report = run(&pool(), repeatable(code)).await;
    assert_eq!(report.moments.len(), 1);
    let found = value(&report);
    assert_eq!(found.pointer("/0"), Some(&json!(1000)));
    assert!(found.pointer("/1").and_then(Value::as_f64).unwrap() >= 29.0, "{found}");
}

/// Calls of `fail` wait; everything else is answered.
struct Holding(Deck);

#[async_trait]
impl CallHandler for Holding {
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        self.0.call(call).await
    }

    fn is_waiting(&self, failure: &CallFailure) -> bool {
        failure.code == "DOWNSTREAM_TOOL_ERROR"
    }
}

#[tokio::test]
async fn a_run_pauses_when_only_waiting_calls_are_left() {
    let (pool, deck) = (pool(), Holding(Deck::default()));
    // The slow call ends, and what follows from it is done, before the run pauses.
    let code = "console.log('started'); const slow = caplets.echo.sleep({ ms: 50 }).then(() => caplets.echo.echo({ after: 1 })); \
                await caplets.echo.fail({ n: 1 }); return await slow";
    let report = pool.run(repeatable(code), &deck.0, &deck).await;
    let error = report.envelope.outcome.as_ref().unwrap_err();
    assert_eq!(error.code, RunErrorCode::Paused);
    assert_eq!(report.envelope.meta.session_status, Some(SessionStatus::Closed));
    assert_eq!(report.logs.len(), 1);
    let outcomes: Vec<&str> = report
        .calls
        .iter()
        .map(|call| match &call.outcome {
            CallOutcome::Done { .. } => "done",
            CallOutcome::Failed { .. } => "failed",
            CallOutcome::Held { failure } => failure.code.as_str(),
            CallOutcome::Cancelled => "cancelled",
        })
        .collect();
    assert_eq!(outcomes, ["done", "DOWNSTREAM_TOOL_ERROR", "done"]);
    assert_eq!(report.moments.len(), 2);
    assert_eq!(pool.session_count(), 0);
}

#[tokio::test]
async fn a_script_that_does_not_need_a_waiting_call_ends_without_it() {
    let (pool, deck) = (pool(), Holding(Deck::default()));
    let code = "caplets.echo.fail({}); throw new Error('no need')";
    let report = pool.run(repeatable(code), &deck.0, &deck).await;
    assert_eq!(report.envelope.outcome.unwrap_err().code, RunErrorCode::Script);
    // A call that is not awaited still counts: a run with a value waits for it, and so pauses.
    let code = "caplets.echo.fail({}); return 1";
    let report = pool.run(repeatable(code), &deck.0, &deck).await;
    assert_eq!(report.envelope.outcome.unwrap_err().code, RunErrorCode::Paused);
}
