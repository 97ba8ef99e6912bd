//! How long until a client has its first tool list.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    BenchStage, StartFigures,
    load::{PipeServer, percentile},
    stage::{alone, servers},
};
use crate::FakePlan;

const CAPABILITIES: usize = 100;
const TOOLS_EACH: usize = 10;
const STARTS: usize = 40;

/// One server started directly, then Capdeck with 100 capabilities whose tools it knows already.
pub fn measure_start(stage: &BenchStage) -> Vec<StartFigures> {
    let plan =
        FakePlan { behaviours: false, everything: false, tools: TOOLS_EACH, ..FakePlan::default() };
    let mut rows = vec![measure("one server, direct", || alone(&plan))];
    for exposure in ["search", "progressive", "direct"] {
        let dirs = stage.deck(exposure, servers(CAPABILITIES, TOOLS_EACH));
        stage.fill_cache(&dirs);
        let what = format!("{CAPABILITIES} cached capabilities, {exposure}");
        rows.push(measure(&what, || stage.serve(&dirs)));
    }
    rows
}

fn measure(what: &str, command: impl Fn() -> Command) -> StartFigures {
    let mut samples: Vec<Duration> = (0..STARTS)
        .map(|_| {
            let started = Instant::now();
            let mut pipe = PipeServer::start(command());
            pipe.ask("tools/list", json!({}));
            started.elapsed()
        })
        .collect();
    samples.sort_unstable();
    let millis = |share| percentile(&samples, share).as_secs_f64() * 1e3;
    StartFigures { what: what.to_owned(), p50_ms: millis(0.5), p99_ms: millis(0.99) }
}
