//! Local shares: a role on a part of a capsule for the holder of a token.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_storage::sha256_hex;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use subtle::ConstantTimeEq as _;

use crate::{
    CapsuleAccess, CapsuleAuthor, CapsuleInfo, EntryScope, StoreError, StoreResult,
    service::AddShareRequest, trust::is_line,
};

/// What tokens start with, so that scanners for leaked secrets recognise them.
const PREFIX: &str = "cap_sh_";
/// The start of a token that is shown to distinguish shares.
const TOKEN_HINT_LENGTH: usize = 4;
const MAX_NAME: usize = 100;
/// How long a share lasts when its maker names no end.
const DEFAULT_LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);

/// An access that a token opens.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    pub id: String,
    /// The id of the capsule, which a later capsule may have again.
    pub capsule: String,
    /// The uid of the capsule. Only version 0.1 wrote none.
    pub capsule_uid: Option<String>,
    /// What it is for.
    pub name: String,
    #[serde(flatten)]
    pub access: CapsuleAccess,
    /// The principal of everyone who comes with it.
    pub principal: String,
    pub created_at: Timestamp,
    /// Who made it, for people. Only version 0.1 wrote none.
    pub created_by: Option<String>,
    /// The operator who made it; none for the owner of this machine.
    pub created_by_principal: Option<String>,
    /// None: it lasts until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// When its token was last used, as far as that was written down.
    pub last_used_at: Option<Timestamp>,
    /// The first letters of the token.
    pub hint: String,
}

/// A share with the hash of its token, as `shares.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShareRecord {
    #[serde(flatten)]
    pub(crate) share: Share,
    token_sha256: String,
}

/// When a share ends, as its maker says it: a time, `never`, or nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum ShareExpiry {
    /// After 90 days.
    #[default]
    Default,
    /// When it is revoked.
    Never,
    At(Timestamp),
}

/// A text does not say when a share ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the end of a share is a time such as `2030-01-31T00:00:00Z`, or `never`")]
pub struct ShareExpiryError;

impl ShareExpiry {
    fn end(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Default => Some(now.checked_add(DEFAULT_LIFETIME).unwrap_or(Timestamp::MAX)),
            Self::Never => None,
            Self::At(end) => Some(end),
        }
    }
}

impl TryFrom<String> for ShareExpiry {
    type Error = ShareExpiryError;

    fn try_from(text: String) -> Result<Self, ShareExpiryError> {
        match text.as_str() {
            "default" => Ok(Self::Default),
            "never" => Ok(Self::Never),
            moment => moment.parse().map(Self::At).map_err(|_| ShareExpiryError),
        }
    }
}

impl From<ShareExpiry> for String {
    fn from(expiry: ShareExpiry) -> Self {
        match expiry {
            ShareExpiry::Default => "default".to_owned(),
            ShareExpiry::Never => "never".to_owned(),
            ShareExpiry::At(end) => end.to_string(),
        }
    }
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

impl ShareRecord {
    pub(crate) fn create(
        capsule: &CapsuleInfo,
        new: AddShareRequest,
        author: &CapsuleAuthor,
        now: Timestamp,
    ) -> StoreResult<(Self, ShareToken)> {
        if !is_line(&new.name, MAX_NAME) {
            let reason = format!("1 to {MAX_NAME} characters on one line");
            return Err(StoreError::InvalidInput { what: "name", reason });
        }
        let allow = new.uri_prefixes.iter().map(String::as_str);
        let deny = new.denied_prefixes.iter().map(String::as_str);
        let access = CapsuleAccess { role: new.role, scope: EntryScope::parse(allow, deny)? };
        let mut random = [0_u8; 44];
        getrandom::fill(&mut random)
            .map_err(|error| StoreError::io("make a token")(std::io::Error::other(error)))?;
        let (secret, id) = random.split_at(32);
        let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(secret));
        let id = capdeck_storage::to_hex(id).chars().take(12).collect::<String>();
        let share = Share {
            principal: format!("prn_share_{id}"),
            id: format!("shr_{id}"),
            capsule: capsule.id.clone(),
            capsule_uid: Some(capsule.uid.clone()),
            name: new.name,
            access,
            created_at: now,
            created_by: Some(author.written_by()),
            created_by_principal: author.principal.clone(),
            expires_at: new.expires_at.end(now),
            last_used_at: None,
            hint: token.chars().take(PREFIX.len() + TOKEN_HINT_LENGTH).collect(),
        };
        let token_sha256 = sha256_hex(token.as_bytes());
        Ok((Self { share, token_sha256 }, ShareToken(token)))
    }
}

impl Share {
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires| now < expires)
    }

    /// Whether it is a share of this capsule, and not of an earlier one with the same id.
    pub(crate) fn is_of(&self, capsule: &CapsuleInfo) -> bool {
        let uid = self.capsule_uid.as_deref().unwrap_or_default();
        self.capsule == capsule.id && !uid.is_empty() && uid == capsule.uid
    }
}

/// The share that a token opens. Every share is compared, each in the same time.
pub(crate) fn opened_by<'a>(
    records: &'a [ShareRecord],
    token: &str,
    now: Timestamp,
) -> Option<&'a Share> {
    let hash = sha256_hex(token.as_bytes());
    let mut found = None;
    for record in records {
        let is_same: bool = record.token_sha256.as_bytes().ct_eq(hash.as_bytes()).into();
        if is_same {
            found = Some(&record.share);
        }
    }
    found.filter(|share| token.starts_with(PREFIX) && share.is_live(now))
}
