//! Names of vault entries and references.

use super::VaultError;

const MAX_NAME_LENGTH: usize = 128;

/// An entry has the name of an environment variable: `^[A-Z_][A-Z0-9_]{0,127}$`.
pub(super) fn check_name(name: &str) -> Result<(), VaultError> {
    let starts = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    let letters =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if starts && letters && name.len() <= MAX_NAME_LENGTH {
        Ok(())
    } else {
        Err(VaultError::BadName { name: name.to_owned(), suggestion: suggestion(name) })
    }
}

/// A reference has the characters that interpolation accepts: letters, digits, `_` and `-`.
pub(super) fn check_reference(reference: &str) -> Result<(), VaultError> {
    let letters =
        reference.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if letters && (1..=MAX_NAME_LENGTH).contains(&reference.len()) {
        Ok(())
    } else {
        Err(VaultError::BadReference { reference: reference.to_owned() })
    }
}

pub(super) fn suggestion(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut upper: String =
        name.chars().take(MAX_NAME_LENGTH - 1).map(letter).collect::<String>().to_ascii_uppercase();
    if upper.is_empty() || upper.starts_with(|first: char| first.is_ascii_digit()) {
        upper.insert(0, '_');
    }
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_called_like_variables() {
        for name in ["A", "_", "GH_TOKEN", "_9", &"A".repeat(128)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for (name, nearest) in [
            ("", "_"),
            ("gh_token", "GH_TOKEN"),
            ("9A", "_9A"),
            ("GH-TOKEN", "GH_TOKEN"),
            ("a/../b", "A____B"),
            ("É", "_"),
            (&"A".repeat(129), &"A".repeat(127)),
        ] {
            let Err(VaultError::BadName { suggestion, .. }) = check_name(name) else {
                panic!("{name} is taken")
            };
            assert_eq!(suggestion, nearest);
            assert_eq!(check_name(&suggestion), Ok(()));
        }
    }

    #[test]
    fn references_are_called_what_interpolation_takes() {
        for reference in ["A", "my-key", "9"] {
            assert_eq!(check_reference(reference), Ok(()), "{reference}");
        }
        for reference in ["", "a b", "a.b", "é", &"a".repeat(129)] {
            assert!(check_reference(reference).is_err(), "{reference}");
        }
    }
}
