//! Maps capsule errors to MCP errors. Tools return their errors in their results.

use capdeck_host::{CapsuleError, CapsuleErrorCode as Code};
use capdeck_mcp::{Era, RpcError};
use serde_json::json;

use super::failure::{RESOURCE_NOT_FOUND, code_in};

/// For a request that is neither a tool call nor about a resource.
pub(super) fn as_rpc_error(error: &CapsuleError) -> RpcError {
    let code = match error.code {
        Code::ForbiddenRole
        | Code::ForbiddenScope
        | Code::CapsuleRequired
        | Code::InUse
        | Code::ReadOnly => RpcError::REFUSED,
        Code::IoFailed
        | Code::StorageFull
        | Code::PermissionDenied
        | Code::Damaged
        | Code::Internal
        | Code::AuditFailed
        | Code::Closed
        | Code::UnsafePath => RpcError::INTERNAL_ERROR,
        _ => RpcError::INVALID_PARAMS,
    };
    with_code(code, error)
}

/// For a resource. Malformed addresses, unknown schemes and entries out of reach are all "not found".
pub(super) fn of_resource(error: &CapsuleError, era: Era) -> RpcError {
    match error.code {
        Code::NotFound | Code::CapsuleNotFound | Code::InvalidUri | Code::UnknownScheme => {
            with_code(code_in(era, RESOURCE_NOT_FOUND), error)
        }
        _ => as_rpc_error(error),
    }
}

fn with_code(code: i64, error: &CapsuleError) -> RpcError {
    tracing::debug!(code = error.code.as_str(), "{}", error.message);
    let message = match &error.hint {
        Some(hint) => format!("{} ({hint})", error.message),
        None => error.message.clone(),
    };
    let facts = json!({ "code": error.code.as_str(), "details": error.data() });
    let error = RpcError::new(code, message);
    match serde_json::value::to_raw_value(&facts) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}
