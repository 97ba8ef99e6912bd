//! Errors of task requests.

use capdeck_backend::{CallError, ErrorCode, RpcFailure};
use serde_json::{json, value::to_raw_value};

use super::EXTENSION;

const MISSING_CAPABILITY: i64 = -32021;
const METHOD_NOT_FOUND: i64 = -32601;

/// The same for unknown, expired and foreign tasks.
pub(super) fn unknown(id: &str) -> CallError {
    CallError::invalid_request(format!("there is no task `{id}`"))
}

pub(super) fn undeclared(why: &str) -> CallError {
    let message = format!("{why} needs a client that declares the extension `{EXTENSION}`");
    let required = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
    with_rpc(ErrorCode::UnsupportedCapability, MISSING_CAPABILITY, message, Some(&required))
}

pub(super) fn task_required(tool: &str) -> CallError {
    let message = format!("`{tool}` runs only as a task: send `task` with the call");
    with_rpc(ErrorCode::UnsupportedCapability, METHOD_NOT_FOUND, message, None)
}

pub(super) fn no_such_method(method: &str, instead: &str) -> CallError {
    let message = format!("`{method}` does not exist in this revision of the protocol: {instead}");
    with_rpc(ErrorCode::UnsupportedOperation, METHOD_NOT_FOUND, message, None)
}

pub(super) fn no_task_in_answer() -> CallError {
    CallError::protocol_error("the server did not return the state of its task")
}

pub(super) fn wants_extension(error: &CallError) -> bool {
    error.rpc.as_ref().is_some_and(|failure| {
        failure.code == MISSING_CAPABILITY
            && failure.data.as_ref().is_some_and(|data| data.get().contains(EXTENSION))
    })
}

fn with_rpc(
    code: ErrorCode,
    rpc: i64,
    message: String,
    data: Option<&serde_json::Value>,
) -> CallError {
    let data = data.and_then(|data| to_raw_value(data).ok());
    let mut error = CallError::new(code, message.clone());
    error.rpc = Some(Box::new(RpcFailure { code: rpc, message, data }));
    error
}
