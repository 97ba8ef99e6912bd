//! What travels on the shell's socket: frames of a length and a JSON value.
//!
//! The host greets first. The command line introduces itself and sends one request at a time; while a call runs, the
//! host tells progress and asks questions, and the command line answers or hangs up. Hanging up cancels.

use std::io;

use capdeck_host::{CallError, ErrorCode, RawObject, ShellPlace};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use super::ShellCall;

/// Changes whenever one side would misunderstand the other.
pub(super) const PROTOCOL: u32 = 1;

/// Larger than any message of a server, so that every result fits with what surrounds it.
const MAX_FRAME_BYTES: usize = 64 << 20;

/// The first frame of a host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) protocol: u32,
    pub(super) version: String,
}

/// What the command line says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Request {
    /// First of all: whether somebody at a terminal can be asked.
    Open {
        can_be_asked: bool,
    },
    Find {
        words: Vec<String>,
    },
    Preview(ShellCall),
    Call(ShellCall),
    /// The person's answer to a question.
    Answer {
        question: u64,
        result: Box<RawValue>,
    },
    /// There will be no answer to a question.
    NoAnswer {
        question: u64,
        error: Failure,
    },
}

/// What a host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reply {
    Found(ShellPlace),
    Previewed { asks: bool },
    Result(Box<RawValue>),
    Failed(Failure),
    Progress(RawObject),
    Question { question: u64, method: String, params: Option<RawObject> },
}

/// A [`CallError`] as it travels. What is for the log stays with the host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    code: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let CallError { code, message, hint, data, detail: _, rpc: _ } = error;
        Self { code: code.as_str().to_owned(), message, hint, data }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        let Failure { code, message, hint, data } = failure;
        let code = ErrorCode::named(&code).unwrap_or(ErrorCode::InternalError);
        Self { hint, data, ..Self::new(code, message) }
    }
}

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("the connection ended")]
    Ended,
    #[error(transparent)]
    Transport(#[from] io::Error),
    #[error("the message is not understood: {0}")]
    Unreadable(#[from] serde_json::Error),
}

pub(super) type Reader<R> = FramedRead<R, LengthDelimitedCodec>;

/// Reads frames from one half of a connection.
pub(super) fn reader<R: AsyncRead>(half: R) -> Reader<R> {
    let codec = LengthDelimitedCodec::builder().max_frame_length(MAX_FRAME_BYTES).new_codec();
    FramedRead::new(half, codec)
}

/// The next frame. May be dropped while it waits without losing anything.
pub(super) async fn read<T: DeserializeOwned, R: AsyncRead + Unpin>(
    reader: &mut Reader<R>,
) -> Result<T, FrameError> {
    let bytes = reader.next().await.ok_or(FrameError::Ended)??;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Sends one frame, in one piece.
pub(super) async fn write<T: Serialize, W: AsyncWrite + Unpin>(
    writer: &mut W,
    message: &T,
) -> Result<(), FrameError> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend(length.to_be_bytes());
    frame.extend(body);
    Ok(writer.write_all(&frame).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_keep_results_to_the_letter() {
        let (one, other) = tokio::io::duplex(1 << 16);
        let text = "{\"content\": [],\n  \"n\": 12345678901234567890123 }";
        let result = RawValue::from_string(text.to_owned()).unwrap();
        write(&mut { one }, &Reply::Result(result)).await.unwrap();
        let mut reader = reader(other);
        match read::<Reply, _>(&mut reader).await.unwrap() {
            Reply::Result(result) => assert_eq!(result.get(), text),
            other => panic!("{other:?}"),
        }
        assert!(matches!(read::<Reply, _>(&mut reader).await, Err(FrameError::Ended)));
    }

    #[tokio::test]
    async fn what_is_no_frame_is_refused() {
        let (mut one, other) = tokio::io::duplex(64);
        one.write_all(b"\xff\xff\xff\xffGET / HTTP/1.1").await.unwrap();
        let read = read::<Request, _>(&mut reader(other)).await;
        assert!(matches!(read, Err(FrameError::Transport(_))), "{read:?}");
        let (mut one, other) = tokio::io::duplex(64);
        one.write_all(b"\0\0\0\x02{]").await.unwrap();
        let read = self::read::<Request, _>(&mut reader(other)).await;
        assert!(matches!(read, Err(FrameError::Unreadable(_))), "{read:?}");
    }

    #[test]
    fn errors_keep_what_a_person_needs() {
        let error = CallError::new(ErrorCode::AuthRequired, "sign in").hint("capdeck auth login");
        let text = serde_json::to_string(&Failure::from(error)).unwrap();
        let back = CallError::from(serde_json::from_str::<Failure>(&text).unwrap());
        assert_eq!(
            (back.code, back.hint.as_deref()),
            (ErrorCode::AuthRequired, Some("capdeck auth login"))
        );
    }
}
