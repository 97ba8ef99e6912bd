//! Secrets that are handed out once and kept as a hash.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_storage::{from_hex, to_hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use super::{RegistryError, RegistryResult};
use crate::Secret;

/// What a secret is for. The start of a secret says it, so that scanners for leaks can tell them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Access,
    Refresh,
    Enrollment,
    /// The key of an operator.
    Operator,
    /// The session of an operator.
    Session,
    /// The secret of a client that can keep one.
    ClientSecret,
    Code,
}

impl TokenKind {
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Access => "cap_at_",
            Self::Refresh => "cap_rt_",
            Self::Enrollment => "cap_en_",
            Self::Operator => "cap_op_",
            Self::Session => "cap_se_",
            Self::ClientSecret => "cap_cs_",
            Self::Code => "cap_co_",
        }
    }

    /// Whether a text can be a secret of this kind, before anything is hashed or looked up.
    pub(super) fn fits(self, text: &str) -> bool {
        text.strip_prefix(self.prefix()).is_some_and(|rest| rest.len() == 43)
    }

    pub(super) fn create(self) -> RegistryResult<Secret> {
        Ok(self.written(&random::<32>()?))
    }

    pub(super) fn written(self, bytes: &[u8; 32]) -> Secret {
        Secret::new(format!("{}{}", self.prefix(), URL_SAFE_NO_PAD.encode(bytes)))
    }

    pub(super) fn bytes(self, text: &str) -> Option<[u8; 32]> {
        let decoded = URL_SAFE_NO_PAD.decode(text.strip_prefix(self.prefix())?).ok()?;
        decoded.try_into().ok()
    }
}

/// The SHA-256 of a secret: all that is kept of it. The secrets are random and long, so a fast hash is enough.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(super) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// The hash of a part of a secret.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Compares in constant time.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hash]")
    }
}

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(self.0))
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = from_hex(&text);
        bytes.map(Self).ok_or_else(|| D::Error::custom("a hash has 64 hexadecimal digits"))
    }
}

/// A new id: what it is the id of, and 80 random bits.
pub(super) fn new_id(prefix: &str) -> RegistryResult<String> {
    Ok(format!("{prefix}{}", to_hex(random::<10>()?)))
}

pub(super) fn random<const BYTES: usize>() -> RegistryResult<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|_| RegistryError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_have_their_form_and_differ() {
        for kind in [TokenKind::Access, TokenKind::Refresh, TokenKind::Enrollment, TokenKind::Code]
        {
            let (one, two) = (kind.create().unwrap(), kind.create().unwrap());
            assert!(kind.fits(one.expose()));
            assert_ne!(one, two);
            assert_eq!(kind.written(&kind.bytes(one.expose()).unwrap()), one);
        }
        assert!(!TokenKind::Access.fits(TokenKind::Refresh.create().unwrap().expose()));
        for wrong in ["", "cap_at_", "cap_at_abc", "cap_at_äääääääääääääääääääääääääääääääääää"]
        {
            assert!(!TokenKind::Access.fits(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_hash_is_kept_as_hexadecimal_digits_and_shows_nothing() {
        let hash = TokenHash::of("cap_at_canary");
        let text = serde_json::to_string(&hash).unwrap();
        assert_eq!(text.len(), 66);
        assert!(serde_json::from_str::<TokenHash>(&text).unwrap().is(&hash));
        assert_eq!(format!("{hash:?}"), "[hash]");
        for wrong in ["\"\"", "\"zz\"", "7", "\"é\""] {
            assert!(serde_json::from_str::<TokenHash>(wrong).is_err(), "{wrong}");
        }
    }
}
