//! What a run of code mode costs: beside the calls it makes, and beside a peer that does the same.

mod attacks;
mod figures;
mod footprint;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

pub use self::figures::{
    AttackFigures, CODE_BLOCK_END, CODE_BLOCK_START, CallersFigures, CodeModeFigures,
    DurationSpread, MemoryFootprint, RunFigures, SurfaceTokens, render_code_mode,
    replace_code_block,
};
use super::{
    BenchPeer, BenchStage, MachineInfo,
    load::{PipeServer, http_load},
    process_usage::tree_memory,
    stage::servers,
};
use crate::{FakePlan, TestDirs, workflows::OfficeService};

const STARTS: usize = 8;
const RUNS: usize = 40;
const WARM_UP: usize = 5;
const AT_ONCE: usize = 50;
const RUNS_OF_CALLERS: usize = 2_000;

/// Measures everything, beside a peer that has the tools `echo` and `export_issues` and runs Python. `count` counts tokens.
pub fn measure_code_mode(
    stage: &BenchStage,
    machine: MachineInfo,
    peer: Option<&BenchPeer>,
    count: &dyn Fn(&str) -> usize,
) -> CodeModeFigures {
    let mut runs = vec![first_run(stage, peer)];
    runs.extend(repeated_runs(stage, peer));
    CodeModeFigures {
        machine,
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        peer: peer.map(|peer| peer.name.clone()),
        runs,
        many_callers: many_callers(stage),
        footprint: footprint::measure(stage),
        surface: surface(stage, count),
        peer_surface_tokens: peer.map(|peer| tokens(&mut PipeServer::start(peer.command()), count)),
        attacks: attacks::measure(stage),
    }
}

/// The deck: one server that answers at once, one with a document of a megabyte. Both by name and from code.
pub(super) fn deck(stage: &BenchStage) -> TestDirs {
    let office = crate::built_binary("capdeck-test", "office-server");
    let tracker = json!({
        "name": "tracker", "description": "Issues of the product", "command": office, "args": [OfficeService::Tracker.name()],
    });
    let servers =
        [("fake".to_owned(), FakePlan::default().deck_entry()), ("tracker".to_owned(), tracker)];
    let dirs = stage.deck("direct_and_code_mode", servers.into_iter().collect());
    stage.fill_cache(&dirs);
    dirs
}

fn first_run(stage: &BenchStage, peer: Option<&BenchPeer>) -> RunFigures {
    let dirs = deck(stage);
    let first = |command: &dyn Fn() -> Command, tool: &str, arguments: &Value| {
        let sample = |_| {
            let mut pipe = PipeServer::start(command());
            timed(|| assert_answer(&pipe.ask("tools/call", params(tool, arguments))))
        };
        DurationSpread::of((0..STARTS).map(sample).collect())
    };
    RunFigures {
        what: "first run after the start".to_owned(),
        direct: None,
        capdeck: first(&|| stage.serve(&dirs), "code_mode", &json!({"code": "return 1"})),
        peer: peer.map(|peer| first(&|| peer.command(), "execute", &json!({"code": "return 1"}))),
    }
}

/// One row: what it does by itself, in our language, and in the peer's.
struct CodeModeRow {
    what: String,
    /// Calls made one after the other, without code.
    calls: usize,
    code: String,
    peer_code: String,
}

