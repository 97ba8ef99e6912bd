//! Measures search: recall over the recorded tool lists, latency there and at 1,000 to 100,000 tools.
//!
//! Prints one JSON line. With `misses` as argument, also the training questions that do not find their tool first (on
//! stderr). The held-out questions are never shown: they are not to be tuned on.

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

/// Numbers of tools that latency is measured at.
const SIZES: [(&str, usize); 3] =
    [("thousand", 1_000), ("tenThousand", 10_000), ("large", 100_000)];

fn main() {
    let Some(servers) = deck::recorded_servers() else {
        println!("{}", json!({"skipped": "no shared data"}));
        return;
    };
    let (train, held_out) = (deck::questions("train"), deck::questions("held-out"));
    let show_misses = std::env::args().any(|argument| argument == "misses");
    let enlarged = SIZES.map(|(name, size)| (name, enlarge(&servers, size)));
    let (real, build) = timed_catalog(servers);
    let on_train = quality::recall(&real, &train, |question, place, hits| {
        if show_misses {
            let found = hits.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
            eprintln!("{place:?} {:?} wants {:?}: {found}", question.query, question.expect);
        }
    });
    let on_held_out = quality::recall(&real, &held_out, |_, _, _| {});
    let split = |questions: &[Question], recall: quality::Recall| {
        json!({
            "questions": questions.len(),
            "recall@1": round(recall.first),
            "recall@5": round(recall.five),
        })
    };
    let mut line = json!({
        "train": split(&train, on_train),
        "heldOut": split(&held_out, on_held_out),
        "real": size(&real, build, latency(&real, &train, 20)),
    });
    for (name, servers) in enlarged {
        let before = resident();
        let (catalog, build) = timed_catalog(servers);
        line["largeIndexBytes"] = json!(resident().saturating_sub(before));
        line[name] = size(&catalog, build, latency(&catalog, &train, 3));
    }
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
