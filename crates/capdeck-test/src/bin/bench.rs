//! `bench [--quick] [--wrk PROGRAM] [--peer NAME PROGRAM ARGUMENT]` runs every measurement, `bench render` writes the last figures
//! into the documents.
//!
//! Started by `bench/run`, which builds everything and finds the other programs first.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a measuring program: it prints, and a failed measurement ends it"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use capdeck_test::bench::{
    BenchFigures, BenchPeer, BenchStage, measure_api_calls, measure_calls, measure_load_client,
    measure_memory, measure_start, measure_surface, render, render_summary, replace_block,
    write_figures,
};
use serde_json::Value;

/// Requests of an API for each number of callers.
const API_CALLS: usize = 6_000;

/// What is measured beside Capdeck, where it could be installed.
#[derive(Default)]
struct Others {
    peer: Option<BenchPeer>,
    wrk: Option<PathBuf>,
}

fn main() {
    let mut stage = BenchStage::new();
    let mut others = Others::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_else(|| panic!("`{word}` needs a value"));
        match word.as_str() {
            "--quick" => stage.is_quick = true,
            "--wrk" => others.wrk = Some(next().into()),
            "--peer" => {
                let (name, program, script) = (next(), next(), next());
                others.peer =
                    Some(BenchPeer { name, command: vec![program.into(), script.into()] });
            }
            "render" => return write_blocks(),
            _ => panic!(
                "usage: bench [--quick] [--wrk PROGRAM] [--peer NAME PROGRAM SCRIPT] | bench render"
            ),
        }
    }
    measure(&stage, &others);
}

fn measure(stage: &BenchStage, others: &Others) {
    let step = |what: &str| eprintln!("measuring {what}");
    step("calls");
    let calls = measure_calls(stage, others.peer.as_ref());
    step("requests of an API");
    let api_calls = measure_api_calls(stage, stage.samples(API_CALLS));
    step("another load generator");
    let load_client = others.wrk.as_ref().map(|wrk| measure_load_client(stage, wrk));
    step("start");
    let start = measure_start(stage);
    step("memory");
    let memory = measure_memory(stage);
    step("standing tokens");
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let surface = measure_surface(stage, &|text| encoding.count(text));
    step("search");
    let figures = BenchFigures {
        machine: stage.machine(),
        start,
        calls,
        api_calls,
        load_client,
        memory,
        surface,
        search: search(),
    };
    println!("{}\n\n{}", render_summary(&figures), render(&figures));
    eprintln!("written to {}", write_figures(stage, "latest", &figures));
}

fn write_blocks() {
    let text = fs::read_to_string(root().join("bench/results/latest.json")).unwrap();
    let figures: BenchFigures = serde_json::from_str(&text).unwrap();
    let blocks = [
        ("README.md", render_summary(&figures)),
        ("docs/reference/benchmarks.md", render(&figures)),
    ];
    for (name, block) in blocks {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let replaced = replace_block(&text, &block).unwrap_or_else(|| panic!("{name}: no block"));
        fs::write(root().join(name), replaced).unwrap();
        eprintln!("wrote the figures into {name}");
    }
}

/// The search example of the catalog crate measures itself; its last line is JSON.
fn search() -> Option<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(["run", "--quiet", "-p", "capdeck-catalog"]);
    command.args(["--example", "search_quality"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let finished = command.stderr(Stdio::inherit()).output().unwrap();
    let printed = String::from_utf8(finished.stdout).unwrap();
    let figures: Value = serde_json::from_str(printed.lines().last()?).ok()?;
    match figures.get("skipped") {
        Some(reason) => {
            eprintln!("search was skipped: {reason}");
            None
        }
        None => Some(figures),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}
