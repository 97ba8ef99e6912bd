//! Short names of failures that programs can rely on.

use std::{fmt, io};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[$meta:meta])* $variant:ident = $name:literal,)*) => {
        /// Why an operation on capsules failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum CapsuleErrorCode {
            $($(#[$meta])* $variant,)*
        }

        impl CapsuleErrorCode {
            /// The name that clients are given.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

error_codes! {
    AmbiguousCapsule = "ambiguous_capsule",
    AuditFailed = "audit_failed",
    BadCursor = "bad_cursor",
    /// No capsule has the requested name. Clients are given the same name as for an entry.
    CapsuleNotFound = "not_found",
    CapsuleRequired = "capsule_required",
    Closed = "closed",
    Damaged = "damaged",
    Exists = "exists",
    FolderMissing = "folder_missing",
    Forbidden = "forbidden",
    ForbiddenRole = "forbidden_role",
    ForbiddenScope = "forbidden_scope",
    IdempotencyKeyReused = "idempotency_key_reused",
    InUse = "in_use",
    Internal = "internal",
    InvalidInput = "invalid_input",
    InvalidJson = "invalid_json",
    InvalidScheme = "invalid_scheme",
    InvalidUri = "invalid_uri",
    IoFailed = "io_failed",
    LimitReached = "limit_reached",
    NoRandomness = "no_randomness",
    NoSuchKey = "no_such_key",
    NotFound = "not_found",
    NotMountable = "not_mountable",
    OutcomeUnknown = "outcome_unknown",
    PatchFailed = "patch_failed",
    PermissionDenied = "permission_denied",
    QuotaExceeded = "quota_exceeded",
    ReadOnly = "read_only",
    SchemeInUse = "scheme_in_use",
    SelfApproval = "self_approval",
    StorageFailed = "storage_failed",
    StorageFull = "storage_full",
    Taken = "taken",
    TooLarge = "too_large",
    TooSoon = "too_soon",
    UnknownScheme = "unknown_scheme",
    UnsafePath = "unsafe_path",
    VersionConflict = "version_conflict",
    Widens = "widens",
    WrongState = "wrong_state",
}

impl CapsuleErrorCode {
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

impl fmt::Display for CapsuleErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl PartialEq<&str> for CapsuleErrorCode {
    fn eq(&self, name: &&str) -> bool {
        self.as_str() == *name
    }
}
