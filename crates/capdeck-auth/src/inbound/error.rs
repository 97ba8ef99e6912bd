//! Why the registry could not be opened, and why it does not do something.

use jiff::Timestamp;
use strum::IntoStaticStr;

use capdeck_access::InvalidTarget;

use super::{OperatorRole, SelfApprovalLink, UnknownScope};

/// Why a registry could not be opened. Nothing of it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenRegistryError {
    /// Another process has the folder.
    #[error("the registry in `{folder}` is in use by another process{}", served_at(.at.as_deref()))]
    InUse {
        folder: String,
        /// Where the other process serves, if it said so.
        at: Option<String>,
    },
    #[error(
        "`{path}` cannot be read: {reason}; correct it or put a copy from a backup in its place"
    )]
    Broken { path: String, reason: String },
    #[error(
        "`{path}` was written by a newer version of capdeck (form {found}, this one knows {known}); use that version"
    )]
    TooNew { path: String, found: u64, known: u64 },
    #[error("`{path}`: {reason}")]
    Disk { path: String, reason: String },
}

fn served_at(at: Option<&str>) -> String {
    at.map(|at| format!(", which serves at {at}")).unwrap_or_default()
}

/// Why a client gets no token, in the words of OAuth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TokenRefusal {
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
}

impl TokenRefusal {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

pub type RegistryResult<T> = Result<T, RegistryError>;

/// Why a change was not made, or a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// There is no such thing, or the one who asks may not know of it.
    #[error("there is no {what} `{id}`")]
    NotFound { what: &'static str, id: String },
    #[error("`{what}` is not valid: {reason}")]
    Invalid { what: &'static str, reason: String },
    /// It is already in a state in which this cannot be done.
    #[error("the {what} `{id}` is {state}, so it cannot be {attempt}")]
    WrongState { what: &'static str, id: String, state: &'static str, attempt: &'static str },
    #[error("{reason}")]
    Forbidden { reason: &'static str },
    /// A person decides about a request of their own.
    #[error(
        "{}; another approver, the capsule's owner or an admin has to decide it", .link.reason()
    )]
    SelfApproval { link: SelfApprovalLink },
    #[error("an approval can only narrow a request: {reason}")]
    Widens { reason: &'static str },
    #[error("there is already a {what} named `{name}`")]
    Taken { what: &'static str, name: String },
    #[error("there are already {limit} {what}; wait until some are gone, or remove some")]
    Full { what: &'static str, limit: usize },
    #[error("that was too soon; try again in {seconds} s")]
    TooSoon { seconds: u64 },
    /// A client gets no token. The reason is for the client's author.
    #[error("{reason}")]
    Token { refusal: TokenRefusal, reason: &'static str },
    #[error("the registry is in use by another process")]
    InUse,
    #[error("the registry could not write `{path}`: {reason}")]
    Disk { path: String, reason: String },
    #[error("the registry could not write `{path}`: there is no room on the disk")]
    DiskFull { path: String },
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// A registry that can only be opened now, and cannot.
impl From<OpenRegistryError> for RegistryError {
    fn from(error: OpenRegistryError) -> Self {
        match error {
            OpenRegistryError::InUse { .. } => Self::InUse,
            OpenRegistryError::Disk { path, reason }
            | OpenRegistryError::Broken { path, reason } => Self::Disk { path, reason },
            OpenRegistryError::TooNew { ref path, .. } => {
                Self::Disk { path: path.clone(), reason: error.to_string() }
            }
        }
    }
}

impl From<InvalidTarget> for RegistryError {
    fn from(InvalidTarget { what, reason }: InvalidTarget) -> Self {
        Self::Invalid { what, reason }
    }
}

impl RegistryError {
    pub(super) fn invalid(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { what, reason: reason.into() }
    }

    pub(super) fn not_found(what: &'static str, id: &str) -> Self {
        // What was asked for comes from outside.
        let id = id.chars().filter(|letter| !letter.is_control()).take(80).collect();
        Self::NotFound { what, id }
    }

    /// To be tried again at this time, in whole seconds that are surely enough.
    pub(super) fn too_soon(again: Timestamp, now: Timestamp) -> Self {
        let milliseconds = again.duration_since(now).as_millis();
        let seconds = u64::try_from(milliseconds).unwrap_or(0).div_ceil(1000);
        Self::TooSoon { seconds: seconds.max(1) }
    }

    pub(super) fn token(refusal: TokenRefusal, reason: &'static str) -> Self {
        Self::Token { refusal, reason }
    }

    /// A word that programs can rely on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Invalid { .. } => "invalid_input",
            Self::WrongState { .. } => "wrong_state",
            Self::Forbidden { .. } => "forbidden",
            Self::SelfApproval { .. } => "self_approval",
            Self::Widens { .. } => "widens",
            Self::Taken { .. } => "taken",
            Self::Full { .. } => "limit_reached",
            Self::TooSoon { .. } => "too_soon",
            Self::Token { refusal, .. } => refusal.as_str(),
            Self::InUse => "in_use",
            Self::Disk { .. } => "storage_failed",
            Self::DiskFull { .. } => "storage_full",
            Self::NoRandomness => "no_randomness",
        }
    }

    /// Whether a caller was refused, rather than something having failed.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Self::InUse | Self::Disk { .. } | Self::DiskFull { .. } | Self::NoRandomness
        )
    }

    pub(super) fn needs_role(role: OperatorRole) -> Self {
        Self::Forbidden {
            reason: match role {
                OperatorRole::Member => "only an operator may do this",
                OperatorRole::Approver => "only an approver or an admin may decide this request",
                OperatorRole::Admin => "only an admin may do this",
            },
        }
    }
}

impl From<UnknownScope> for RegistryError {
    fn from(error: UnknownScope) -> Self {
        Self::invalid("scope", error.to_string())
    }
}
