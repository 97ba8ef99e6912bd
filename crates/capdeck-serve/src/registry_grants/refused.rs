//! Why a wish was not granted, and what its client is told.

use capdeck_auth::inbound::RegistryError;
use capdeck_host::{CapsuleError, CapsuleErrorCode};

/// A wish that was not granted.
#[derive(Debug)]
pub(super) enum GrantRefusal {
    /// It was decided at this desk, which has to record it.
    Here(RegistryError),
    /// Whoever was asked refused it and recorded that.
    There(CapsuleError),
}

impl GrantRefusal {
    /// The registry refused.
    pub(super) fn by_registry(error: RegistryError) -> Self {
        Self::There(into_failure(&error))
    }

    /// There is no such thing, or the client may not know of it.
    pub(super) fn not_found(what: &'static str, name: &str) -> Self {
        let id = name.chars().filter(|letter| !letter.is_control()).take(80).collect();
        Self::Here(RegistryError::NotFound { what, id })
    }

    pub(super) fn invalid(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Here(RegistryError::Invalid { what, reason: reason.into() })
    }
}

/// A refusal with what to do next.
pub(super) fn into_failure(error: &RegistryError) -> CapsuleError {
    let failure = CapsuleError::new(code(error), error.to_string());
    let hint = match error {
        RegistryError::NotFound { what: "capsule", .. } => {
            "capsol_capsules lists those that are open to you, and discovers others"
        }
        RegistryError::NotFound { what: "request", .. } => {
            "list_grant_requests shows those that you may decide"
        }
        RegistryError::NotFound { what: "grant" | "connection", .. } => {
            "list_connections shows those that you may end"
        }
        RegistryError::Widens { .. } => {
            "name only what is less than was asked for; what you leave out is as it was asked for"
        }
        RegistryError::Forbidden { .. } | RegistryError::SelfApproval { .. } => {
            "an operator of this host can decide it"
        }
        _ => return failure,
    };
    failure.hint(hint)
}

fn code(error: &RegistryError) -> CapsuleErrorCode {
    match error {
        RegistryError::NotFound { .. } => CapsuleErrorCode::NotFound,
        RegistryError::Invalid { .. } => CapsuleErrorCode::InvalidInput,
        RegistryError::WrongState { .. } => CapsuleErrorCode::WrongState,
        RegistryError::Forbidden { .. } | RegistryError::Token { .. } => {
            CapsuleErrorCode::Forbidden
        }
        RegistryError::SelfApproval { .. } => CapsuleErrorCode::SelfApproval,
        RegistryError::Widens { .. } => CapsuleErrorCode::Widens,
        RegistryError::Taken { .. } => CapsuleErrorCode::Taken,
        RegistryError::Full { .. } => CapsuleErrorCode::LimitReached,
        RegistryError::TooSoon { .. } => CapsuleErrorCode::TooSoon,
        RegistryError::InUse => CapsuleErrorCode::InUse,
        RegistryError::Disk { .. } => CapsuleErrorCode::StorageFailed,
        RegistryError::DiskFull { .. } => CapsuleErrorCode::StorageFull,
        RegistryError::NoRandomness => CapsuleErrorCode::NoRandomness,
    }
}
