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
use crate::{FakePlan, HttpClient, TestDirs};

const CAPABILITIES: usize = 100;
const TOOLS_EACH: usize = 10;
const STARTS: usize = 40;

/// One server started directly, then Capdeck with nothing configured and with 100 capabilities whose tools it knows already; each over
/// pipes and over HTTP.
pub fn measure_start(stage: &BenchStage) -> Vec<StartFigures> {
    let plan =
        FakePlan { behaviours: false, everything: false, tools: TOOLS_EACH, ..FakePlan::default() };
    let nothing = TestDirs::new();
    let starts = stage.samples(STARTS);
    let over_pipes = |what: &str, command: &dyn Fn() -> Command| {
        row(what, starts, || list_over_pipes(command()))
    };
    let over_http = |what: &str, dirs: &TestDirs| {
        row(&format!("{what}, over HTTP"), starts, || {
            let host = stage.up(dirs);
            list_over_http(host.client("/mcp"));
            host
        })
    };
    let mut rows = vec![
        over_pipes("one server, direct", &|| alone(&plan)),
        over_pipes("nothing configured", &|| stage.serve(&nothing)),
    ];
    let mut rows_of_http = vec![
        row("one server, direct, over HTTP", starts, || {
            let server = plan.start_http();
            list_over_http(HttpClient::new(&server.url));
            server
        }),
        over_http("nothing configured", &nothing),
    ];
    for exposure in ["search", "progressive", "direct"] {
        let dirs = stage.deck(exposure, servers(CAPABILITIES, TOOLS_EACH));
        stage.fill_cache(&dirs);
        let what = format!("{CAPABILITIES} cached capabilities, {exposure}");
        rows.push(over_pipes(&what, &|| stage.serve(&dirs)));
        rows_of_http.push(over_http(&what, &dirs));
    }
    rows.extend(rows_of_http);
    rows
}

fn list_over_pipes(command: Command) -> PipeServer {
    let mut pipe = PipeServer::start(command);
    pipe.ask("tools/list", json!({}));
    pipe
}

fn list_over_http(mut client: HttpClient) {
    client.initialize();
    let answer = client.request("tools/list", json!({}));
    assert!(answer["result"]["tools"].is_array(), "no tools: {answer}");
}

/// Starts something until it has answered. Ending it is not part of the time.
fn row<T>(what: &str, starts: usize, start_and_list: impl Fn() -> T) -> StartFigures {
    let sample = |_| {
        let started = Instant::now();
        let _running = start_and_list();
        started.elapsed()
    };
    let mut samples: Vec<Duration> = (0..starts).map(sample).collect();
    samples.sort_unstable();
    let millis = |share| percentile(&samples, share).as_secs_f64() * 1e3;
    StartFigures { what: what.to_owned(), p50_ms: millis(0.5), p99_ms: millis(0.99) }
}
