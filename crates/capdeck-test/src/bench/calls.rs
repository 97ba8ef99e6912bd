//! What one more hop costs each call.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    BenchStage, CallFigures, LoadFigures,
    load::{PipeServer, http_load},
    process_usage::processor_time,
    stage::alone,
};
use crate::{FakePlan, fake::RunningFake};

pub(super) const CALLERS: [usize; 3] = [1, 16, 64];
const CALLS: usize = 6_000;
const WARM_UP: usize = 500;
/// Direct and through Capdeck take turns this often, so that a busy moment hits both.
const ROUNDS: usize = 3;

/// The same echo call over pipes and over HTTP, with and without Capdeck between.
pub fn measure_calls(stage: &BenchStage) -> Vec<CallFigures> {
    let mut rows = over_pipes(stage);
    rows.extend(over_http(stage));
    rows
}

fn over_pipes(stage: &BenchStage) -> Vec<CallFigures> {
    let plan = FakePlan::default();
    let entry = [("fake".to_owned(), plan.deck_entry())].into_iter().collect();
    let dirs = stage.deck("direct", entry);
    let mut direct = PipeServer::start(alone(&plan));
    let mut capdeck = PipeServer::start(stage.serve(&dirs));
    let (direct_call, capdeck_call) = (echo("echo").to_string(), echo("fake__echo").to_string());
    assert_echo(&capdeck.ask("tools/call", echo("fake__echo")));
    direct.load(&direct_call, WARM_UP, 1);
    capdeck.load(&capdeck_call, WARM_UP, 1);
    let id = capdeck.id();
    let mut row = |callers| {
        compare("stdio", callers, id, |side| match side {
            MeasuredSide::Direct => direct.load(&direct_call, CALLS, callers),
            MeasuredSide::Capdeck => capdeck.load(&capdeck_call, CALLS, callers),
        })
    };
    CALLERS.into_iter().map(&mut row).collect()
}

fn over_http(stage: &BenchStage) -> Vec<CallFigures> {
    let fake: RunningFake = FakePlan::default().start_http();
    let entry =
        json!({"name": "fake", "description": "A server of the benchmark", "url": fake.url});
    let dirs = stage.deck("direct", [("fake".to_owned(), entry)].into_iter().collect());
    let host = stage.up(&dirs);
    let url = format!("{}/mcp", host.url);
    http_load(&fake.url, &echo("echo"), WARM_UP, 1);
    http_load(&url, &echo("fake__echo"), WARM_UP, 1);
    let row = |callers| {
        compare("http", callers, host.id(), |side| match side {
            MeasuredSide::Direct => http_load(&fake.url, &echo("echo"), CALLS, callers),
            MeasuredSide::Capdeck => http_load(&url, &echo("fake__echo"), CALLS, callers),
        })
    };
    CALLERS.into_iter().map(row).collect()
}

/// Which of the two a round measures.
pub(super) enum MeasuredSide {
    Direct,
    Capdeck,
}

/// Lets both sides take turns.
pub(super) fn compare(
    transport: &str,
    callers: usize,
    capdeck_id: u32,
    mut run: impl FnMut(&MeasuredSide) -> LoadFigures,
) -> CallFigures {
    let (mut direct, mut capdeck, mut used, mut calls) = (vec![], vec![], Duration::ZERO, 0);
    for _ in 0..ROUNDS {
        direct.push(run(&MeasuredSide::Direct));
        let before = processor_time(capdeck_id);
        let load = run(&MeasuredSide::Capdeck);
        used += processor_time(capdeck_id).saturating_sub(before);
        calls += load.calls;
        capdeck.push(load);
    }
    let capdeck_cpu_us = used.as_secs_f64() * 1e6 / calls as f64;
    CallFigures {
        transport: transport.to_owned(),
        callers,
        direct: middle(direct),
        capdeck: middle(capdeck),
        capdeck_cpu_us,
    }
}

/// The round whose median is the middle one.
pub(super) fn middle(mut rounds: Vec<LoadFigures>) -> LoadFigures {
    rounds.sort_by(|one, other| one.p50_us.total_cmp(&other.p50_us));
    rounds.swap_remove(rounds.len() / 2)
}

fn echo(name: &str) -> Value {
    json!({"name": name, "arguments": {"text": "hello", "count": 3}})
}

/// A load of refusals would be fast and worthless.
fn assert_echo(answer: &str) {
    assert!(answer.contains("hello") && !answer.contains("isError"), "no echo: {answer}");
}
