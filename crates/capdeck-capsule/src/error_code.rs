//! Short names of failures that programs can rely on.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// Why an operation on capsules failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(Display, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CapsuleErrorCode {
    AmbiguousCapsule,
    AuditFailed,
    BadCursor,
    /// No capsule has the requested name. Clients are given the same name as for an entry.
    #[strum(serialize = "not_found")]
    CapsuleNotFound,
    CapsuleRequired,
    Closed,
    Damaged,
    Exists,
    FolderMissing,
    Forbidden,
    ForbiddenRole,
    ForbiddenScope,
    IdempotencyKeyReused,
    InUse,
    Internal,
    InvalidInput,
    InvalidJson,
    InvalidScheme,
    InvalidUri,
    IoFailed,
    LimitReached,
    NoRandomness,
    NoSuchKey,
    NotFound,
    NotMountable,
    OutcomeUnknown,
    PatchFailed,
    PermissionDenied,
    QuotaExceeded,
    ReadOnly,
    SchemeInUse,
    SelfApproval,
    StorageFailed,
    StorageFull,
    Taken,
    TooLarge,
    TooSoon,
    UnknownScheme,
    UnsafePath,
    VersionConflict,
    Widens,
    WrongState,
}

impl CapsuleErrorCode {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The code of a failure of the disk.
    pub fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::StorageFull,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            io::ErrorKind::PermissionDenied => Self::PermissionDenied,
            _ => Self::IoFailed,
        }
    }
}

impl PartialEq<&str> for CapsuleErrorCode {
    fn eq(&self, name: &&str) -> bool {
        self.as_str() == *name
    }
}
