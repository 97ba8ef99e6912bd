//! The one small table for a first look.

use super::{BenchFigures, grouped, megabytes, micros, table};

/// Tools in the deck whose standing tokens are shown.
const TOOLS: usize = 1_000;

/// The figures of one caller, one start and one deck as a small Markdown table, with where the others are.
pub fn render_summary(figures: &BenchFigures) -> String {
    let machine = &figures.machine;
    let rows = calls(figures).into_iter().chain(start(figures)).chain(rest(figures));
    let table = table("| | direct | through Capdeck |\n|---|--:|--:|\n", rows);
    format!(
        "Measured on {} ({} cores), {}; one caller, p50, beside a direct connection to the same server in the same run. \
         `docs/reference/benchmarks.md` has all figures, `bench/README.md` says how they are taken.\n\n{}",
        machine.processor,
        machine.cores,
        machine.capdeck,
        table.trim_end()
    )
}

fn calls(figures: &BenchFigures) -> Vec<String> {
    let names = |transport: &str| match transport {
        "stdio" => "a call over stdio",
        "http" => "a call over HTTP",
        "API" => "a request of an HTTP API",
        _ => "a call over HTTP, stdio server behind",
    };
    let rows = figures.calls.iter().chain(&figures.api_calls).filter(|row| row.callers == 1);
    let row = |row: &super::CallFigures| {
        let (direct, capdeck) = (row.direct.p50_us, row.capdeck.p50_us);
        format!("| {} | {} | {} |\n", names(&row.transport), micros(direct), micros(capdeck))
    };
    rows.map(row).collect()
}

fn start(figures: &BenchFigures) -> Option<String> {
    let p50 = |what: &str| figures.start.iter().find(|row| row.what == what).map(|row| row.p50_ms);
    let (direct, capdeck) = (p50("one server, direct")?, p50("100 cached capabilities, search")?);
    Some(format!(
        "| start to first `tools/list`: one server, 100 capabilities | {direct:.1} ms | {capdeck:.1} ms |\n"
    ))
}

fn rest(figures: &BenchFigures) -> Vec<String> {
    let memory = megabytes(figures.memory.after_first_list.own);
    let mut rows = vec![format!("| memory of `capdeck up` with 101 capabilities | | {memory} |\n")];
    if let Some(surface) = figures.surface.iter().find(|row| row.tools == TOOLS) {
        rows.push(format!(
            "| tokens of {} tools before the first question, searched | {} | {} |\n",
            grouped(TOOLS),
            grouped(surface.without_capdeck),
            grouped(surface.search)
        ));
    }
    rows
}
