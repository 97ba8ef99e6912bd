//! The mapping of call errors and capsule errors to MCP errors. Capsule tools return their errors in their results.

use capdeck_host::{
    CallError, CapsuleError, CapsuleErrorCode as Code, ErrorCode, ErrorKind, RpcFailure,
};
use capdeck_mcp::{Era, RpcError};
use serde_json::{Map, Value, json};

use super::params::{MethodResult, raw};

/// MCP's code for an unknown resource, up to revision 2025-11-25.
pub(super) const RESOURCE_NOT_FOUND: i64 = -32002;

/// MCP's code for a request that requires the person to open an address, in revision 2025-11-25 only. Legacy clients know it;
/// modern clients get `input_required`.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// A failed tool call as a tool result, so that the model can read it.
pub(super) fn as_tool_result(error: &CallError, form: ErrorForm) -> MethodResult {
    log(error);
    let mut facts = Map::new();
    facts.insert("code".to_owned(), json!(error.code.as_str()));
    facts.insert("message".to_owned(), json!(error.message));
    let mut text = format!("{}: {}", error.code.as_str(), error.message);
    if let Some(hint) = &error.hint {
        facts.insert("hint".to_owned(), json!(hint));
        text.push_str(&format!("\n{hint}"));
    }
    if let Some(details) = details(error) {
        text.push_str(&format!("\n{details}"));
        facts.insert("details".to_owned(), details);
    }
    let content = json!([{ "type": "text", "text": text }]);
    match form {
        ErrorForm::Text => raw(&json!({ "content": content, "isError": true })),
        ErrorForm::TextAndFacts => raw(&json!({
            "content": content,
            "structuredContent": { "error": facts },
            "isError": true,
        })),
    }
}

/// What a failed call says to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorForm {
    /// For a model that would read the same twice.
    Text,
    TextAndFacts,
}

/// A failed request other than a tool call. A server's error passes through with its code and data.
pub(super) fn as_rpc_error(error: &CallError, era: Era) -> RpcError {
    log(error);
    if let Some(remote) = &error.rpc {
        return RpcError {
            code: code_in(era, remote.code),
            message: remote.message.clone(),
            data: remote.data.clone(),
        };
    }
    let code = match error.kind() {
        ErrorKind::NotFound if error.code == ErrorCode::ResourceNotFound => {
            code_in(era, RESOURCE_NOT_FOUND)
        }
        ErrorKind::NotFound | ErrorKind::BadInput => RpcError::INVALID_PARAMS,
        ErrorKind::Unsupported => RpcError::METHOD_NOT_FOUND,
        ErrorKind::Cancelled => RpcError::REQUEST_CANCELLED,
        ErrorKind::Denied | ErrorKind::NeedsLogin | ErrorKind::Unavailable => RpcError::REFUSED,
        ErrorKind::TimedOut | ErrorKind::BackendFailed | ErrorKind::Bug => RpcError::INTERNAL_ERROR,
    };
    described(code, &error.message, error.hint.as_deref(), error.code.as_str(), error.data.as_ref())
}

/// True when the person must open an address first.
pub(super) fn requires_url(error: &CallError) -> bool {
    error.rpc.as_ref().is_some_and(|remote| remote.code == URL_ELICITATION_REQUIRED)
}

pub(super) fn code_in(era: Era, code: i64) -> i64 {
    match (era, code) {
        (Era::Modern, RESOURCE_NOT_FOUND) => RpcError::INVALID_PARAMS,
        _ => code,
    }
}

/// The error of a client that declined or failed a server's request.
pub(super) fn from_client(error: RpcError) -> CallError {
    let mut failure = CallError::new(
        ErrorCode::UnsupportedCapability,
        format!("the client did not answer: {}", error.message),
    );
    failure.rpc =
        Some(Box::new(RpcFailure { code: error.code, message: error.message, data: error.data }));
    failure
}

fn details(error: &CallError) -> Option<Value> {
    let remote = error.rpc.as_ref().map(|remote| {
        let data = remote.data.as_deref().and_then(|data| serde_json::from_str(data.get()).ok());
        json!({ "code": remote.code, "data": data.unwrap_or(Value::Null) })
    });
    match (&error.data, remote) {
        (None, None) => None,
        (Some(data), None) => Some(data.clone()),
        (None, Some(remote)) => Some(json!({ "remote": remote })),
        (Some(data), Some(remote)) => Some(json!({ "facts": data, "remote": remote })),
    }
}

fn log(error: &CallError) {
    let detail = error.detail.as_deref().unwrap_or_default();
    if error.kind() == ErrorKind::Bug {
        tracing::error!(code = error.code.as_str(), detail, "{}", error.message);
    } else {
        tracing::debug!(code = error.code.as_str(), detail, "{}", error.message);
    }
}

/// For a request that is neither a tool call nor about a resource.
pub(super) fn of_capsules(error: &CapsuleError) -> RpcError {
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
        _ => of_capsules(error),
    }
}

fn with_code(code: i64, error: &CapsuleError) -> RpcError {
    tracing::debug!(code = error.code.as_str(), "{}", error.message);
    described(
        code,
        &error.message,
        error.hint.as_deref(),
        error.code.as_str(),
        error.data().as_ref(),
    )
}

/// An error whose data names the host's own code.
fn described(
    code: i64,
    message: &str,
    hint: Option<&str>,
    name: &str,
    details: Option<&Value>,
) -> RpcError {
    let message = match hint {
        Some(hint) => format!("{message} ({hint})"),
        None => message.to_owned(),
    };
    let failure = RpcError::new(code, message);
    match serde_json::value::to_raw_value(&json!({ "code": name, "details": details })) {
        Ok(data) => failure.with_data(data),
        Err(_) => failure,
    }
}
