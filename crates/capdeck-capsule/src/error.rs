//! What can go wrong with capsules, in words for the one who asked.

use std::{io, path::PathBuf};

use crate::{
    CapsuleErrorCode, EntryUri, Role, UriError, WriteConflict,
    entry::{BlobIdError, CommitRefError},
    scheme::SchemeError,
    trust::one_line,
};

pub type StoreResult<T> = Result<T, StoreError>;

/// A request to a store or about capsules as a whole failed. Nothing was changed, unless the message says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error(transparent)]
    InvalidUri(#[from] UriError),
    #[error("there is no scheme `{scheme}://` here; there are {}", schemes(.known))]
    UnknownScheme { scheme: String, known: Vec<String> },
    /// Also the answer for what the caller may not see, so it holds nothing but what was asked for.
    #[error("there is no {}`{uri}`", of_version(.version))]
    NotFound { uri: EntryUri, version: Option<u64> },
    #[error(
        "`{uri}` exists already, in version {version}; read it, then replace or patch it with `if_version`: {version}"
    )]
    Exists { uri: EntryUri, version: u64 },
    #[error("`{existing}` exists and differs from `{uri}` in case only; use that address")]
    CaseTwin { uri: EntryUri, existing: EntryUri },
    #[error(transparent)]
    VersionConflict(Box<WriteConflict>),
    #[error("the role `{}` may not {action}; it takes `{}`", .role.as_str(), .needed.as_str())]
    ForbiddenRole { role: Role, needed: Role, action: &'static str },
    #[error("this access does not reach `{uri}`; write below a prefix it allows")]
    ForbiddenScope { uri: EntryUri },
    #[error("the patch does not apply to version {version} of `{uri}`: step {step}: {reason}")]
    PatchFailed { uri: EntryUri, version: u64, step: usize, reason: String },
    #[error("the content of `{uri}` is not JSON: {reason}")]
    InvalidJson { uri: EntryUri, reason: String },
    #[error("{what} has {bytes} bytes, the limit is {most}")]
    TooLarge { what: &'static str, bytes: u64, most: u64 },
    #[error("the capsule is full: at most {most} {what}; delete or purge something")]
    QuotaExceeded { what: &'static str, most: u64 },
    #[error("{what}: {reason}")]
    InvalidInput { what: &'static str, reason: String },
    #[error(transparent)]
    InvalidScheme(#[from] SchemeError),
    #[error("`{scheme}://` has {entries} entries; delete and purge them first")]
    SchemeInUse { scheme: String, entries: usize },
    #[error("the cursor does not belong to this request; repeat the request without it")]
    BadCursor,
    #[error("the idempotency key was used for another request; take a new key")]
    KeyReused,
    #[error("the memory has no key `{key}`")]
    NoSuchKey { key: String },
    #[error("the capsule can only be read: its folder cannot be written")]
    ReadOnly,
    #[error("the store is closed")]
    Closed,
    #[error("`{uri}` cannot be used: {reason}; run a verification of the capsule")]
    Damaged { uri: EntryUri, reason: String },
    #[error("`{path}` inside the capsule is unexpected: {found}; move it away")]
    UnsafePath { path: String, found: &'static str },
    /// The work is done, but its line could not be written.
    #[error(
        "done, but it could not be recorded, and recording is required; nothing more is done until it can be"
    )]
    AuditFailed {
        #[source]
        source: io::Error,
    },
    /// The line of an earlier call could not be written yet.
    #[error(
        "not done: an earlier call could not be recorded yet, and recording is required; fix the folder of the audit, then repeat this"
    )]
    AuditOwed {
        #[source]
        source: io::Error,
    },
    #[error("there is no capsule `{}`", one_line(.name))]
    CapsuleNotFound { name: String },
    #[error("a capsule named `{name}` exists already, as `{id}`")]
    NameTaken { name: String, id: String },
    #[error(
        "the folder of the capsule `{id}` is missing: `{}`; put it back from a backup, or remove the capsule with `capdeck capsule rm {id}`",
        .folder.display()
    )]
    FolderMissing { id: String, folder: PathBuf },
    #[error("there is no share `{}`", one_line(.id))]
    NoSuchShare { id: String },
    #[error("the data folder `{}` is in use{}; stop that process, or ask the running host", .folder.display(), .holder)]
    InUse { folder: PathBuf, holder: String },
    #[error("the capsules can only be read: the data folder cannot be written")]
    RegistryReadOnly,
    #[error("cannot {what}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

