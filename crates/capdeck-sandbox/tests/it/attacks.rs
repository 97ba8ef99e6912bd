//! Scripts that want to do harm. Each must end in time with an envelope, while another session goes on answering.

mod bombs;
mod escapes;
mod loops;

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use capdeck_sandbox::{CellRun, RunErrorCode, SandboxLimits, SandboxPool, SessionId};
use serde_json::Value;

use crate::support::{envelope, pool, run};

/// What an attack must come to.
enum Expect {
    /// Any of these codes.
    Fails(&'static [&'static str]),
    /// A value; the attack had no effect.
    Gives(&'static str),
    /// Any outcome, as long as it comes in time.
    Ends,
}
use Expect::{Ends, Fails, Gives};

/// Name, code, and what must come of it.
type Attack = (&'static str, &'static str, Expect);

const TIMEOUT: &[&str] = &["sandbox_timeout"];
const LIMIT: &[&str] = &["sandbox_limit"];
const LIMIT_OR_TIMEOUT: &[&str] = &["sandbox_limit", "sandbox_timeout"];
const LIMIT_OR_TIMEOUT_OR_ERROR: &[&str] = &["sandbox_limit", "sandbox_timeout", "sandbox_error"];
const NOT_THERE: &[&str] =
    &["sandbox_forbidden_global", "sandbox_reference_error", "sandbox_type_error"];
const BLOCKED: &[&str] = &["diagnostic_blocked"];

/// Code that is too long to write down.
fn expand(code: &str) -> String {
    match code {
        "BRACKETS" => "[".repeat(100_000),
        "OPERATORS" => format!("return {}1", "-!~".repeat(30_000)),
        "ADDITIONS" => format!("return {}1", "1+".repeat(200_000)),
        "TEMPLATES" => format!("return {}1{}", "`${".repeat(390), "}`".repeat(390)),
        "TYPES" => format!("type T = {}string; return 1", "string | ".repeat(100_000)),
        "ELSE_IFS" => format!("{}{{}}", "if (0) {} else ".repeat(50_000)),
        "MEMBERS" => format!("return {}", "a.".repeat(200_000) + "a"),
        "ARROWS" => format!("return {}1", "x => ".repeat(50_000)),
        code => code.to_owned(),
    }
}

fn attack(code: &str, expect: &Expect) -> CellRun {
    let mut run = CellRun::new(expand(code));
    // What ends by itself gets the time it needs on a busy machine; what does not is not waited for.
    run.timeout = Some(match expect {
        Fails(codes) if codes.contains(&"sandbox_timeout") => Duration::from_millis(300),
        Ends => Duration::from_millis(600),
        Fails(_) | Gives(_) => Duration::from_secs(20),
    });
    run.limits = SandboxLimits { cpu: Duration::from_secs(2), ..SandboxLimits::default() };
    run.owner = "attacker".to_owned();
    run
}

/// Far above the limits of a run: only an attack that is not stopped at all reaches it.
const GUARD_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs each attack while another session answers, and fails with the list of those that got through.
#[expect(clippy::print_stdout, reason = "how long others waited is a figure for people")]
async fn withstand(attacks: &[Attack]) {
    let pool = pool();
    let other = other_session(&pool).await;
    let mut failures = Vec::new();
    let mut longest = (Duration::ZERO, "");
    for (name, code, expect) in attacks {
        let over = Cell::new(false);
        let attacking = async {
            let report = run(&pool, attack(code, expect)).await;
            over.set(true);
            report
        };
        let asking = async {
            while !over.get() {
                let asked = Instant::now();
                assert_eq!(
                    ask(&pool, &other).await,
                    42,
                    "{name} kept another session from answering"
                );
                longest = longest.max((asked.elapsed(), name));
            }
        };
        let running = async { tokio::join!(attacking, asking) };
        let ended = tokio::time::timeout(GUARD_TIMEOUT, running).await;
        let (report, ()) = ended.unwrap_or_else(|_| panic!("{name} runs on"));
        let actual = envelope(&report);
        let code = actual.pointer("/error/code").and_then(Value::as_str);
        let right = match expect {
            Fails(codes) => code.is_some_and(|code| codes.contains(&code)),
            Gives(value) => actual.get("value") == serde_json::from_str(value).ok().as_ref(),
            Ends => true,
        };
        if !right {
            let mut text = actual.to_string();
            text.truncate(text.floor_char_boundary(400));
            failures.push(format!("{name}: {text}"));
        }
        assert_eq!(ask(&pool, &other).await, 42, "{name} harmed another session");
        pool.close_sessions_of("attacker");
    }
    // How long it takes depends on the machine, so nothing is asserted.
    let (wait, name) = longest;
    println!(
        "{} attacks; the other session waited {wait:?} at most, during: {name}",
        attacks.len()
    );
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        attacks.len(),
        failures.join("\n")
    );
}

async fn other_session(pool: &SandboxPool) -> SessionId {
    let report = run(pool, CellRun::new("const answer = 42;")).await;
    report.envelope.meta.session_id.unwrap()
}

async fn ask(pool: &SandboxPool, session: &SessionId) -> i64 {
    let report = run(pool, CellRun::new("return answer").in_session(session.clone())).await;
    match &report.envelope.outcome {
        Ok(value) => serde_json::from_str(value.get()).unwrap(),
        Err(error) => {
            assert_ne!(error.code, RunErrorCode::SessionClosed, "{error:?}");
            panic!("{error:?}");
        }
    }
}

#[tokio::test]
async fn computing_without_end() {
    withstand(loops::LOOPS).await;
}

#[tokio::test]
async fn memory_without_end() {
    withstand(bombs::BOMBS).await;
}

#[tokio::test]
async fn ways_out() {
    withstand(escapes::ESCAPES).await;
}
