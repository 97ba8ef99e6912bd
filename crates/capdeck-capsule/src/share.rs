//! Local shares: a role on a part of a capsule for whoever holds a token.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::{Access, RegistryError, digest::sha256_hex, trust::one_line};

/// What tokens start with, so that scanners for leaked secrets can tell them.
const PREFIX: &str = "cap_sh_";
/// The start of a token that is kept to tell shares apart.
const HINT: usize = 4;
const LONGEST_NAME: usize = 100;

/// An access that a token opens, as it is kept in `shares.json`: without the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub id: String,
    /// The id of the capsule.
    pub capsule: String,
    /// What it is for.
    pub name: String,
    #[serde(flatten)]
    pub access: Access,
    /// The principal of everyone who comes with it.
    pub principal: String,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The first letters of the token.
    pub hint: String,
    token_sha256: String,
}

/// A share to be made.
#[derive(Debug, Clone)]
pub struct NewShare {
    pub name: String,
    pub access: Access,
    pub expires_at: Option<Timestamp>,
}

/// The secret of a share. It is shown once, when the share is made, and never kept.
#[derive(Clone)]
pub struct ShareToken(String);

impl ShareToken {
    /// The token itself, to be shown to the one who asked for it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ShareToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl Share {
    /// A new share and its token.
    pub(crate) fn create(
        capsule: &str,
        new: NewShare,
        now: Timestamp,
    ) -> Result<(Self, ShareToken), RegistryError> {
        if new.name.is_empty()
            || new.name.chars().count() > LONGEST_NAME
            || one_line(&new.name) != new.name
        {
            let reason = format!("1 to {LONGEST_NAME} characters on one line");
            return Err(RegistryError::InvalidInput { what: "name", reason });
        }
        let mut random = [0_u8; 44];
        getrandom::fill(&mut random)
            .map_err(|error| RegistryError::io("make a token")(std::io::Error::other(error)))?;
        let (secret, id) = random.split_at(32);
        let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(secret));
        let id = crate::digest::hex(id).chars().take(12).collect::<String>();
        let share = Self {
            principal: format!("prn_share_{id}"),
            id: format!("shr_{id}"),
            capsule: capsule.to_owned(),
            name: new.name,
            access: new.access,
            created_at: now,
            expires_at: new.expires_at,
            hint: token.chars().take(PREFIX.len() + HINT).collect(),
            token_sha256: sha256_hex(token.as_bytes()),
        };
        Ok((share, ShareToken(token)))
    }

    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires| now < expires)
    }
}

/// The share that a token opens. Every share is compared, each in the same time.
pub(crate) fn opened_by<'a>(shares: &'a [Share], token: &str, now: Timestamp) -> Option<&'a Share> {
    let hash = sha256_hex(token.as_bytes());
    let mut found = None;
    for share in shares {
        let is_same: bool = share.token_sha256.as_bytes().ct_eq(hash.as_bytes()).into();
        if is_same {
            found = Some(share);
        }
    }
    found.filter(|share| token.starts_with(PREFIX) && share.is_live(now))
}
