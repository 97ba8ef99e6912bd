//! Measures search: recall over the recorded tool lists, latency there and at 100,000 tools.
//!
//! Prints one JSON line. With `misses` as argument, also the questions of the dev split that do not find
//! their tool first (on stderr).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring program"
)]

#[path = "../tests/it/deck.rs"]
mod deck;
#[path = "../tests/it/quality.rs"]
mod quality;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_catalog::{Catalog, Tool};
use serde_json::{Value, json};

use crate::deck::{Question, Server};

const LARGE: usize = 100_000;

fn main() {
    let Some(servers) = deck::recorded_servers() else {
        println!("{}", json!({"skipped": "no shared data"}));
        return;
    };
    let questions = deck::questions();
    let show_misses = std::env::args().any(|argument| argument == "misses");
    let large = enlarge(&servers, LARGE);
    let (small, small_build) = timed_catalog(servers);
    let dev = quality::recall(&small, &questions, "dev", |question, place, hits| {
        if show_misses {
            let found = hits.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
            eprintln!("{place:?} {:?} wants {:?}: {found}", question.query, question.expect);
        }
    });
    let test = quality::recall(&small, &questions, "test", |_, _, _| {});
    let small_latency = latency(&small, &questions, 20);

    let before = resident();
    let (large, large_build) = timed_catalog(large);
    let memory = resident().saturating_sub(before);
    let large_latency = latency(&large, &questions, 3);
    let split = |recall: quality::Recall| json!({"recall@1": round(recall.first), "recall@5": round(recall.five)});
    let line = json!({
        "questions": questions.len(),
        "dev": split(dev),
        "test": split(test),
        "real": size(&small, small_build, small_latency),
        "large": size(&large, large_build, large_latency),
        "largeIndexBytes": memory,
    });
    println!("{line}");
}

/// A catalog with its index built, and how long the index took.
fn timed_catalog(servers: Vec<Server>) -> (Catalog, Duration) {
    let catalog = deck::catalog(servers);
    let start = Instant::now();
    catalog.warm_search();
    (catalog, start.elapsed())
}

/// Clones of the real tools under many ids, with changed names, until there are enough.
fn enlarge(servers: &[Server], wanted: usize) -> Vec<Server> {
    let mut all = Vec::new();
    let mut count = 0;
    for round in 0.. {
        for server in servers {
            if count >= wanted {
                return all;
            }
            let clone = |tool: &Arc<Tool>| {
                let mut raw = tool.raw().clone();
                let name = format!("{}_v{}", tool.name(), round % 50);
                raw.insert("name".to_owned(), serde_json::value::to_raw_value(&name).unwrap());
                Arc::new(Tool::new(raw).unwrap())
            };
            let tools: Vec<_> = server.tools.iter().take(wanted - count).map(clone).collect();
            count += tools.len();
            all.push(Server { id: format!("{}-{round}", server.id), tools });
        }
    }
    all
}

/// The median and the 99th percentile of one query, in microseconds.
fn latency(catalog: &Catalog, questions: &[Question], rounds: usize) -> (f64, f64) {
    let mut times = Vec::new();
    for _ in 0..rounds {
        for question in questions {
            let start = Instant::now();
            let hits = quality::ask(catalog, &question.query, 10);
            times.push(start.elapsed().as_secs_f64() * 1e6);
            assert!(hits.len() <= 10);
        }
    }
    times.sort_by(f64::total_cmp);
    let at =
        |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    (at(0.5), at(0.99))
}

fn size(catalog: &Catalog, build: Duration, (median, slow): (f64, f64)) -> Value {
    json!({
        "tools": catalog.tool_count(),
        "buildMs": round(build.as_secs_f64() * 1e3),
        "queryP50Us": round(median),
        "queryP99Us": round(slow),
    })
}

fn round(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Resident memory in bytes, where the system tells.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}
