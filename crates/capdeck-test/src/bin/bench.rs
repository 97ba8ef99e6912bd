//! `bench measure` runs every measurement; `bench render` writes the last figures into the documents.
//!
//! Started by `bench/run`, which builds everything in release mode first.
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
    BenchFigures, BenchStage, measure_api_calls, measure_calls, measure_memory, measure_start,
    measure_surface, render, replace_block,
};
use serde_json::Value;

/// Documents that show the figures, when they have the block.
const DOCUMENTS: [&str; 2] = ["README.md", "bench/README.md"];

/// Requests of an API for each number of callers.
const API_CALLS: usize = 6_000;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("measure") => measure(),
        Some("render") => write_blocks(),
        _ => panic!("usage: bench measure|render"),
    }
}

fn measure() {
    let stage = BenchStage::new();
    let step = |what: &str| eprintln!("measuring {what}");
    step("calls");
    let calls = measure_calls(&stage);
    step("requests of an API");
    let api_calls = measure_api_calls(&stage, API_CALLS);
    step("start");
    let start = measure_start(&stage);
    step("memory");
    let memory = measure_memory(&stage);
    step("standing tokens");
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let surface = measure_surface(&stage, &|text| encoding.count(text));
    step("search");
    let figures = BenchFigures {
        machine: stage.machine(),
        start,
        calls,
        api_calls,
        memory,
        surface,
        search: search(),
    };
    let path = results();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, serde_json::to_string_pretty(&figures).unwrap() + "\n").unwrap();
    println!("{}", render(&figures));
    eprintln!(
        "written to bench/results/latest.json; `bench/run render` puts it into the documents"
    );
}

fn write_blocks() {
    let figures: BenchFigures =
        serde_json::from_str(&fs::read_to_string(results()).unwrap()).unwrap();
    let block = render(&figures);
    for document in DOCUMENTS.map(|name| root().join(name)) {
        let Ok(text) = fs::read_to_string(&document) else { continue };
        if let Some(replaced) = replace_block(&text, &block) {
            fs::write(&document, replaced).unwrap();
            eprintln!("wrote the figures into {}", document.display());
        }
    }
}

/// The search example of the catalog crate measures itself; its last line is JSON.
fn search() -> Option<Value> {
    let finished = Command::new(env!("CARGO"))
        .current_dir(root())
        .args([
            "run",
            "--quiet",
            "--release",
            "-p",
            "capdeck-catalog",
            "--example",
            "search_quality",
        ])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
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

fn results() -> PathBuf {
    root().join("bench/results/latest.json")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}
