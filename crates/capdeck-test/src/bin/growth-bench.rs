//! `growth-bench [--quick]` measures what more tools, clients and sessions cost; `growth-bench render` writes the last figures into the
//! document.
//!
//! Started by `bench/growth`, which builds everything first.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measuring program: it prints, and a failed measurement ends it"
)]

use std::fs;

use capdeck_test::bench::{
    BenchStage, GrowthFigures, measure_growth, render_growth, replace_growth_block, write_figures,
};

const RESULTS: &str = "bench/results/growth.json";
const DOCUMENT: &str = "docs/reference/benchmarks.md";

fn main() {
    match std::env::args().nth(1).as_deref() {
        None => measure(false),
        Some("--quick") => measure(true),
        Some("render") => write_block(),
        _ => panic!("usage: growth-bench [--quick] | growth-bench render"),
    }
}

fn measure(is_quick: bool) {
    let mut stage = BenchStage::new();
    stage.is_quick = is_quick;
    let figures = measure_growth(&stage, &|what| eprintln!("measuring {what}"));
    println!("{}", render_growth(&figures));
    eprintln!("written to {}", write_figures(&stage, "growth", &figures));
}

fn write_block() {
    let json = fs::read_to_string(RESULTS).expect("figures: run `bench/growth` first");
    let figures: GrowthFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let replaced = replace_growth_block(&document, &render_growth(&figures)).expect("a block");
    fs::write(DOCUMENT, replaced).unwrap();
}
