//! Credentials that open nothing: counted by sender and by class, so that guessing is slow and leaves a trace.
//!
//! Tokens that this host generates are looked up by their hash regardless of the count: they cannot be guessed, so the right one
//! of a colleague at the sender's address is never refused. A short admin key can be guessed. While its class backs off, it is
//! not compared at all, because an answer would be an oracle (`docs/design/046-failed-credentials.md`).

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use capdeck_storage::WallClock;
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use strum::IntoStaticStr;

use super::{AdminKey, TokenKind};

/// The longest back-off of the admin key for an address that sent the right one lately. It bounds how long an attacker at the
/// address can keep others there away, and still leaves no more than one guess in a second.
const MAX_WAIT_OF_KNOWN_SOURCE: Duration = Duration::from_secs(1);
/// How long an address counts as one that sent the right admin key.
const KNOWN_SOURCE_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How often the time of an address that sends the right admin key is written down.
const KNOWN_SOURCE_INTERVAL: Duration = Duration::from_secs(3600);
const MAX_KNOWN_SOURCES: usize = 1_000;

/// Failed credentials of every class. One table for everything that accepts a credential.
#[derive(Debug)]
pub struct FailedCredentials {
    clock: WallClock,
    /// Failures of a guessable class that cost nothing.
    free_failures: u32,
    /// Whether the table may hold something. Checked without the lock, so that nothing waits for it while nothing fails.
    has_failures: AtomicBool,
    table: Mutex<FailureTable>,
    /// Where the right admin key came from, when it can be guessed.
    known_sources: RwLock<HashMap<SourceAddress, Timestamp>>,
}

/// One credential, before it is examined.
struct CredentialAttempt {
    source: SourceAddress,
    class: CredentialClass,
    rule: BackoffRule,
    now: Timestamp,
}

/// A credential that opened nothing, or was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedAttempt {
    pub class: CredentialClass,
    /// The seconds to wait, for a sender who is backed off; `None` when the attempt was examined and counted.
    pub retry_after: Option<u64>,
    /// Whether this is the first attempt of a burst, which is recorded.
    pub starts_burst: bool,
}

impl FailedCredentials {
    /// An empty table. `free_failures` of a class that can be guessed cost nothing.
    pub fn new(clock: WallClock, free_failures: u32) -> Self {
        Self {
            clock,
            free_failures,
            has_failures: AtomicBool::new(false),
            table: Mutex::default(),
            known_sources: RwLock::default(),
        }
    }

    /// Checks a text that no lookup recognized against the admin key. A wrong one is counted.
    pub fn check_admin_key(
        &self,
        address: Option<IpAddr>,
        key: Option<&AdminKey>,
        given: &str,
    ) -> Result<(), FailedAttempt> {
        let class = CredentialClass::of(given);
        let Some(key) = key.filter(|key| key.is_guessable()) else {
            let is_right = key.is_some_and(|key| key.is(given));
            return if is_right { Ok(()) } else { Err(self.record(address, class)) };
        };
        if class != CredentialClass::AdminKey {
            // Longer than every key that can be guessed.
            return Err(self.record(address, class));
        }
        let attempt = self.attempt(address, class);
        if !self.has_failures.load(Ordering::Acquire) {
            if !key.is(given) {
                return Err(self.record(address, class));
            }
        } else {
            let mut table = self.table.lock();
            // Compared under the lock: two guesses at the same time are two guesses.
            if !table.is_free(&attempt) || !key.is(given) {
                return Err(table.fail(&attempt));
            }
            self.has_failures.store(!table.entries.is_empty(), Ordering::Release);
        }
        self.remember_source(attempt.source, attempt.now);
        Ok(())
    }

    pub fn record(&self, address: Option<IpAddr>, class: CredentialClass) -> FailedAttempt {
        let attempt = self.attempt(address, class);
        let mut table = self.table.lock();
        let failed = table.fail(&attempt);
        self.has_failures.store(true, Ordering::Release);
        failed
    }

    /// The attempt of a sender who has to wait before anything of this class is looked at.
    pub fn backed_off(
        &self,
        address: Option<IpAddr>,
        class: CredentialClass,
    ) -> Option<FailedAttempt> {
        if !self.has_failures.load(Ordering::Acquire) {
            return None;
        }
        let attempt = self.attempt(address, class);
        let mut table = self.table.lock();
        let is_free = table.is_free(&attempt);
        (!is_free).then(|| table.fail(&attempt))
    }

    fn attempt(&self, address: Option<IpAddr>, class: CredentialClass) -> CredentialAttempt {
        let (source, now) = (SourceAddress::from(address), self.clock.now());
        let mut rule = class.rule(self.free_failures);
        let is_known = class == CredentialClass::AdminKey
            && self.known_sources.read().get(&source).is_some_and(|seen| {
                seen.checked_add(KNOWN_SOURCE_LIFETIME).is_ok_and(|end| now < end)
            });
        if is_known {
            rule.max_wait = MAX_WAIT_OF_KNOWN_SOURCE;
        }
        CredentialAttempt { source, class, rule, now }
    }

