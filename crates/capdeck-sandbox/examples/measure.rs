//! Prints how long runs take and what sessions cost, as JSON. Build it with `--release` for figures that count.
//!
//! The worker is this program itself, started with the argument `worker`. Other arguments
//! are cells to time instead, in one session.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measuring program, not the product"
)]

use std::{
    env, fs,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use capdeck_sandbox::{
    CallHandler, CallRequest, CapabilityDirectory, CapabilityLine, CellRun, HandlerResponse,
    RunReport, SandboxPool, SandboxSettings, SessionChoice, SessionId, ToolSchemas, TypeCheck,
    WorkerCommand, run_worker, tool_text,
};
use serde_json::{Value, json, value::RawValue};

/// Answers at once, so that only the way there and back is measured.
struct Echo;

impl CapabilityDirectory for Echo {
    fn capabilities(&self) -> Vec<String> {
        vec!["echo".to_owned()]
    }

    fn tools(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn schemas(&self, _: &str, _: &str) -> Option<ToolSchemas> {
        let text = json!({"type": "string"});
        let properties: serde_json::Map<String, Value> =
            (0..12).map(|number| (format!("member_{number}"), text.clone())).collect();
        let object = json!({"type": "object", "properties": properties});
        Some(ToolSchemas { input: object.clone(), output: Some(object) })
    }

    fn check_arguments(&self, _: &str, _: &str, _: &Value) -> Vec<String> {
        Vec::new()
    }
}

#[async_trait]
impl CallHandler for Echo {
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        if call.args.get().contains("\"big\"") {
            let item = r#"{"id":12345,"name":"an item of a list","tags":["a","b"],"active":true},"#;
            let items = item.repeat((1 << 20) / item.len());
            let text = format!("[{}]", items.trim_end_matches(','));
            return HandlerResponse::data(RawValue::from_string(text).unwrap());
        }
        HandlerResponse::data(call.args)
    }
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "worker") {
        run_worker().unwrap();
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let figures = runtime
        .block_on(async { if words.is_empty() { measure().await } else { time(&words).await } });
    println!("{}", serde_json::to_string_pretty(&figures).unwrap());
}

fn pool(spare_workers: usize) -> SandboxPool {
    let program = env::current_exe().unwrap();
    let worker = WorkerCommand { program, args: vec!["worker".into()] };
    SandboxPool::new(SandboxSettings { spare_workers, ..SandboxSettings::new(worker) })
}

async fn run(pool: &SandboxPool, run: CellRun) -> RunReport {
    let report = pool.run(run, &Echo, &Echo).await;
    if let Err(error) = &report.envelope.outcome {
        println!("{error:?}");
    }
    report
}

/// Times the given cells, all in one session.
async fn time(cells: &[String]) -> Value {
    let pool = pool(0);
    let mut figures = Vec::new();
    let mut session = None;
    for cell in cells {
        let mut next = CellRun::new(cell.as_str());
        if let Some(id) = session {
            next = next.in_session(id);
        }
        let meta = run(&pool, next).await.envelope.meta;
        figures.push(json!({ "durationMs": meta.duration_ms, "cpuMs": meta.cpu_ms, "cell": cell }));
        session = meta.session_id;
    }
    Value::Array(figures)
}

async fn measure() -> Value {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let one = "return await caplets.echo.echo({ a: 1 })";
    let sequential = |n: usize| {
        format!(
            "var n = 0; for (let i = 0; i < {n}; i += 1) n += (await caplets.echo.echo({{ i }})).args.i; return n"
        )
    };
    let parallel = |n: usize| {
        format!(
            "return (await Promise.all(Array.from({{ length: {n} }}, (_, i) => caplets.echo.echo({{ i }})))).length"
        )
    };
    let isolation = pool(1).warm().await.unwrap();
    json!({
        "profile": profile,
        "walls": serde_json::to_value(isolation).unwrap(),
        "milliseconds": {
            "cold empty run, process included": cold("return 1").await,
            "cold one call, process included": cold(one).await,
            "new session from a spare worker, one call": from_spare(one).await,
            "warm empty run": warm("return 1").await,
            "warm one call": warm(one).await,
            "warm 10 calls in sequence": warm(&sequential(10)).await,
            "warm 100 calls in sequence": warm(&sequential(100)).await,
            "warm 10 calls in parallel": warm(&parallel(10)).await,
            "warm 100 calls in parallel": warm(&parallel(100)).await,
            "warm 1 MB answer filtered to 1 KB": warm("var all = await caplets.echo.big(); return all.slice(0, 12)").await,
            "50 runs at once": fifty(one).await,
        },
        "another session while one loops": beside_a_loop().await,
        "type check": type_check().await,
        "memory of an idle session in KiB": memory().await,
        "tokens of the tool's text by capabilities": tokens(),
    })
}

/// Middle, best and nearly worst of some durations.
fn spread(mut times: Vec<Duration>) -> Value {
    times.sort();
    let at =
        |part: usize| times.get((times.len() - 1) * part / 100).unwrap().as_secs_f64() * 1000.0;
    let round = |time: f64| (time * 1000.0).round() / 1000.0;
    json!({ "p50": round(at(50)), "best": round(at(0)), "p95": round(at(95)), "n": times.len() })
}

async fn cold(code: &str) -> Value {
    let mut times = Vec::new();
    for _ in 0..20 {
        let pool = pool(0);
        let started = Instant::now();
        run(&pool, CellRun::new(code)).await;
        times.push(started.elapsed());
    }
    spread(times)
}

async fn from_spare(code: &str) -> Value {
    let mut times = Vec::new();
    for _ in 0..20 {
        let pool = pool(1);
        pool.warm().await.unwrap();
        let started = Instant::now();
        run(&pool, CellRun::new(code)).await;
        times.push(started.elapsed());
    }
    spread(times)
}

async fn session(pool: &SandboxPool) -> SessionId {
    run(pool, CellRun::new("return 1")).await.envelope.meta.session_id.unwrap()
}

async fn warm(code: &str) -> Value {
    let pool = pool(0);
    let id = session(&pool).await;
    let mut times = Vec::new();
    for _ in 0..60 {
        let started = Instant::now();
        run(&pool, CellRun::new(code).in_session(id.clone())).await;
        times.push(started.elapsed());
    }
    spread(times.split_off(10))
}

async fn fifty(code: &str) -> Value {
    let pool = pool(1);
    let started = Instant::now();
    let runs = (0..50).map(|_| {
        let mut next = CellRun::new(code);
        next.session = SessionChoice::Once;
        run(&pool, next)
    });
    futures_util::future::join_all(runs).await;
    json!((started.elapsed().as_secs_f64() * 1000.0).round())
}

async fn beside_a_loop() -> Value {
    let pool = pool(1);
    let id = session(&pool).await;
    let mut endless = CellRun::new("while (true) {}");
    endless.timeout = Some(Duration::from_secs(2));
    let mut times = Vec::new();
    let asking = async {
        let until = Instant::now() + Duration::from_millis(1900);
        while Instant::now() < until {
            let started = Instant::now();
            run(&pool, CellRun::new("return 1").in_session(id.clone())).await;
            times.push(started.elapsed());
        }
    };
    let (_, ()) = tokio::join!(pool.run(endless, &Echo, &Echo), asking);
    spread(times)
}

async fn type_check() -> Value {
    let checked = |code: String| {
        let mut next = CellRun::new(code);
        next.check = TypeCheck::Full;
        next
    };
    let cell = |tools: usize, salt: usize| {
        let calls = (0..tools).map(|tool| format!("await caplets.echo.tool_{tool}({{}}); "));
        format!("const salt = {salt}; {}return salt", calls.collect::<String>())
    };
    let mut first = Vec::new();
    for salt in 0..5 {
        let pool = pool(1);
        pool.warm().await.unwrap();
        let started = Instant::now();
        run(&pool, checked(cell(1, salt))).await;
        first.push(started.elapsed());
    }
    let pool = pool(1);
    let mut warm = Vec::new();
    for tools in [1, 10, 50] {
        let mut times = Vec::new();
        for salt in 0..20 {
            pool.warm().await.unwrap();
            let started = Instant::now();
            let mut next = checked(cell(tools, salt));
            next.session = SessionChoice::Once;
            run(&pool, next).await;
            times.push(started.elapsed());
        }
        warm.push((format!("warm, {tools} tools named"), spread(times.split_off(2))));
    }
    let id = pool.checker_process().unwrap();
    let resident = rollup(id, "Rss:");
    let mut figures: serde_json::Map<String, Value> = warm.into_iter().collect();
    figures.insert("first, checker started for it".to_owned(), spread(first));
    figures.insert("resident KiB of the checker".to_owned(), json!(resident));
    Value::Object(figures)
}

fn tokens() -> Value {
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let ids: Vec<String> = (0..1000).map(|number| format!("capability-{number}")).collect();
    let doc = "Reads and writes things of one kind.";
    let lines: Vec<CapabilityLine<'_>> =
        ids.iter().map(|id| CapabilityLine { id, doc, hints: [None; 2] }).collect();
    let counts = [1, 10, 100, 1000].map(|number| {
        let text = tool_text(lines.get(..number).unwrap(), 600);
        (number.to_string(), json!(encoding.count(&text)))
    });
    Value::Object(counts.into_iter().collect())
}

async fn memory() -> Value {
    let pool = pool(0);
    let mut sessions = Vec::new();
    for _ in 0..10 {
        sessions.push(session(&pool).await);
    }
    let ids: Vec<u32> = sessions.iter().filter_map(|id| pool.session_process(id)).collect();
    let mean = |name: &str| ids.iter().map(|id| rollup(*id, name)).sum::<u64>() / ids.len() as u64;
    json!({
        "resident": mean("Rss:"),
        "proportional": mean("Pss:"),
        "private": mean("Private_"),
    })
}

/// A sum of what the kernel says about the memory of a process, in KiB.
fn rollup(id: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}
