//! How the host answered each kind of misbehaviour.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use serde::{Deserialize, Serialize};

/// What came of the rounds of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KindFigures {
    pub rounds: u64,
    /// Answers that were waited for, and came.
    pub answered: u64,
    /// Answers that came after their deadline and the timeout after it.
    pub late: u64,
    /// Answers that never came, or were not what they should be.
    pub wrong: u64,
    /// Some of the late and wrong ones.
    pub examples: Vec<String>,
    pub p50_ms: u64,
    pub p99_ms: u64,
    pub max_ms: u64,
    #[serde(skip)]
    times: Vec<u32>,
}

/// Collects outcomes from all clients.
#[derive(Debug, Default)]
pub(super) struct SoakTally(Mutex<BTreeMap<&'static str, KindFigures>>);

/// How many examples of wrong answers of one kind are kept.
const EXAMPLES: usize = 3;

impl SoakTally {
    pub(super) fn round(&self, kind: &'static str) {
        self.update(kind, |figures| figures.rounds += 1);
    }

    pub(super) fn answered(&self, kind: &'static str, took: Duration) {
        self.update(kind, |figures| {
            figures.answered += 1;
            figures.times.push(u32::try_from(took.as_millis()).unwrap_or(u32::MAX));
        });
    }

    pub(super) fn late(&self, kind: &'static str, what: &str) {
        self.update(kind, |figures| {
            figures.late += 1;
            figures.note(what);
        });
    }

    pub(super) fn wrong(&self, kind: &'static str, what: &str) {
        self.update(kind, |figures| {
            figures.wrong += 1;
            figures.note(what);
        });
    }

    /// The figures of each kind, with their percentiles.
    pub(super) fn figures(&self) -> BTreeMap<String, KindFigures> {
        let kinds = self.0.lock().unwrap();
        kinds
            .iter()
            .map(|(kind, figures)| ((*kind).to_owned(), figures.clone().summed_up()))
            .collect()
    }

    fn update(&self, kind: &'static str, change: impl FnOnce(&mut KindFigures)) {
        change(self.0.lock().unwrap().entry(kind).or_default());
    }
}

impl KindFigures {
    fn note(&mut self, what: &str) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(what.chars().take(600).collect());
        }
    }

    fn summed_up(mut self) -> Self {
        self.times.sort_unstable();
        let at = |share: usize| {
            let place = (self.times.len() * share / 100).min(self.times.len().saturating_sub(1));
            self.times.get(place).copied().map_or(0, u64::from)
        };
        (self.p50_ms, self.p99_ms, self.max_ms) = (at(50), at(99), at(100));
        self.times.clear();
        self
    }
}
