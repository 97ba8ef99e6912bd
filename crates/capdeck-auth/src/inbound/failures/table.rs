//! How often credentials failed, by sender and class, in a table of bounded size.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use jiff::Timestamp;

use super::{CredentialClass, FailedAttempt, class::BackoffRule};

/// How many senders and classes are remembered.
pub(super) const MAX_ENTRIES: usize = 10_000;
/// An attempt after this long without one starts a burst of its own.
const BURST_GAP: Duration = Duration::from_secs(5 * 60);
/// Longer than any failure matters.
const FAILURE_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// How many bursts are recorded in a minute. A sender with many addresses cannot fill the audit with them.
const MAX_BURSTS_PER_MINUTE: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// One sender by its address. For IPv6 the /64 network, because a sender has all of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) enum SourceAddress {
    Unknown,
    Four(u32),
    Six(u64),
}

impl From<Option<IpAddr>> for SourceAddress {
    fn from(address: Option<IpAddr>) -> Self {
        match address.map(|address| address.to_canonical()) {
            None => Self::Unknown,
            Some(IpAddr::V4(address)) => Self::Four(address.to_bits()),
            Some(IpAddr::V6(address)) => Self::Six((address.to_bits() >> 64) as u64),
        }
    }
}

/// See above.
#[derive(Debug, Default)]
pub(super) struct FailureTable {
    entries: HashMap<(SourceAddress, CredentialClass), FailureCount>,
    /// When entries that are over are removed next.
    next_sweep: Option<Timestamp>,
    /// The minute whose bursts are counted, and how many there were.
    burst_minute: Option<Timestamp>,
    bursts: u32,
}

#[derive(Debug, Clone, Copy)]
struct FailureCount {
    /// Attempts that were examined.
    failures: u32,
    /// The last of them.
    counted_at: Timestamp,
    /// The last attempt of all.
    seen_at: Timestamp,
}

impl FailureCount {
    /// When the next attempt is examined.
    fn free_at(self, rule: BackoffRule) -> Timestamp {
        let wait = match self.failures.checked_sub(rule.free_failures) {
            None => Duration::ZERO,
            Some(more) => Duration::from_secs(1_u64.checked_shl(more.min(30)).unwrap_or(u64::MAX)),
        };
        after(self.counted_at, wait.min(rule.max_wait))
    }
}

impl FailureTable {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether an attempt would be examined now.
    pub(super) fn is_free(
        &mut self,
        source: SourceAddress,
        class: CredentialClass,
        rule: BackoffRule,
        now: Timestamp,
    ) -> bool {
        self.sweep(now);
        let key = self.key(source, class);
        self.entries.get(&key).is_none_or(|count| count.free_at(rule) <= now)
    }

    /// Notes an attempt that failed, or that was not examined because the sender has to wait. Those do not make the wait longer.
    pub(super) fn fail(
        &mut self,
        source: SourceAddress,
        class: CredentialClass,
        rule: BackoffRule,
        now: Timestamp,
    ) -> FailedAttempt {
        self.sweep(now);
        let key = self.key(source, class);
        let found = self.entries.get(&key).copied();
        let is_new = found.is_none_or(|count| after(count.seen_at, BURST_GAP) <= now);
        let mut count =
            found.unwrap_or(FailureCount { failures: 0, counted_at: now, seen_at: now });
        if after(count.seen_at, rule.forget_after) <= now {
            count.failures = 0;
        }
        // A clock that was set back lengthens no wait.
        count.counted_at = count.counted_at.min(now);
        count.seen_at = now;
        let free_at = count.free_at(rule);
        let retry_after = (now < free_at).then(|| whole_seconds(now, free_at));
        if retry_after.is_none() {
            count.failures = count.failures.saturating_add(1);
            count.counted_at = now;
        }
        self.entries.insert(key, count);
        let starts_burst = is_new && self.may_record(now);
        FailedAttempt { class, retry_after, starts_burst }
    }

    /// Where an attempt is counted. When there are more senders than can be remembered, the rest count as one.
    fn key(
        &self,
        source: SourceAddress,
        class: CredentialClass,
    ) -> (SourceAddress, CredentialClass) {
        let key = (source, class);
        let is_full = self.entries.len() >= MAX_ENTRIES && !self.entries.contains_key(&key);
        if is_full { (SourceAddress::Unknown, class) } else { key }
    }

    fn sweep(&mut self, now: Timestamp) {
        let is_due = self.next_sweep.is_none_or(|due| due <= now);
        if !is_due {
            return;
        }
        self.entries.retain(|_, count| now < after(count.seen_at, FAILURE_LIFETIME));
        self.next_sweep = Some(after(now, MINUTE));
    }

    fn may_record(&mut self, now: Timestamp) -> bool {
        if self.burst_minute.is_none_or(|start| now < start || after(start, MINUTE) <= now) {
            (self.burst_minute, self.bursts) = (Some(now), 0);
        }
        self.bursts = self.bursts.saturating_add(1);
        self.bursts <= MAX_BURSTS_PER_MINUTE
    }
}

fn after(time: Timestamp, wait: Duration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// Whole seconds that are surely enough.
fn whole_seconds(now: Timestamp, until: Timestamp) -> u64 {
    let milliseconds = u64::try_from(until.duration_since(now).as_millis()).unwrap_or(0);
    milliseconds.div_ceil(1000).max(1)
}
