//! The 20 children: how each misbehaves, and what may be asked of it.

use std::{process::Stdio, time::Duration};

use serde_json::{Value, json};

use crate::{
    FakePlan,
    fake::{FakeEra, FakeFault, RunningFake},
};

/// How many there are.
pub(super) const COUNT: usize = 20;

/// The timeouts of every child; what a fault of a child may cost its caller.
pub(super) const START_TIMEOUT: Duration = Duration::from_millis(2500);
pub(super) const CALL_TIMEOUT: Duration = Duration::from_millis(1500);

/// A child stops soon after its last use, so that afterwards none is left.
const IDLE: Duration = Duration::from_millis(2000);

/// One entry of the deck.
#[derive(Debug)]
pub(super) struct SoakChild {
    pub(super) id: &'static str,
    pub(super) entry: Value,
    /// Whether a call may reach a tool.
    pub(super) is_sound: bool,
}

/// Everything that may go wrong with every call.
fn every_fault(delay_ms: u64) -> Value {
    json!({
        "delayMs": {"min": 0, "max": delay_ms}, "drop": 0.1, "truncate": 0.05, "malformed": 0.05,
        "listChange": 0.1, "expire": 0.05,
    })
}

/// The children of the deck. Those over HTTP are processes of our own.
pub(super) fn children() -> (Vec<SoakChild>, Vec<RunningFake>) {
    let plan = FakePlan::default;
    let mut all = vec![
        stdio("legacy", &plan(), true),
        stdio("modern", &FakePlan { era: FakeEra::Modern, ..plan() }, true),
        stdio("both", &FakePlan { era: FakeEra::Both, ..plan() }, true),
        stdio("crash", &FakePlan { call: FakeFault::Crash, ..plan() }, false),
        stdio("hang", &FakePlan { call: FakeFault::Hang, ..plan() }, false),
        stdio("bad-json", &FakePlan { call: FakeFault::BadJson, ..plan() }, false),
        stdio("wrong-id", &FakePlan { call: FakeFault::WrongId, ..plan() }, false),
        stdio("error", &FakePlan { call: FakeFault::Error, ..plan() }, false),
        stdio("chatter", &FakePlan { chatter_bytes: 256 * 1024, ..plan() }, true),
        stdio("slow-start", &FakePlan { start_delay_ms: 500, ..plan() }, true),
        stdio("exit", &FakePlan { exit_at_start: Some(3), ..plan() }, false),
        stdio(
            "deaf",
            &FakePlan { initialize: FakeFault::Hang, discover: FakeFault::Hang, ..plan() },
            false,
        ),
        stdio("no-list", &FakePlan { list: FakeFault::Hang, ..plan() }, false),
        stdio(
            "stubborn",
            &FakePlan { ignore_sigterm: true, ignore_stdin_close: true, ..plan() },
            true,
        ),
        stdio("parent", &FakePlan { spawn_grandchild: true, ..plan() }, true),
    ];
    let mut late = stdio("late", &plan(), true);
    late.entry["chaos"] = json!({"delayMs": {"min": 200, "max": 900}});
    all.push(late);
    let mut shaky = stdio("shaky", &plan(), false);
    shaky.entry["chaos"] = every_fault(200);
    all.push(shaky);
    let quiet = |plan: FakePlan| plan.start_http_telling(Stdio::null());
    let sound = quiet(plan());
    let forgetful = quiet(FakePlan { http_forget_session_after: Some(5), ..plan() });
    let refusing = quiet(FakePlan { http_call_status: Some(503), ..plan() });
    let mut remote = http("remote", &sound.url, false);
    remote.entry["chaos"] = every_fault(200);
    all.push(remote);
    all.push(http("forgetful", &forgetful.url, true));
    all.push(http("refusing", &refusing.url, false));
    assert_eq!(all.len(), COUNT);
    (all, vec![sound, forgetful, refusing])
}

fn stdio(id: &'static str, plan: &FakePlan, is_sound: bool) -> SoakChild {
    SoakChild { id, entry: limited(plan.deck_entry()), is_sound }
}

fn http(id: &'static str, url: &str, is_sound: bool) -> SoakChild {
    let entry = json!({"name": id, "description": "A server of the soak", "url": url});
    SoakChild { id, entry: limited(entry), is_sound }
}

fn limited(mut entry: Value) -> Value {
    let millis = |time: Duration| json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    entry["startupTimeoutMs"] = millis(START_TIMEOUT);
    entry["callTimeoutMs"] = millis(CALL_TIMEOUT);
    entry["idleTimeoutMs"] = millis(IDLE);
    entry
}
