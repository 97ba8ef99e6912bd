//! Converts a failed exchange with a server to a call error.

use capdeck_mcp::{RpcError, client::ClientError};

use crate::{CallError, ErrorCode, RpcFailure};

/// The operation that failed; it selects the code and the message.
#[derive(Debug, Clone, Copy)]
pub(super) enum McpOperation<'a> {
    Start,
    Tool { name: &'a str },
    Resource,
    Prompt,
    Completion,
    Other { method: &'a str },
}

impl<'a> McpOperation<'a> {
    pub(super) fn from_method(method: &'a str) -> Self {
        match method.split('/').next() {
            Some("resources") => Self::Resource,
            Some("prompts") => Self::Prompt,
            Some("completion") => Self::Completion,
            _ => Self::Other { method },
        }
    }

    fn code(self) -> ErrorCode {
        match self {
            Self::Start | Self::Other { .. } => ErrorCode::DownstreamProtocolError,
            Self::Tool { .. } => ErrorCode::DownstreamToolError,
            Self::Resource => ErrorCode::DownstreamResourceError,
            Self::Prompt => ErrorCode::DownstreamPromptError,
            Self::Completion => ErrorCode::DownstreamCompletionError,
        }
    }

    fn subject(self) -> String {
        match self {
            Self::Start => "the handshake".to_owned(),
            Self::Tool { name } => format!("tool `{name}`"),
            Self::Resource => "the resource request".to_owned(),
            Self::Prompt => "the prompt request".to_owned(),
            Self::Completion => "the completion request".to_owned(),
            Self::Other { method } => format!("`{method}`"),
        }
    }
}

/// Builds the error of a server. The session adds facts about the process.
pub(super) fn call_error(id: &str, operation: McpOperation<'_>, error: ClientError) -> CallError {
    match error {
        ClientError::Rpc(error) => of_rpc(id, operation, error),
        ClientError::Timeout { after, .. } => timed_out(id, operation, after.as_millis()),
        ClientError::Cancelled => CallError::new(ErrorCode::Cancelled, "the call was cancelled"),
        ClientError::Closed { reason } => {
            CallError::unavailable(format!("the connection to `{id}` is over: {reason}"))
        }
        ClientError::SessionExpired => {
            CallError::unavailable(format!("`{id}` lost its session several times"))
        }
        ClientError::Http { status, excerpt, www_authenticate } => {
            of_status(id, status, &excerpt, www_authenticate.as_deref())
        }
        ClientError::Unreachable { reason, .. } => {
            CallError::unavailable(format!("`{id}` cannot be reached: {reason}"))
                .hint("check the `url` and that the server is running")
        }
        ClientError::Protocol { message } => {
            CallError::protocol_error(format!("`{id}` broke the protocol: {message}"))
        }
        ClientError::Unanswered { method, error } => unanswered(id, operation, &method, error),
        ClientError::TooLarge { limit } => CallError::new(
            ErrorCode::ContentTooLarge,
            format!(
                "{} of `{id}` answered with more than the limit of {limit} bytes",
                operation.subject()
            ),
        )
        .hint("ask for less at once"),
    }
}

fn of_rpc(id: &str, operation: McpOperation<'_>, error: RpcError) -> CallError {
    let code = match (operation, error.code) {
        (McpOperation::Tool { .. }, _) => operation.code(),
        (_, RpcError::METHOD_NOT_FOUND) => ErrorCode::UnsupportedCapability,
        _ => operation.code(),
    };
    // The caller of a tool, resource or prompt knows the capability; a handshake or a list was not requested by name.
    let message = match operation {
        McpOperation::Start | McpOperation::Other { .. } => {
            format!("`{id}` refused {}: {}", operation.subject(), error.message)
        }
        _ => error.message.clone(),
    };
    let mut call_error = CallError::new(code, message);
    let RpcError { code, message, data } = error;
    call_error.rpc = Some(Box::new(RpcFailure { code, message, data }));
    call_error
}

/// A question of the server that the caller did not answer. The message includes the caller's reason.
fn unanswered(id: &str, operation: McpOperation<'_>, method: &str, error: RpcError) -> CallError {
    let message = format!(
        "{} of `{id}` needs an answer to `{method}`: {}",
        operation.subject(),
        error.message
    );
    if error.code == RpcError::METHOD_NOT_FOUND {
        return CallError::new(ErrorCode::UnsupportedCapability, message)
            .hint("call it from a client that can be asked");
    }
    CallError::new(operation.code(), message)
}

fn timed_out(id: &str, operation: McpOperation<'_>, millis: u128) -> CallError {
    match operation {
        McpOperation::Start => CallError::new(
            ErrorCode::ServerStartTimeout,
            format!("`{id}` did not finish its handshake within {millis} ms"),
        )
        .hint("raise `startupTimeoutMs` if the server is only slow to start"),
        _ => CallError::new(
            ErrorCode::ToolCallTimeout,
            format!("{} of `{id}` gave no answer within {millis} ms", operation.subject()),
        )
        .hint("raise `callTimeoutMs` if the work takes that long"),
    }
}

fn of_status(id: &str, status: u16, excerpt: &str, challenge: Option<&str>) -> CallError {
    let answer = match excerpt {
        "" => format!("HTTP status {status}"),
        excerpt => format!("HTTP status {status}: {excerpt}"),
    };
    let call_error = match status {
        401 => {
            CallError::new(ErrorCode::AuthRequired, format!("`{id}` asks for a sign-in ({answer})"))
                .hint("give its definition an `auth` block with a valid credential")
        }
        403 => CallError::new(
            ErrorCode::AuthFailed,
            format!("`{id}` refuses this credential ({answer})"),
        )
        .hint("check the permissions of the credential in its `auth` block"),
        300..=399 | 500..=599 | 404 | 408 | 429 => {
            CallError::unavailable(format!("`{id}` answered with {answer}"))
                .hint("check the `url` of its definition")
        }
        _ => CallError::protocol_error(format!("`{id}` answered with {answer}")),
    };
    match challenge {
        Some(challenge) => call_error.detail(format!("WWW-Authenticate: {challenge}")),
        None => call_error,
    }
}