fn rows() -> Vec<CodeModeRow> {
    let row = |what: &str, calls, code: String, peer_code: String| CodeModeRow {
        what: what.to_owned(),
        calls,
        code,
        peer_code,
    };
    let mut rows = vec![
        row("empty run", 0, "return 1".to_owned(), "return 1".to_owned()),
        row(
            "1 call",
            1,
            r#"return await caplets.fake.echo({ text: "hello" })"#.to_owned(),
            "return await call_tool('echo', {'text': 'hello'})".to_owned(),
        ),
    ];
    for number in [10, 100] {
        rows.push(row(
            &format!("{number} calls, one after the other"),
            number,
            format!(r#"let n = 0; for (let i = 0; i < {number}; i += 1) {{ await caplets.fake.echo({{ text: "hello" }}); n += 1; }} return n"#).replace("let n", "var n"),
            format!("n = 0\nfor i in range({number}):\n    await call_tool('echo', {{'text': 'hello'}})\n    n += 1\nreturn n"),
        ));
    }
    for number in [10, 100] {
        rows.push(row(
            &format!("{number} calls at once"),
            0,
            format!(r#"return (await Promise.all(Array.from({{ length: {number} }}, () => caplets.fake.echo({{ text: "hello" }})))).length"#),
            format!("import asyncio\nreturn len(await asyncio.gather(*[call_tool('echo', {{'text': 'hello'}}) for i in range({number})]))"),
        ));
    }
    rows.push(row(
        "a result of 1 MB filtered to 1 KB",
        0,
        r#"return (await caplets.tracker.export_issues()).issues.filter((issue) => issue.id === 42).map((issue) => issue.title)"#.to_owned(),
        "return [issue['title'] for issue in (await call_tool('export_issues', {}))['issues'] if issue['id'] == 42]".to_owned(),
    ));
    rows
}

/// Every run without a session id, as most agents send them, and in one session; direct calls, Capdeck and the peer take turns.
fn repeated_runs(stage: &BenchStage, peer: Option<&BenchPeer>) -> Vec<RunFigures> {
    let dirs = deck(stage);
    let mut capdeck = PipeServer::start(stage.serve(&dirs));
    let mut other = peer.map(|peer| PipeServer::start(peer.command()));
    let opened = capdeck.ask("tools/call", params("code_mode", &json!({"code": "return 1"})));
    let opened: Value = serde_json::from_str(&opened).unwrap();
    let session = opened["result"]["structuredContent"]["meta"]["sessionId"].clone();
    let echo = params("fake__echo", &json!({"text": "hello"}));
    let (mut alone, mut together): (Vec<RunFigures>, Vec<RunFigures>) = (Vec::new(), Vec::new());
    for row in rows() {
        let code = params("code_mode", &json!({"code": row.code}));
        let in_session = params("code_mode", &json!({"code": row.code, "sessionId": session}));
        let peer_code = params("execute", &json!({"code": row.peer_code}));
        let (mut by_name, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        let mut ours_in_session = Vec::new();
        for round in 0..RUNS + WARM_UP {
            let direct = timed(|| {
                for _ in 0..row.calls {
                    assert_answer(&capdeck.ask("tools/call", echo.clone()));
                }
            });
            let run = timed(|| assert_answer(&capdeck.ask("tools/call", code.clone())));
            let again = timed(|| assert_answer(&capdeck.ask("tools/call", in_session.clone())));
            let peer = other
                .as_mut()
                .map(|other| timed(|| assert_answer(&other.ask("tools/call", peer_code.clone()))));
            if round >= WARM_UP {
                by_name.push(direct);
                ours.push(run);
                ours_in_session.push(again);
                theirs.extend(peer);
            }
        }
        let direct = (row.calls > 0).then(|| DurationSpread::of(by_name));
        together.push(RunFigures {
            what: format!("{}, in one session", row.what),
            direct,
            capdeck: DurationSpread::of(ours_in_session),
            peer: None,
        });
        alone.push(RunFigures {
            what: row.what,
            direct,
            capdeck: DurationSpread::of(ours),
            peer: (!theirs.is_empty()).then(|| DurationSpread::of(theirs)),
        });
    }
    alone.extend(together);
    alone.push(at_once(&mut capdeck, other.as_mut()));
    alone
}

/// Runs over HTTP without a session id, and the memory of all processes afterwards.
fn many_callers(stage: &BenchStage) -> Vec<CallersFigures> {
    let code = json!({"code": r#"return (await caplets.fake.echo({ text: "hello" })).length"#});
    let params = params("code_mode", &code);
    let row = |callers: usize| {
        let dirs = deck(stage);
        let host = stage.up(&dirs);
        let url = format!("{}/mcp", host.url);
        http_load(&url, &params, callers * WARM_UP, callers);
        let load = http_load(&url, &params, RUNS_OF_CALLERS, callers);
        CallersFigures {
            callers,
            runs_per_second: load.calls_per_second,
            p50_ms: load.p50_us / 1e3,
            p99_ms: load.p99_us / 1e3,
            tree_memory: tree_memory(host.id()).pss,
        }
    };
    [1, 16, 64].map(row).to_vec()
}

/// Fifty runs with a call each, in sessions of their own, all at the same time.
fn at_once(capdeck: &mut PipeServer, peer: Option<&mut PipeServer>) -> RunFigures {
    let code = json!({"code": r#"return await caplets.fake.echo({ text: "hello" })"#});
    let mine = params("code_mode", &code).to_string();
    let code = json!({"code": "return await call_tool('echo', {'text': 'hello'})"});
    let theirs = params("execute", &code).to_string();
    let sample = |pipe: &mut PipeServer, params: &str| {
        let take = |_| {
            let mut answers = Vec::new();
            let time = timed(|| answers = pipe.call_at_once(params, AT_ONCE));
            answers.iter().for_each(|answer| assert_answer(answer));
            time
        };
        DurationSpread::of((0..STARTS).map(take).collect())
    };
    RunFigures {
        what: format!("{AT_ONCE} runs at the same time, a call each, until the last is done"),
        direct: None,
        capdeck: sample(capdeck, &mine),
        peer: peer.map(|peer| sample(peer, &theirs)),
    }
}

fn surface(stage: &BenchStage, count: &dyn Fn(&str) -> usize) -> Vec<SurfaceTokens> {
    let row = |capabilities| {
        let dirs = stage.deck("code_mode", servers(capabilities, 10));
        SurfaceTokens {
            capabilities,
            tokens: tokens(&mut PipeServer::start(stage.serve(&dirs)), count),
        }
    };
    [1, 10, 100, 1_000].map(row).to_vec()
}

fn tokens(pipe: &mut PipeServer, count: &dyn Fn(&str) -> usize) -> usize {
    let answer: Value = serde_json::from_str(&pipe.ask("tools/list", json!({}))).unwrap();
    let tools = answer["result"]["tools"].as_array().expect("`tools/list` has tools");
    tools.iter().map(|tool| count(&tool.to_string())).sum()
}

pub(super) fn params(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

/// A row of refusals would be fast and worthless.
pub(super) fn assert_answer(answer: &str) {
    let parsed: Value = serde_json::from_str(answer).unwrap_or_default();
    let result = &parsed["result"];
    let failed = result.is_null()
        || result["isError"] == json!(true)
        || result["structuredContent"]["ok"] == json!(false);
    assert!(!failed, "a run failed: {answer}");
}
