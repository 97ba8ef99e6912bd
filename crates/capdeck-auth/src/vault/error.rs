//! Errors of the vault.

use crate::{KeyError, sealed_folder::SealedError};

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
