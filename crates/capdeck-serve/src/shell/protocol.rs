//! The protocol of the shell socket.
//!
//! The host greets first. The command line sends `Open`, then one request at a time; during a call the host sends progress
//! and questions, and the command line answers. A disconnect cancels the call.

use capdeck_host::{CallError, ErrorCode, RawMembers, ShellTarget};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::ShellCall;

/// Incremented with every incompatible change.
pub(super) const PROTOCOL: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ShellRequest {
    /// The first message: whether the person can be asked.
    Open {
        can_be_asked: bool,
    },
    Find {
        words: Vec<String>,
    },
    Preview(ShellCall),
    Call(ShellCall),
    Answer {
        question: u64,
        result: Box<RawValue>,
    },
    NoAnswer {
        question: u64,
        error: ShellFailure,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ShellReply {
    Found(ShellTarget),
    Previewed { asks: bool },
    Result(Box<RawValue>),
    Failed(ShellFailure),
    Progress(RawMembers),
    Question { question: u64, method: String, params: Option<RawMembers> },
}

/// A [`CallError`] on the wire, without the details for the log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ShellFailure {
    code: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl From<CallError> for ShellFailure {
    fn from(error: CallError) -> Self {
        let CallError { code, message, hint, data, detail: _, rpc: _, host_stopped: _ } = error;
        Self { code: code.as_str().to_owned(), message, hint, data }
    }
}

impl From<ShellFailure> for CallError {
    fn from(failure: ShellFailure) -> Self {
        let ShellFailure { code, message, hint, data } = failure;
        let code = ErrorCode::named(&code).unwrap_or(ErrorCode::InternalError);
        Self { hint, data, ..Self::new(code, message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_socket::{FrameError, read, reader, write};

    #[tokio::test]
    async fn frames_keep_results_to_the_letter() {
        let (one, other) = tokio::io::duplex(1 << 16);
        let text = "{\"content\": [],\n  \"n\": 12345678901234567890123 }";
        let result = RawValue::from_string(text.to_owned()).unwrap();
        write(&mut { one }, &ShellReply::Result(result)).await.unwrap();
        let mut reader = reader(other);
        match read::<ShellReply, _>(&mut reader).await.unwrap() {
            ShellReply::Result(result) => assert_eq!(result.get(), text),
            other => panic!("{other:?}"),
        }
        assert!(matches!(read::<ShellReply, _>(&mut reader).await, Err(FrameError::Ended)));
    }

    #[test]
    fn errors_keep_what_a_person_needs() {
        let error = CallError::new(ErrorCode::AuthRequired, "sign in").hint("capdeck auth login");
        let text = serde_json::to_string(&ShellFailure::from(error)).unwrap();
        let back = CallError::from(serde_json::from_str::<ShellFailure>(&text).unwrap());
        assert_eq!(
            (back.code, back.hint.as_deref()),
            (ErrorCode::AuthRequired, Some("capdeck auth login"))
        );
    }
}
