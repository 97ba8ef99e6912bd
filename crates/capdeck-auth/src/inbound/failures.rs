//! Failed sign-ins, by where they came from.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::RegistryError;

/// Failures that cost nothing.
const FREE: u32 = 5;
/// The longest that somebody has to wait.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// How many sources are remembered.
const MOST: usize = 10_000;

/// How often sign-ins failed, from where.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<HashMap<Source, Failed>>);

/// One machine, as far as addresses tell: of IPv6 one network, since everybody there has plenty of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Unknown,
    Four(u32),
    Six(u64),
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    times: u32,
    last: Timestamp,
}

impl From<Option<IpAddr>> for Source {
    fn from(address: Option<IpAddr>) -> Self {
        match address.map(|address| address.to_canonical()) {
            None => Self::Unknown,
            Some(IpAddr::V4(address)) => Self::Four(address.to_bits()),
            Some(IpAddr::V6(address)) => Self::Six((address.to_bits() >> 64) as u64),
        }
    }
}

impl Failed {
    /// When the next attempt is looked at.
    fn free_at(self) -> Timestamp {
        let wait = match self.times.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(more) => Duration::from_secs(1_u64.checked_shl(more.min(30)).unwrap_or(u64::MAX)),
        };
        self.last.checked_add(wait.min(LONGEST)).unwrap_or(Timestamp::MAX)
    }
}

impl Failures {
    /// Refuses somebody who has to wait.
    pub(super) fn check(
        &self,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<(), RegistryError> {
        let free_at = self.0.lock().get(&address.into()).map(|failed| failed.free_at());
        match free_at.filter(|free_at| now < *free_at) {
            Some(free_at) => Err(RegistryError::too_soon(free_at, now)),
            None => Ok(()),
        }
    }

    /// Notes a failure.
    pub(super) fn note(&self, address: Option<IpAddr>, now: Timestamp) {
        let mut failures = self.0.lock();
        if failures.len() >= MOST {
            failures.retain(|_, failed| now < failed.free_at());
        }
        // When there are more sources than can be remembered, the rest count as one.
        let source = Source::from(address);
        let source = if failures.len() >= MOST && !failures.contains_key(&source) {
            Source::Unknown
        } else {
            source
        };
        let failed = failures.entry(source).or_insert(Failed { times: 0, last: now });
        // Somebody who stayed away for long begins anew.
        if failed.last.checked_add(2 * LONGEST).is_ok_and(|end| end < now) {
            failed.times = 0;
        }
        *failed = Failed { times: failed.times.saturating_add(1), last: now };
    }

    /// Forgets the failures of somebody who signed in.
    pub(super) fn forget(&self, address: Option<IpAddr>) {
        self.0.lock().remove(&address.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn waits_grow_after_the_fifth_failure_and_only_for_their_source() {
        let failures = Failures::default();
        let here: Option<IpAddr> = Some("192.0.2.1".parse().unwrap());
        let there: Option<IpAddr> = Some("192.0.2.2".parse().unwrap());
        for _ in 0..4 {
            failures.note(here, at(100));
            assert_eq!(failures.check(here, at(100)), Ok(()));
        }
        let mut waits = Vec::new();
        for _ in 0..14 {
            failures.note(here, at(100));
            waits.push(match failures.check(here, at(100)) {
                Err(RegistryError::TooSoon { seconds }) => seconds,
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]);
        assert_eq!(failures.check(here, at(1000)), Ok(()));
        assert_eq!(failures.check(there, at(100)), Ok(()));
        failures.forget(here);
        assert_eq!(failures.check(here, at(100)), Ok(()));
    }

    #[test]
    fn addresses_of_one_network_are_one_source() {
        let source = |text: &str| Source::from(Some(text.parse::<IpAddr>().unwrap()));
        assert_eq!(source("2001:db8::1"), source("2001:db8::2:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
    }

    #[test]
    fn memory_is_bounded() {
        let failures = Failures::default();
        for number in 0..(MOST as u32 + 50) {
            let address = IpAddr::from(number.to_be_bytes());
            (0..6).for_each(|_| failures.note(Some(address), at(5)));
        }
        assert!(failures.0.lock().len() <= MOST + 1);
    }
}
