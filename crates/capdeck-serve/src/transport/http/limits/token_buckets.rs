//! Token buckets, one for each key, in a table that nobody can make large.

use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// How many keys are remembered. Beyond that the buckets that are full again are forgotten, then the least used.
const MAX_KEYS: usize = 16 * 1024;

/// A rate, and how much of it may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketRate {
    /// How many requests a minute in the long run.
    pub per_minute: u32,
    /// How many may come at once.
    pub burst: u32,
}

/// What is left after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateAllowance {
    /// How many may come at once at most.
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// Until everything may come at once again.
    pub(crate) reset: Duration,
    /// How long to wait; `None` when the request is allowed.
    pub(crate) retry_after: Option<Duration>,
}

/// Buckets of one rate.
#[derive(Debug)]
pub(crate) struct TokenBuckets<K> {
    rate: BucketRate,
    /// When each bucket is full again. One number says it all: a request moves it by the time that it costs.
    full_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash + Clone> TokenBuckets<K> {
    pub(crate) fn new(rate: BucketRate) -> Self {
        Self { rate, full_at: Mutex::default() }
    }

    /// Takes one request out of a bucket, if there is one in it.
    pub(crate) fn try_take(&self, key: &K, now: Instant) -> RateAllowance {
        let cost = Duration::from_secs(60) / self.rate.per_minute.max(1);
        let whole = cost * self.rate.burst.max(1);
        let mut table = self.full_at.lock();
        let before = table.get(key).copied().map_or(now, |full_at| full_at.max(now));
        let after = before + cost;
        let owed = after.duration_since(now);
        if owed > whole {
            let reset = before.duration_since(now);
            let retry_after = Some(owed - whole);
            return RateAllowance {
                limit: self.rate.burst.max(1),
                remaining: 0,
                reset,
                retry_after,
            };
        }
        if table.len() >= MAX_KEYS && !table.contains_key(key) {
            make_room(&mut table, now);
        }
        table.insert(key.clone(), after);
        let left = (whole - owed).as_nanos() / cost.as_nanos().max(1);
        let remaining = u32::try_from(left).unwrap_or(u32::MAX);
        RateAllowance { limit: self.rate.burst.max(1), remaining, reset: owed, retry_after: None }
    }
}

/// Forgets who has asked for nothing lately; when everyone has, whoever owes least.
fn make_room<K: Eq + Hash + Clone>(table: &mut HashMap<K, Instant>, now: Instant) {
    table.retain(|_, full_at| *full_at > now);
    if table.len() < MAX_KEYS {
        return;
    }
    let mut owed: Vec<Instant> = table.values().copied().collect();
    let (_, middle, _) = owed.select_nth_unstable(MAX_KEYS / 2);
    let middle = *middle;
    table.retain(|_, full_at| *full_at > middle);
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BucketRate = BucketRate { per_minute: 60, burst: 3 };

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let (buckets, start) = (TokenBuckets::new(RATE), Instant::now());
        let left: Vec<u32> = (0..3).map(|_| buckets.try_take(&"a", start).remaining).collect();
        assert_eq!(left, [2, 1, 0]);
        let refused = buckets.try_take(&"a", start);
        assert_eq!(refused.retry_after, Some(Duration::from_secs(1)));
        assert_eq!(buckets.try_take(&"b", start).retry_after, None, "others are not affected");
        let soon = start + Duration::from_millis(999);
        assert_eq!(buckets.try_take(&"a", soon).retry_after, Some(Duration::from_millis(1)));
        assert_eq!(buckets.try_take(&"a", start + Duration::from_secs(1)).retry_after, None);
        let late = start + Duration::from_secs(3600);
        assert_eq!(buckets.try_take(&"a", late).remaining, 2, "no more than a burst is saved up");
    }

    #[test]
    fn the_table_stays_small() {
        let (buckets, start) = (TokenBuckets::new(RATE), Instant::now());
        for key in 0..3 * MAX_KEYS {
            assert_eq!(buckets.try_take(&key, start).retry_after, None);
        }
        assert!(buckets.full_at.lock().len() <= MAX_KEYS);
    }
}
