//! Credentials that open nothing: counted by sender and by class, so that guessing is slow and leaves a trace.
//!
//! Tokens that this host generates are looked up by their hash whatever was counted: they cannot be guessed, so the right one
//! of a colleague at the sender's address is never refused. A short admin key can be guessed. While its class backs off, it is
//! not compared at all, because an answer would be an oracle (`docs/design/046-failed-credentials.md`).

mod class;
mod table;

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};

pub use self::class::CredentialClass;
pub(super) use self::table::SourceAddress;
use self::{class::BackoffRule, table::FailureTable};
use super::{AdminKey, RegistryClock};

/// The longest back-off of the admin key for an address that sent the right one lately. It bounds how long an attacker at the
/// address can keep others there away, and still leaves no more than one guess in a second.
const MAX_WAIT_OF_KNOWN_SOURCE: Duration = Duration::from_secs(1);
/// How long an address counts as one that sent the right admin key.
const KNOWN_SOURCE_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How often the time of an address that sends the right admin key is written down.
const KNOWN_SOURCE_INTERVAL: Duration = Duration::from_secs(3600);
/// How many addresses that sent the right admin key are remembered.
const MAX_KNOWN_SOURCES: usize = 1_000;

/// Failed credentials of every class. One table for everything that accepts a credential.
#[derive(Debug)]
pub struct FailedCredentials {
    clock: RegistryClock,
    /// Failures of a guessable class that cost nothing.
    free_failures: u32,
    /// Whether the table may hold something. Checked without the lock, so that nothing waits for it while nothing fails.
    has_failures: AtomicBool,
    table: Mutex<FailureTable>,
    /// Where the right admin key came from, when it can be guessed.
    known_sources: RwLock<HashMap<SourceAddress, Timestamp>>,
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
    pub fn new(clock: RegistryClock, free_failures: u32) -> Self {
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
        let (source, now) = (SourceAddress::from(address), self.clock.now());
        if !self.has_failures.load(Ordering::Acquire) {
            if !key.is(given) {
                return Err(self.record(address, class));
            }
        } else {
            let rule = self.rule(source, class, now);
            let mut table = self.table.lock();
            // Compared under the lock: two guesses at the same time are two guesses.
            if !table.is_free(source, class, rule, now) || !key.is(given) {
                return Err(table.fail(source, class, rule, now));
            }
            self.has_failures.store(!table.is_empty(), Ordering::Release);
        }
        self.remember_source(source, now);
        Ok(())
    }

    /// Counts a credential that opened nothing.
    pub fn record(&self, address: Option<IpAddr>, class: CredentialClass) -> FailedAttempt {
        let (source, now) = (SourceAddress::from(address), self.clock.now());
        let rule = self.rule(source, class, now);
        let mut table = self.table.lock();
        let attempt = table.fail(source, class, rule, now);
        self.has_failures.store(true, Ordering::Release);
        attempt
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
        let (source, now) = (SourceAddress::from(address), self.clock.now());
        let rule = self.rule(source, class, now);
        let mut table = self.table.lock();
        let is_free = table.is_free(source, class, rule, now);
        (!is_free).then(|| table.fail(source, class, rule, now))
    }

    fn rule(&self, source: SourceAddress, class: CredentialClass, now: Timestamp) -> BackoffRule {
        let mut rule = class.rule(self.free_failures);
        let is_known = class == CredentialClass::AdminKey
            && self.known_sources.read().get(&source).is_some_and(|seen| {
                seen.checked_add(KNOWN_SOURCE_LIFETIME).is_ok_and(|end| now < end)
            });
        if is_known {
            rule.max_wait = MAX_WAIT_OF_KNOWN_SOURCE;
        }
        rule
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

#[cfg(test)]
mod tests;
