//! `sh-bench measure [NAME PROGRAM ARGUMENT…]` measures calls from the shell, beside a peer if one is given; `sh-bench render` writes
//! the last figures into the document.
//!
//! Started by `bench/sh`, which builds everything and installs the peer first.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measuring program: it prints, and a failed measurement ends it"
)]

use std::{ffi::OsString, fs};

use capdeck_test::bench::{
    BenchPeer, BenchStage, ShellFigures, measure_shell, render_shell, replace_shell_block,
};

const RESULTS: &str = "bench/results/sh.json";
const DOCUMENT: &str = "docs/reference/benchmarks.md";

fn main() {
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some("measure") => measure(words.collect()),
        Some("render") => write_block(),
        _ => panic!("usage: sh-bench measure [NAME PROGRAM ARGUMENT…]|render"),
    }
}

fn measure(words: Vec<OsString>) {
    let stage = BenchStage::new();
    let mut words = words.into_iter();
    let peer = words.next().map(|name| BenchPeer {
        name: name.to_string_lossy().into_owned(),
        command: words.collect(),
    });
    let figures = measure_shell(&stage, stage.machine(), peer.as_ref());
    fs::write(RESULTS, serde_json::to_string_pretty(&figures).unwrap() + "\n").unwrap();
    println!("{}", render_shell(&figures));
}

fn write_block() {
    let json = fs::read_to_string(RESULTS).expect("figures: run `bench/sh` first");
    let figures: ShellFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let replaced = replace_shell_block(&document, &render_shell(&figures)).expect("a block");
    fs::write(DOCUMENT, replaced).unwrap();
}
