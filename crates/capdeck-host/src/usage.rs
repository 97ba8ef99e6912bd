//! How often and how recently each capability was used; the most used are named first.
//!
//! Each use counts half after a week. The sum is stored as its logarithm at a fixed moment, so the
//! order of two capabilities changes only when one of them is used.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_definition::CapabilityId;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::durable;

const HALF_LIFE: f64 = 7.0 * 24.0 * 3600.0;

const WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// The weight of each capability that was ever used; larger means used more.
pub type CapabilityRelevance = BTreeMap<CapabilityId, f64>;

pub(crate) struct CapabilityUsage {
    path: Arc<PathBuf>,
    /// Read when the host was opened. Lists use this, so that they remain the same while it runs.
    at_start: Arc<CapabilityRelevance>,
    since: Mutex<UnsavedUsage>,
}

struct UnsavedUsage {
    unsaved: CapabilityRelevance,
    saved_at: Instant,
}

impl CapabilityUsage {
    pub(crate) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("usage.json");
        let at_start = durable::load_json(&path).unwrap_or_else(|error| {
            tracing::debug!(%error, "the recorded usage could not be read");
            CapabilityRelevance::new()
        });
        let since = UnsavedUsage { unsaved: CapabilityRelevance::new(), saved_at: Instant::now() };
        Self { path: Arc::new(path), at_start: Arc::new(at_start), since: Mutex::new(since) }
    }

    pub(crate) fn relevance(&self) -> &CapabilityRelevance {
        &self.at_start
    }

    pub(crate) fn note(&self, id: &CapabilityId) {
        let now = moment(Timestamp::now());
        let mut since = self.since.lock();
        match since.unsaved.get_mut(id) {
            Some(weight) => *weight = sum(*weight, now),
            None => drop(since.unsaved.insert(id.clone(), now)),
        }
        if since.saved_at.elapsed() < WRITE_INTERVAL {
            return;
        }
        since.saved_at = Instant::now();
        let unsaved = std::mem::take(&mut since.unsaved);
        drop(since);
        let path = self.path.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || add(&path, unsaved))),
            Err(_) => add(&path, unsaved),
        }
    }

    pub(crate) fn save(&self) {
        let unsaved = std::mem::take(&mut self.since.lock().unsaved);
        if !unsaved.is_empty() {
            add(&self.path, unsaved);
        }
    }
}

/// The weight of one use at this moment, in half-lives.
#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit a double")]
fn moment(at: Timestamp) -> f64 {
    at.as_second() as f64 / HALF_LIFE
}

/// `log2(2^a + 2^b)` within the range of doubles.
fn sum(a: f64, b: f64) -> f64 {
    let (less, more) = if a < b { (a, b) } else { (b, a) };
    more + (less - more).exp2().ln_1p() / std::f64::consts::LN_2
}

fn add(path: &Path, uses: CapabilityRelevance) {
    let outcome = durable::update_json(path, |known: &mut CapabilityRelevance| {
        for (id, weight) in uses {
            let known = known.entry(id).or_insert(f64::MIN);
            *known = sum(*known, weight);
        }
    });
    if let Err(error) = outcome {
        tracing::debug!(%error, "the usage could not be saved");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> CapabilityId {
        CapabilityId::new(text).unwrap()
    }

    #[test]
    fn often_and_lately_outweigh_once_and_long_ago() {
        let week = |number: f64| number;
        let often = (0..4).map(|_| week(1.0)).reduce(sum).unwrap();
        assert!(often > week(2.0), "four uses a week ago against one today");
        assert!(week(2.0) > week(1.0), "today against a week ago");
        assert!((sum(3.0, 3.0) - 4.0).abs() < 1e-9, "two of the same are twice as much");
        assert!((sum(f64::MIN, 3.0) - 3.0).abs() < 1e-9, "nothing adds nothing");
    }

    #[test]
    fn uses_of_two_processes_are_both_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) =
            (CapabilityUsage::open(folder.path()), CapabilityUsage::open(folder.path()));
        first.note(&id("a"));
        second.note(&id("a"));
        second.note(&id("b"));
        first.save();
        second.save();
        let after = CapabilityUsage::open(folder.path());
        let weight = |name: &str| after.relevance().get(&id(name)).copied().unwrap();
        assert!(weight("a") > weight("b"), "{:?}", after.relevance());
        assert!(first.relevance().is_empty(), "a running host goes on with what it began with");
    }
}
