//! Trains the ranking of the search and writes `src/search/weights.rs`.
//!
//! Learns from the questions in `bench/queries/train.jsonl` over the recorded tool lists; the same questions and lists
//! give the same weights. With `check` as argument it writes nothing: it trains on four fifths of the questions and
//! asks the rest, five times, and prints what the parts that were not learned from found.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program of the developers")]

#[path = "../tests/it/deck.rs"]
mod deck;

use std::{fmt::Write as _, path::PathBuf};

use capdeck_catalog::{Catalog, search_features};

use crate::deck::Question;

const ROUNDS: usize = 800;
const STEP: f64 = 0.03;
/// How strongly weights are drawn to zero.
const DECAY: f64 = 0.002;
const FOLDS: u64 = 5;

/// Weights that the questions are too few to teach: what is deprecated or takes something away ranks below its equals.
const HIGHEST: [(&str, f64); 3] =
    [("deprecated", -2.0), ("removes_unasked", -0.5), ("destructive_unasked", -0.1)];

/// A question's candidates: their features, and whether each is an answer.
struct Example {
    query: String,
    candidates: Vec<(Vec<f64>, bool)>,
}

fn main() {
    let Some(servers) = deck::recorded_servers() else {
        println!("skipped: no shared data");
        return;
    };
    let catalog = deck::catalog(servers);
    let questions = deck::questions("train");
    let examples: Vec<Example> =
        questions.iter().map(|question| example(&catalog, question)).collect();
    let reached = examples.iter().filter(|one| has_answer(one)).count();
    println!("{reached} of {} questions have an answer among their candidates", examples.len());
    if std::env::args().any(|argument| argument == "check") {
        let (mut first, mut five) = (0, 0);
        for fold in 0..FOLDS {
            let is_asked = |one: &&Example| hash(&one.query) % FOLDS == fold;
            let (asked, learned): (Vec<_>, Vec<_>) = examples.iter().partition(is_asked);
            let weights = train(&learned);
            first += asked.iter().filter(|one| place(one, &weights) < 1).count();
            five += asked.iter().filter(|one| place(one, &weights) < 5).count();
        }
        let share = |count: usize| count as f64 / examples.len() as f64;
        println!("not learned from: recall@1 {:.3}, recall@5 {:.3}", share(first), share(five));
        return;
    }
    let all: Vec<&Example> = examples.iter().collect();
    let weights = train(&all);
    for (name, weight) in search_features().iter().zip(&weights) {
        println!("{name:24} {weight:7.3}");
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/search/weights.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    let (start, rest) = text.split_once("= &[").unwrap();
    let (_, end) = rest.split_once("];").unwrap();
    let mut rows = String::new();
    for (name, weight) in search_features().iter().zip(&weights) {
        writeln!(rows, "    (\"{name}\", {weight:.3}),").unwrap();
    }
    std::fs::write(&path, format!("{start}= &[\n{rows}];{end}")).unwrap();
    println!("wrote {}", path.display());
}

fn example(catalog: &Catalog, question: &Question) -> Example {
    let candidates = catalog.search_candidates(&question.query).into_iter().map(|candidate| {
        let tool = candidate.tool.as_ref().map_or("", |tool| tool.name());
        let name = format!("{}/{tool}", candidate.capability);
        let features = candidate.features.into_iter().map(f64::from).collect();
        (features, question.expect.contains(&name))
    });
    Example { query: question.query.clone(), candidates: candidates.collect() }
}

fn has_answer(example: &Example) -> bool {
    example.candidates.iter().any(|(_, is_answer)| *is_answer)
}

/// Weights under which the answers of a question are most likely to be chosen among its candidates.
fn train(examples: &[&Example]) -> Vec<f64> {
    let count = search_features().len();
    let (mut weights, mut mean, mut spread) =
        (vec![0.0_f64; count], vec![0.0_f64; count], vec![0.0_f64; count]);
    for round in 1..=ROUNDS {
        let mut slope = vec![0.0; count];
        for example in examples.iter().filter(|one| has_answer(one)) {
            add_slope(example, &weights, &mut slope);
        }
        for at in 0..count {
            let slope = slope[at] / examples.len() as f64 - DECAY * weights[at];
            mean[at] = 0.9 * mean[at] + 0.1 * slope;
            spread[at] = 0.99 * spread[at] + 0.01 * slope * slope;
            let (rise, size) = (
                mean[at] / (1.0 - 0.9_f64.powi(round as i32)),
                spread[at] / (1.0 - 0.99_f64.powi(round as i32)),
            );
            weights[at] += STEP * rise / (size.sqrt() + 1e-8);
        }
        for (name, most) in HIGHEST {
            let at = search_features().iter().position(|one| *one == name).unwrap();
            weights[at] = weights[at].min(most);
        }
    }
    weights
}

/// Adds what each weight changes of the likelihood that an answer is chosen.
fn add_slope(example: &Example, weights: &[f64], slope: &mut [f64]) {
    let scores: Vec<f64> = example.candidates.iter().map(|(one, _)| dot(one, weights)).collect();
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let odds: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
    let all: f64 = odds.iter().sum();
    let answers: f64 =
        odds.iter().zip(&example.candidates).filter(|(_, one)| one.1).map(|(odds, _)| odds).sum();
    for (odds, (features, is_answer)) in odds.iter().zip(&example.candidates) {
        let pull = if *is_answer { odds / answers } else { 0.0 } - odds / all;
        for (slope, feature) in slope.iter_mut().zip(features) {
            *slope += pull * feature;
        }
    }
}

/// The place of the first answer, from 0.
fn place(example: &Example, weights: &[f64]) -> usize {
    let scores: Vec<f64> = example.candidates.iter().map(|(one, _)| dot(one, weights)).collect();
    let answers = scores.iter().zip(&example.candidates).filter(|(_, one)| one.1);
    let best = answers.map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
    if best == f64::NEG_INFINITY {
        return usize::MAX;
    }
    scores.iter().filter(|score| **score > best).count()
}

fn dot(features: &[f64], weights: &[f64]) -> f64 {
    features.iter().zip(weights).map(|(feature, weight)| feature * weight).sum()
}

/// FNV-1a: the same everywhere.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
