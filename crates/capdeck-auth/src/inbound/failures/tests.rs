use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use super::*;
use crate::Secret;

const SHORT_KEY: &str = "open-sesame-0123456789";
const LONG_KEY: &str = "a-key-that-is-as-long-as-generated-ones-0123456789";

struct Fixture {
    failures: FailedCredentials,
    time: Arc<AtomicI64>,
}

fn fixture() -> Fixture {
    let time = Arc::new(AtomicI64::new(1_800_000_000));
    let clock = {
        let time = Arc::clone(&time);
        WallClock::from_fn(move || Timestamp::from_second(time.load(Ordering::Relaxed)).unwrap())
    };
    Fixture { failures: FailedCredentials::new(clock, 5), time }
}

impl Fixture {
    fn pass(&self, seconds: i64) {
        self.time.fetch_add(seconds, Ordering::Relaxed);
    }

    fn guess(&self, address: &str, key: &AdminKey, given: &str) -> Result<(), Option<u64>> {
        let address = Some(address.parse().unwrap());
        let checked = self.failures.check_admin_key(address, Some(key), given);
        checked.map_err(|attempt| attempt.retry_after)
    }
}

fn key(text: &str) -> AdminKey {
    AdminKey::new(Secret::new(text)).unwrap()
}

#[test]
fn a_short_key_is_not_compared_while_its_sender_waits() {
    let (fixture, key) = (fixture(), key(SHORT_KEY));
    for _ in 0..5 {
        assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(None));
    }
    assert_eq!(fixture.guess("192.0.2.1", &key, SHORT_KEY), Err(Some(1)), "no oracle");
    assert_eq!(fixture.guess("192.0.2.2", &key, SHORT_KEY), Ok(()), "another address");
    fixture.pass(1);
    let mut waits = Vec::new();
    for _ in 0..12 {
        assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(None));
        let Err(Some(wait)) = fixture.guess("192.0.2.1", &key, SHORT_KEY) else { panic!() };
        waits.push(wait);
        fixture.pass(i64::try_from(wait).unwrap());
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
    assert_eq!(fixture.guess("192.0.2.1", &key, SHORT_KEY), Ok(()));
}

#[test]
fn the_right_key_gives_no_further_free_guesses() {
    let (fixture, key) = (fixture(), key(SHORT_KEY));
    for _ in 0..5 {
        assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(None));
    }
    fixture.pass(1);
    assert_eq!(fixture.guess("192.0.2.1", &key, SHORT_KEY), Ok(()));
    assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(None));
    assert!(matches!(fixture.guess("192.0.2.1", &key, "wrong"), Err(Some(_))));
}

#[test]
fn an_address_that_had_the_right_key_waits_for_a_second_at_most() {
    let (fixture, key) = (fixture(), key(SHORT_KEY));
    assert_eq!(fixture.guess("192.0.2.1", &key, SHORT_KEY), Ok(()));
    for _ in 0..5 {
        assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(None));
    }
    for _ in 0..20 {
        assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(Some(1)));
        fixture.pass(1);
        assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(None), "one guess in a second");
    }
    fixture.pass(1);
    assert_eq!(fixture.guess("192.0.2.1", &key, SHORT_KEY), Ok(()));
}

#[test]
fn a_long_key_is_always_compared() {
    let (fixture, key) = (fixture(), key(LONG_KEY));
    for _ in 0..50 {
        assert!(fixture.guess("192.0.2.1", &key, "wrong").is_err());
        assert_eq!(fixture.guess("192.0.2.1", &key, LONG_KEY), Ok(()));
    }
    assert_eq!(fixture.guess("192.0.2.1", &key, "wrong"), Err(Some(1)));
}

#[test]
fn classes_do_not_affect_each_other_and_generated_ones_may_fail_more_often() {
    let fixture = fixture();
    let address: Option<IpAddr> = Some("192.0.2.1".parse().unwrap());
    for _ in 0..20 {
        let attempt = fixture.failures.record(address, CredentialClass::AccessToken);
        assert_eq!(attempt.retry_after, None);
    }
    let attempt = fixture.failures.record(address, CredentialClass::AccessToken);
    assert_eq!(attempt.retry_after, Some(1));
    assert_eq!(fixture.failures.record(address, CredentialClass::ShareToken).retry_after, None);
    fixture.pass(60);
    for _ in 0..20 {
        let attempt = fixture.failures.record(address, CredentialClass::AccessToken);
        assert_eq!(attempt.retry_after, None, "forgotten after a minute");
    }
    assert_eq!(fixture.guess("192.0.2.1", &key(SHORT_KEY), SHORT_KEY), Ok(()));
}

#[test]
fn a_burst_is_reported_once_and_many_senders_cannot_fill_the_audit() {
    let fixture = fixture();
    let record =
        |address: IpAddr| fixture.failures.record(Some(address), CredentialClass::AdminKey);
    let here: IpAddr = "192.0.2.1".parse().unwrap();
    let bursts = (0..5_000).filter(|_| record(here).starts_burst).count();
    assert_eq!(bursts, 1);
    fixture.pass(299);
    assert!(!record(here).starts_burst, "attempts go on, and so does the burst");
    fixture.pass(300);
    assert!(record(here).starts_burst);
    fixture.pass(60);
    let many = (0..1_000_u32).filter(|n| record(n.to_be_bytes().into()).starts_burst).count();
    assert_eq!(many, 60);
}

#[test]
fn memory_is_bounded_and_given_back() {
    let fixture = fixture();
    for number in 0..(MAX_ENTRIES as u32 + 50) {
        fixture.failures.record(Some(number.to_be_bytes().into()), CredentialClass::AdminKey);
    }
    assert!(fixture.failures.table.lock().entries.len() <= MAX_ENTRIES + 1);
    fixture.pass(2 * 15 * 60);
    assert_eq!(fixture.guess("192.0.2.1", &key(SHORT_KEY), SHORT_KEY), Ok(()));
    assert!(!fixture.failures.has_failures.load(Ordering::Acquire), "the lock is not taken again");
}

#[test]
fn addresses_of_one_network_are_one_source() {
    let source = |text: &str| SourceAddress::from(Some(text.parse::<IpAddr>().unwrap()));
    assert_eq!(source("2001:db8::1"), source("2001:db8::2:1"));
    assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
}

#[test]
fn a_class_is_reported_by_the_whole_form() {
    let rest = "x".repeat(43);
    for (text, class) in [
        (format!("cap_at_{rest}"), CredentialClass::AccessToken),
        (format!("cap_sh_{rest}"), CredentialClass::ShareToken),
        (format!("cap_op_{rest}"), CredentialClass::OperatorKey),
        (format!("cap_ad_{rest}"), CredentialClass::AdminKey),
        ("cap_at_0123456789".to_owned(), CredentialClass::AdminKey),
        (String::new(), CredentialClass::AdminKey),
    ] {
        assert_eq!(CredentialClass::of(&text), class, "{text}");
    }
}
