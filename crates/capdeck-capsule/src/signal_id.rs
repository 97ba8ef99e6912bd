//! Ids that grow: 48 bits of time, 80 random ones, in an alphabet that sorts.

use jiff::Timestamp;

const ALPHABET: [char; 32] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'j',
    'k', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'y', 'z',
];
const PREFIX: &str = "sig_";
const LENGTH: usize = 26;

/// The id after `last`. Ids grow even when the clock stops or goes back.
pub(crate) fn next_id(last: Option<&str>, now: Timestamp) -> String {
    let time =
        u128::from(u64::try_from(now.as_millisecond()).unwrap_or_default() & 0xffff_ffff_ffff);
    let fresh = time << 80 | random();
    let value = match last.and_then(read) {
        Some(last) if last >= fresh => last + 1 + (random() >> 48),
        Some(_) | None => fresh,
    };
    let digit = |place: usize| {
        let shift = 5 * (LENGTH - 1 - place);
        ALPHABET.get((value >> shift) as usize & 31).copied().unwrap_or_default()
    };
    PREFIX.chars().chain((0..LENGTH).map(digit)).collect()
}

pub(crate) fn is_id(text: &str) -> bool {
    read(text).is_some()
}

pub(crate) fn time_of(id: &str) -> Option<Timestamp> {
    let milliseconds = i64::try_from(read(id)? >> 80).ok()?;
    Timestamp::from_millisecond(milliseconds).ok()
}

fn read(id: &str) -> Option<u128> {
    let digits = id.strip_prefix(PREFIX).filter(|digits| digits.len() == LENGTH)?;
    digits.chars().try_fold(0_u128, |value, letter| {
        let digit = ALPHABET.iter().position(|known| *known == letter)?;
        value.checked_mul(32)?.checked_add(digit as u128)
    })
}

fn random() -> u128 {
    let mut bytes = [0_u8; 16];
    // Without randomness ids still grow, which is all that anything relies on.
    let _ = getrandom::fill(&mut bytes);
    u128::from_le_bytes(bytes) >> 48
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_whatever_the_clock_does() {
        let times = [
            "2026-04-21T10:00:00Z",
            "2026-04-21T10:00:00Z",
            "2020-01-01T00:00:00Z",
            "2026-04-22T00:00:00Z",
        ];
        let mut last: Option<String> = None;
        for time in times {
            let next = next_id(last.as_deref(), time.parse().unwrap());
            assert!(is_id(&next), "{next}");
            assert!(last.is_none_or(|last| last < next));
            last = Some(next);
        }
        assert_eq!(time_of(&last.unwrap()).unwrap().to_string(), "2026-04-22T00:00:00Z");
        assert!(!is_id("sig_x") && !is_id("") && !is_id("sig_uuuuuuuuuuuuuuuuuuuuuuuuuu"));
    }
}
