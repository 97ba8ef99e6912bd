//! `exposure-bench measure LISTS` measures what each way to offer tools costs, over recorded tool lists; `exposure-bench render` writes the
//! last figures into the documents.
//!
//! Started by `bench/exposure`, which builds everything first.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a measuring program: it prints, and a failed measurement ends it"
)]

use std::{fs, path::Path};

use capdeck_test::bench::{
    BenchStage, ExposureFigures, measure_exposure, render_exposure, replace_exposure_block,
};

const RESULTS: &str = "bench/results/exposure.json";
const DOCUMENT: &str = "docs/reference/benchmarks.md";

fn main() {
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some("measure"), Some(lists)) => measure(Path::new(&lists)),
        (Some("render"), None) => render(),
        _ => panic!("usage: exposure-bench measure LISTS|render"),
    }
}

fn measure(lists: &Path) {
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let count = |text: &str| encoding.count(text);
    match measure_exposure(&BenchStage::new(), lists, &count) {
        Some(figures) => {
            fs::write(RESULTS, serde_json::to_string_pretty(&figures).unwrap() + "\n").unwrap();
            println!("{}", render_exposure(&figures));
        }
        None => println!("skipped: no recorded tool lists at {}", lists.display()),
    }
}

fn render() {
    let figures: Vec<ExposureFigures> =
        serde_json::from_str(&fs::read_to_string(RESULTS).unwrap()).unwrap();
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let replaced = replace_exposure_block(&document, &render_exposure(&figures)).unwrap();
    fs::write(DOCUMENT, replaced).unwrap();
}