    /// Remembers that the right admin key came from there.
    fn remember_source(&self, source: SourceAddress, now: Timestamp) {
        let is_fresh = |seen: &Timestamp| {
            seen.checked_add(KNOWN_SOURCE_INTERVAL).is_ok_and(|end| *seen <= now && now < end)
        };
        if self.known_sources.read().get(&source).is_some_and(is_fresh) {
            return;
        }
        let mut known = self.known_sources.write();
        if known.len() >= MAX_KNOWN_SOURCES && !known.contains_key(&source) {
            let oldest = known.iter().min_by_key(|(_, seen)| **seen).map(|(source, _)| *source);
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        known.insert(source, now);
    }
}

/// What the tokens of shares start with.
const SHARE_PREFIX: &str = "cap_sh_";
/// The longest wait after secrets that can be guessed.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);
/// The longest wait after secrets that cannot. A browser or an agent whose session is over must soon learn that it is.
const MAX_GENERATED_WAIT: Duration = Duration::from_secs(30);
/// Secrets that cannot be guessed may fail this many times as often: an office whose sessions end together is no attack.
const GENERATED_FACTOR: u32 = 4;

/// The class of a credential, by its form. Failures of one class do not slow down another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CredentialClass {
    /// The admin key, and every text without a known form.
    AdminKey,
    AccessToken,
    RefreshToken,
    EnrollmentToken,
    OperatorKey,
    SessionCookie,
    ClientSecret,
    AuthorizationCode,
    ShareToken,
    /// The code that an agent shows to the person who approves it.
    UserCode,
    /// An account at a provider of sign-ins.
    ProviderAccount,
}

impl CredentialClass {
    /// The class of a text that was sent as a credential.
    pub fn of(text: &str) -> Self {
        let kinds = [
            (TokenKind::Access, Self::AccessToken),
            (TokenKind::Refresh, Self::RefreshToken),
            (TokenKind::Enrollment, Self::EnrollmentToken),
            (TokenKind::Operator, Self::OperatorKey),
            (TokenKind::Session, Self::SessionCookie),
            (TokenKind::ClientSecret, Self::ClientSecret),
            (TokenKind::Code, Self::AuthorizationCode),
        ];
        // The whole form counts, not only its start: a short text may be a guess of a short admin key with any start.
        if let Some((_, class)) = kinds.into_iter().find(|(kind, _)| kind.fits(text)) {
            return class;
        }
        let is_share = text.strip_prefix(SHARE_PREFIX).is_some_and(|rest| rest.len() == 43);
        if is_share { Self::ShareToken } else { Self::AdminKey }
    }

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether a secret of this class could be found by trying.
    fn is_guessable(self) -> bool {
        match self {
            Self::AdminKey | Self::UserCode | Self::ProviderAccount => true,
            Self::AccessToken
            | Self::RefreshToken
            | Self::EnrollmentToken
            | Self::OperatorKey
            | Self::SessionCookie
            | Self::ClientSecret
            | Self::AuthorizationCode
            | Self::ShareToken => false,
        }
    }

    /// How failures of this class are held against their sender.
    fn rule(self, free_failures: u32) -> BackoffRule {
        if self.is_guessable() {
            let (max_wait, forget_after) = (MAX_WAIT, 2 * MAX_WAIT);
            return BackoffRule { free_failures, max_wait, forget_after };
        }
        BackoffRule {
            free_failures: free_failures.saturating_mul(GENERATED_FACTOR),
            max_wait: MAX_GENERATED_WAIT,
            forget_after: 2 * MAX_GENERATED_WAIT,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct BackoffRule {
    /// Failures that cost nothing. The wait after the next one is a second, and doubles with each.
    pub(super) free_failures: u32,
    pub(super) max_wait: Duration,
    /// How long a sender has to send nothing of the class until nothing is held against it.
    pub(super) forget_after: Duration,
}

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
pub(super) enum SourceAddress {
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

/// How often credentials failed, by sender and class, in a table of bounded size.
#[derive(Debug, Default)]
struct FailureTable {
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
    /// Whether an attempt would be examined now.
    fn is_free(&mut self, attempt: &CredentialAttempt) -> bool {
        self.sweep(attempt.now);
        let key = self.key(attempt);
        self.entries.get(&key).is_none_or(|count| count.free_at(attempt.rule) <= attempt.now)
    }

    /// Notes an attempt that failed, or that was not examined because the sender has to wait. Those do not make the wait longer.
    fn fail(&mut self, attempt: &CredentialAttempt) -> FailedAttempt {
        let CredentialAttempt { class, rule, now, .. } = *attempt;
        self.sweep(now);
        let key = self.key(attempt);
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
    fn key(&self, attempt: &CredentialAttempt) -> (SourceAddress, CredentialClass) {
        let key = (attempt.source, attempt.class);
        let is_full = self.entries.len() >= MAX_ENTRIES && !self.entries.contains_key(&key);
        if is_full { (SourceAddress::Unknown, attempt.class) } else { key }
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

#[cfg(test)]
mod tests;
