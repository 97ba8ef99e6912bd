//! Maps capsule errors to MCP errors. Tools return their errors in their results.

use capdeck_host::CapsuleFailure;
use capdeck_mcp::{Era, RpcError};
use serde_json::json;

use super::failure::{RESOURCE_NOT_FOUND, code_in};

/// For a request that is neither a tool call nor about a resource.
pub(super) fn as_rpc_error(failure: &CapsuleFailure) -> RpcError {
    let code = match failure.code.as_str() {
        "forbidden_role" | "forbidden_scope" | "capsule_required" | "in_use" | "read_only" => {
            RpcError::REFUSED
        }
        "io_failed" | "storage_full" | "permission_denied" | "damaged" | "internal"
        | "audit_failed" | "closed" | "unsafe_path" => RpcError::INTERNAL_ERROR,
        _ => RpcError::INVALID_PARAMS,
    };
    with_code(code, failure)
}

/// For a resource. Malformed addresses, unknown schemes and entries out of reach are all "not found".
pub(super) fn of_resource(failure: &CapsuleFailure, era: Era) -> RpcError {
    match failure.code.as_str() {
        "not_found" | "invalid_uri" | "unknown_scheme" => {
            with_code(code_in(era, RESOURCE_NOT_FOUND), failure)
        }
        _ => as_rpc_error(failure),
    }
}

fn with_code(code: i64, failure: &CapsuleFailure) -> RpcError {
    tracing::debug!(code = failure.code, "{}", failure.message);
    let message = match &failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message.clone(),
    };
    let facts = json!({ "code": failure.code, "details": failure.data });
    let error = RpcError::new(code, message);
    match serde_json::value::to_raw_value(&facts) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}
