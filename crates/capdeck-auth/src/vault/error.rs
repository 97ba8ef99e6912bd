//! Errors of the vault, and the names of entries and references.

use crate::{KeyError, sealed_folder::SealedError};

pub type VaultResult<T> = Result<T, VaultError>;

/// A failed operation of the vault. No variant contains a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    #[error(
        "`{name}` is not a valid name for a vault entry: use `A` to `Z`, `0` to `9` and `_`, at most 128"
    )]
    BadName { name: String, suggestion: String },
    #[error(
        "`{reference}` is not a valid name for a vault reference: use letters, digits, `_` and `-`"
    )]
    BadReference { reference: String },
    #[error("the value cannot be saved: {reason}")]
    BadValue { reason: &'static str },
    #[error("there is no vault entry `{name}`")]
    Missing { name: String },
    #[error(transparent)]
    Sealed(#[from] SealedError),
}

impl VaultError {
    pub fn hint(&self) -> String {
        match self {
            Self::BadName { suggestion, .. } => format!("call it `{suggestion}`"),
            Self::BadReference { reference } => {
                format!("write it without `{}`", unfit(reference))
            }
            Self::BadValue { .. } => "give the value on stdin, or type it when asked".to_owned(),
            Self::Missing { name } => format!("run: capdeck vault set {name}"),
            Self::Sealed(error) => error.hint(),
        }
    }

    /// Returns whether the key is the problem, rather than encrypted data.
    pub fn is_about_the_key(&self) -> bool {
        matches!(self, Self::Sealed(SealedError::Key(_)))
    }
}

fn unfit(reference: &str) -> char {
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_' || *letter == '-';
    reference.chars().find(|letter| !fits(letter)).unwrap_or(' ')
}

impl From<KeyError> for VaultError {
    fn from(error: KeyError) -> Self {
        Self::Sealed(SealedError::Key(error))
    }
}

const MAX_NAME_LENGTH: usize = 128;

/// An entry has the name of an environment variable: `^[A-Z_][A-Z0-9_]{0,127}$`.
pub(super) fn check_name(name: &str) -> VaultResult<()> {
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
pub(super) fn check_reference(reference: &str) -> VaultResult<()> {
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