impl StoreError {
    pub(crate) fn require_role(role: Role, needed: Role, action: &'static str) -> Result<(), Self> {
        if role < needed {
            return Err(Self::ForbiddenRole { role, needed, action });
        }
        Ok(())
    }

    /// A short name that programs can rely on.
    pub fn code(&self) -> CapsuleErrorCode {
        match self {
            Self::InvalidUri(_) => CapsuleErrorCode::InvalidUri,
            Self::UnknownScheme { .. } => CapsuleErrorCode::UnknownScheme,
            Self::NotFound { .. } | Self::NoSuchShare { .. } => CapsuleErrorCode::NotFound,
            Self::Exists { .. } | Self::CaseTwin { .. } | Self::NameTaken { .. } => {
                CapsuleErrorCode::Exists
            }
            Self::VersionConflict(_) => CapsuleErrorCode::VersionConflict,
            Self::ForbiddenRole { .. } => CapsuleErrorCode::ForbiddenRole,
            Self::ForbiddenScope { .. } => CapsuleErrorCode::ForbiddenScope,
            Self::PatchFailed { .. } => CapsuleErrorCode::PatchFailed,
            Self::InvalidJson { .. } => CapsuleErrorCode::InvalidJson,
            Self::TooLarge { .. } => CapsuleErrorCode::TooLarge,
            Self::QuotaExceeded { .. } => CapsuleErrorCode::QuotaExceeded,
            Self::InvalidInput { .. } => CapsuleErrorCode::InvalidInput,
            Self::InvalidScheme(_) => CapsuleErrorCode::InvalidScheme,
            Self::SchemeInUse { .. } => CapsuleErrorCode::SchemeInUse,
            Self::BadCursor => CapsuleErrorCode::BadCursor,
            Self::KeyReused => CapsuleErrorCode::IdempotencyKeyReused,
            Self::NoSuchKey { .. } => CapsuleErrorCode::NoSuchKey,
            Self::CapsuleNotFound { .. } => CapsuleErrorCode::CapsuleNotFound,
            Self::FolderMissing { .. } => CapsuleErrorCode::FolderMissing,
            Self::InUse { .. } => CapsuleErrorCode::InUse,
            Self::ReadOnly | Self::RegistryReadOnly => CapsuleErrorCode::ReadOnly,
            Self::Closed => CapsuleErrorCode::Closed,
            Self::Damaged { .. } => CapsuleErrorCode::Damaged,
            Self::UnsafePath { .. } => CapsuleErrorCode::UnsafePath,
            Self::AuditFailed { source } | Self::AuditOwed { source } => {
                match CapsuleErrorCode::of_io(source) {
                    CapsuleErrorCode::IoFailed => CapsuleErrorCode::AuditFailed,
                    code => code,
                }
            }
            Self::Io { source, .. } => CapsuleErrorCode::of_io(source),
        }
    }

    /// Whether the caller was refused something, for the audit.
    pub fn is_denial(&self) -> bool {
        matches!(self, Self::ForbiddenRole { .. } | Self::ForbiddenScope { .. })
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn invalid(what: &'static str, reason: impl Into<String>) -> Self {
        Self::InvalidInput { what, reason: reason.into() }
    }
}

impl From<BlobIdError> for StoreError {
    fn from(error: BlobIdError) -> Self {
        Self::invalid("blob", error.to_string())
    }
}

impl From<CommitRefError> for StoreError {
    fn from(error: CommitRefError) -> Self {
        Self::invalid("commit", error.to_string())
    }
}

fn of_version(version: &Option<u64>) -> String {
    version.map_or_else(|| "entry ".to_owned(), |version| format!("version {version} of "))
}

fn schemes(known: &[String]) -> String {
    known.iter().map(|name| format!("`{name}://`")).collect::<Vec<_>>().join(", ")
}
