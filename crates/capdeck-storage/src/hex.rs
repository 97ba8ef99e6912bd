//! Bytes and their hashes as lower-case hex, as records, file names and headers have them.

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hex.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    to_hex(Sha256::digest(bytes))
}

/// Bytes in lower-case hex.
pub fn to_hex(bytes: impl AsRef<[u8]>) -> String {
    let digits = bytes.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

/// Exactly `N` bytes from lower-case hex.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |letter: &u8| match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    };
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect::<Option<Vec<_>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_lower_case_hex_and_come_back() {
        assert_eq!(to_hex([0, 0x1f, 0xa0, 0xff]), "001fa0ff");
        assert_eq!(from_hex("001fa0ff"), Some([0, 0x1f, 0xa0, 0xff]));
        assert_eq!(from_hex(""), Some([]));
        for wrong in ["001fa0f", "001fa0ff00", "001FA0FF", "001fa0fß", "+01fa0ff", ""] {
            assert_eq!(from_hex::<4>(wrong), None, "{wrong}");
        }
        assert!(sha256_hex("abc").starts_with("ba7816bf8f01cfea"));
    }
}
