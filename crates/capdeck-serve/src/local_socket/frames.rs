//! Frames of a local socket: a length and a JSON value. The listener greets first.

use std::io;

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

/// Larger than any message of a server with its envelope.
const MAX_FRAME_BYTES: usize = 64 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SocketGreeting {
    pub(crate) protocol: u32,
    pub(crate) version: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the connection ended")]
    Ended,
    #[error(transparent)]
    Transport(#[from] io::Error),
    #[error("invalid message: {0}")]
    Unreadable(#[from] serde_json::Error),
}

pub(crate) type FrameReader<R> = FramedRead<R, LengthDelimitedCodec>;

pub(crate) fn reader<R: AsyncRead>(half: R) -> FrameReader<R> {
    let codec = LengthDelimitedCodec::builder().max_frame_length(MAX_FRAME_BYTES).new_codec();
    FramedRead::new(half, codec)
}

/// The next frame. Cancel safe.
pub(crate) async fn read<T: DeserializeOwned, R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
) -> Result<T, FrameError> {
    let bytes = reader.next().await.ok_or(FrameError::Ended)??;
    Ok(serde_json::from_slice(&bytes)?)
}

pub(crate) async fn write<T: Serialize, W: AsyncWrite + Unpin>(
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
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn what_is_no_frame_is_refused() {
        let (mut one, other) = tokio::io::duplex(64);
        one.write_all(b"\xff\xff\xff\xffGET / HTTP/1.1").await.unwrap();
        let read = read::<Value, _>(&mut reader(other)).await;
        assert!(matches!(read, Err(FrameError::Transport(_))), "{read:?}");
        let (mut one, other) = tokio::io::duplex(64);
        one.write_all(b"\0\0\0\x02{]").await.unwrap();
        let read = self::read::<Value, _>(&mut reader(other)).await;
        assert!(matches!(read, Err(FrameError::Unreadable(_))), "{read:?}");
    }
}
