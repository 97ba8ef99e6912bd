//! One JSON-RPC message, parsed only to its envelope, and the id that connects a response to its request.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Number, value::RawValue};

use crate::{RpcError, raw::present};

/// A message with its payload as the exact text that was sent.
#[derive(Debug, Clone)]
pub enum RpcMessage {
    Request { id: RequestId, method: String, params: Option<Box<RawValue>> },
    Notification { method: String, params: Option<Box<RawValue>> },
    Response { id: RequestId, outcome: Result<Box<RawValue>, RpcError> },
}

/// The content of one frame: a message, or a batch in the revisions that have them.
#[derive(Debug)]
pub enum RpcFrame {
    Single(RpcMessage),
    Batch(Vec<Result<RpcMessage, MalformedMessage>>),
}

/// A frame that is not a message; `id` is the request to answer, if readable.
#[derive(Debug, Clone)]
pub struct MalformedMessage {
    pub id: Option<RequestId>,
    pub error: RpcError,
    /// It is a response: to `id` without a result, or without an id.
    pub is_answer: bool,
}

#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ErrorBody<'a> {
    code: i64,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
    data: Option<Box<RawValue>>,
}

impl RpcFrame {
    pub fn parse(text: &[u8]) -> Result<Self, MalformedMessage> {
        if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'[') {
            return RpcMessage::parse(text).map(Self::Single);
        }
        let parts: Vec<&RawValue> = serde_json::from_slice(text).map_err(|e| not_json(&e))?;
        if parts.is_empty() {
            return Err(MalformedMessage::invalid("an empty batch holds no message"));
        }
        Ok(Self::Batch(
            parts.into_iter().map(|part| RpcMessage::parse(part.get().as_bytes())).collect(),
        ))
    }

    /// The messages that could be read.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &RpcMessage> {
        let (single, batch) = match self {
            Self::Single(message) => (Some(message), [].as_slice()),
            Self::Batch(messages) => (None, messages.as_slice()),
        };
        single.into_iter().chain(batch.iter().flatten())
    }
}

impl RpcMessage {
    /// Parses one message. The `jsonrpc` member is optional; every other rule applies.
    pub fn parse(text: &[u8]) -> Result<Self, MalformedMessage> {
        let envelope: RpcEnvelope<'_> = match serde_json::from_slice(text) {
            Ok(envelope) => envelope,
            Err(error) if error.is_data() => {
                return Err(MalformedMessage::invalid("a message has to be one JSON object"));
            }
            Err(error) => return Err(not_json(&error)),
        };
        let id = match envelope.id {
            None => None,
            Some(raw) => match serde_json::from_str::<RequestId>(raw.get()) {
                Ok(id) => Some(id),
                Err(_) if raw.get() == "null" && envelope.method.is_none() => None,
                Err(_) => {
                    return Err(MalformedMessage::invalid("`id` has to be a string or a number"));
                }
            },
        };
        if let Some(method) = envelope.method {
            let Ok(method) = serde_json::from_str::<String>(method.get()) else {
                let error = RpcError::invalid_request("`method` has to be a string");
                return Err(MalformedMessage { id, error, is_answer: false });
            };
            let params = envelope.params.map(ToOwned::to_owned);
            return Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let outcome = match (envelope.error, envelope.result) {
            (Some(error), _) if error.get() != "null" => Err(parse_error_body(error)),
            (_, Some(result)) => Ok(result.to_owned()),
            _ => {
                let error = RpcError::invalid_request(
                    "a message needs `method`, or `id` with `result` or `error`",
                );
                return Err(MalformedMessage { is_answer: id.is_some(), id, error });
            }
        };
        match (id, outcome) {
            (Some(id), outcome) => Ok(Self::Response { id, outcome }),
            (None, Err(error)) => Err(MalformedMessage { id: None, error, is_answer: true }),
            (None, Ok(_)) => Err(MalformedMessage::invalid("a response needs the `id` it answers")),
        }
    }
}

impl MalformedMessage {
    pub(crate) fn of_nobody(error: RpcError) -> Self {
        Self { id: None, error, is_answer: false }
    }

    /// Returns whether this is an error response without an id, which a peer sends for an unreadable message. It must
    /// not be answered: two peers would answer each other forever.
    pub(crate) fn is_stray_answer(&self) -> bool {
        self.is_answer && self.id.is_none()
    }

    fn invalid(message: &str) -> Self {
        Self::of_nobody(RpcError::invalid_request(message))
    }
}

fn not_json(error: &serde_json::Error) -> MalformedMessage {
    let message =
        format!("the message is not JSON (line {}, column {})", error.line(), error.column());
    MalformedMessage::of_nobody(RpcError::parse_error(message))
}

/// Parses an error object, and keeps a malformed one whole as data.
fn parse_error_body(raw: &RawValue) -> RpcError {
    match serde_json::from_str::<ErrorBody<'_>>(raw.get()) {
        Ok(body) => {
            RpcError { code: body.code, message: body.message.into_owned(), data: body.data }
        }
        Err(_) => {
            RpcError::internal("the peer answered with a malformed error").with_data(raw.to_owned())
        }
    }
}

/// A JSON-RPC request id: a number or a string, echoed unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(Number),
    String(String),
}

impl RequestId {
    /// Returns the id as one of our own, which are counters.
    pub(crate) fn as_counter(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            Self::String(_) => None,
        }
    }
}

impl From<u64> for RequestId {
    fn from(counter: u64) -> Self {
        Self::Number(counter.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::String(text) => write!(formatter, "{text:?}"),
        }
    }
}

/// Values deeper than this cannot be parsed later, so the message is rejected early.
const MAX_DEPTH: usize = 127;

pub(crate) fn check_nesting(text: &[u8]) -> Result<(), MalformedMessage> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let error = RpcError::parse_error(format!(
                "the message is nested deeper than {MAX_DEPTH} levels"
            ));
            return Err(MalformedMessage::of_nobody(error));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod nesting_tests {
    use super::*;

    #[test]
    fn brackets_count_outside_of_strings_only() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check_nesting(nested(MAX_DEPTH).as_bytes()).is_ok());
        let error = check_nesting(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err().error;
        assert_eq!(error.code, RpcError::PARSE_ERROR);
        let text = format!(r#"{{"a":"\"{}\\"}}"#, "[".repeat(1000));
        assert!(check_nesting(text.as_bytes()).is_ok());
    }
}
