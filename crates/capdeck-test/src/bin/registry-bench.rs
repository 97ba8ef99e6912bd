//! `registry-bench measure` measures a shared host: calls with a token beside calls without, a thousand watchers of the
//! live feed, and what the dashboard's first paint weighs. `registry-bench render` writes the last figures into the document.
//!
//! Started by `bench/registry`, which builds everything first.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measuring program: it prints, and a failed measurement ends it"
)]

use std::fs;

use capdeck_test::bench::{
    BenchStage, RegistryFigures, measure_registry, render_registry, replace_registry_block,
};

const RESULTS: &str = "bench/results/registry.json";
const DOCUMENT: &str = "docs/reference/benchmarks.md";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("measure") => measure(),
        Some("render") => write_block(),
        _ => panic!("usage: registry-bench measure|render"),
    }
}

fn measure() {
    let stage = BenchStage::new();
    let figures = measure_registry(&stage, stage.machine());
    fs::write(RESULTS, serde_json::to_string_pretty(&figures).unwrap() + "\n").unwrap();
    println!("{}", render_registry(&figures));
}

fn write_block() {
    let json = fs::read_to_string(RESULTS).expect("figures: run `bench/registry` first");
    let figures: RegistryFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let replaced = replace_registry_block(&document, &render_registry(&figures)).expect("a block");
    fs::write(DOCUMENT, replaced).unwrap();
}
