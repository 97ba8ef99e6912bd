//! `code-bench measure [NAME PROGRAM ARGUMENT…]` measures code mode, beside a peer if one is given; `code-bench workflows` does
//! four pieces of work in every view; `code-bench render` writes the last figures of both into the documents.
//!
//! Started by `bench/code-mode`, which builds everything and installs the peer first.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a measuring program: it prints, and a failed measurement ends it"
)]

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use capdeck_test::{
    bench::{
        BenchPeer, BenchStage, CodeModeFigures, measure_code_mode, render_code_mode,
        replace_code_block,
    },
    workflows::{
        ToolView, WORKFLOWS, WorkflowFigures, WorkflowRun, render_workflows, replace_workflow_block,
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// The document that shows the figures.
const DOCUMENT: &str = "docs/reference/benchmarks.md";

/// A workflow is done this often; the quickest counts, the rest of a run is the same every time.
const ROUNDS: usize = 3;

fn main() {
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some("measure") => measure(words.collect()),
        Some("workflows") => workflows(),
        Some("render") => write_blocks(),
        _ => panic!("usage: code-bench measure [NAME PROGRAM ARGUMENT…]|workflows|render"),
    }
}

fn measure(words: Vec<OsString>) {
    let stage = BenchStage::new();
    let mut words = words.into_iter();
    let peer = words.next().map(|name| BenchPeer {
        name: name.to_string_lossy().into_owned(),
        command: words.collect(),
    });
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let figures =
        measure_code_mode(&stage, stage.machine(), peer.as_ref(), &|text| encoding.count(text));
    write("code-mode.json", &figures);
    println!("{}", render_code_mode(&figures));
}

fn workflows() {
    let stage = BenchStage::new();
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let count = |text: &str| encoding.count(text);
    let figures = WORKFLOWS.map(|workflow| {
        let quickest = |way| {
            let runs = (0..ROUNDS).map(|_| workflow.run(stage.capdeck(), way, &count));
            let time = |left: &WorkflowRun, right: &WorkflowRun| {
                left.milliseconds.total_cmp(&right.milliseconds)
            };
            runs.min_by(time).unwrap()
        };
        eprintln!("working: {}", workflow.name);
        WorkflowFigures {
            name: workflow.name.to_owned(),
            what: workflow.what.to_owned(),
            runs: ToolView::ALL.map(quickest).to_vec(),
        }
    });
    write("workflows.json", &figures);
    println!("{}", render_workflows(&figures));
}

fn write_blocks() {
    let document = root().join(DOCUMENT);
    let mut text = fs::read_to_string(&document).unwrap();
    if let Some(figures) = read::<CodeModeFigures>("code-mode.json") {
        text = replace_code_block(&text, &render_code_mode(&figures)).unwrap();
    }
    if let Some(figures) = read::<Vec<WorkflowFigures>>("workflows.json") {
        text = replace_workflow_block(&text, &render_workflows(&figures)).unwrap();
    }
    fs::write(document, text).unwrap();
    eprintln!("wrote the figures into {DOCUMENT}");
}

fn write(name: &str, figures: &impl Serialize) {
    let path = root().join("bench/results").join(name);
    fs::write(&path, serde_json::to_string_pretty(figures).unwrap() + "\n").unwrap();
    eprintln!("written to bench/results/{name}; `bench/code-mode render` puts it into {DOCUMENT}");
}

fn read<T: DeserializeOwned>(name: &str) -> Option<T> {
    let text = fs::read_to_string(root().join("bench/results").join(name)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}
