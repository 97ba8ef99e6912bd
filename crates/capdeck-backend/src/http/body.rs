//! Request bodies that may be larger than memory.

use std::{
    io::{self, SeekFrom},
    path::PathBuf,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _, Take},
};
use tokio_util::io::ReaderStream;

/// A sequence of bytes and files. Cheap to clone, so a request can be sent again.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpRequestBody {
    parts: Vec<HttpBodyPart>,
}

#[derive(Debug, Clone)]
enum HttpBodyPart {
    Bytes(Bytes),
    File { path: PathBuf, offset: u64, length: u64 },
}

impl HttpRequestBody {
    #[must_use]
    pub(crate) fn with_bytes(mut self, bytes: impl Into<Bytes>) -> Self {
        self.parts.push(HttpBodyPart::Bytes(bytes.into()));
        self
    }

    /// Adds a file that is read while it is sent.
    #[must_use]
    pub(crate) fn with_file(self, path: PathBuf, length: u64) -> Self {
        self.with_file_part(path, 0, length)
    }

    #[must_use]
    pub(crate) fn with_file_part(mut self, path: PathBuf, offset: u64, length: u64) -> Self {
        self.parts.push(HttpBodyPart::File { path, offset, length });
        self
    }

    pub(crate) fn length(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| match part {
                HttpBodyPart::Bytes(bytes) => bytes.len() as u64,
                HttpBodyPart::File { length, .. } => *length,
            })
            .sum()
    }

    /// Returns the body for the HTTP client. Files are opened when they are reached.
    pub(super) fn to_stream(&self) -> reqwest::Body {
        if let [HttpBodyPart::Bytes(bytes)] = self.parts.as_slice() {
            return bytes.clone().into();
        }
        reqwest::Body::wrap_stream(stream::iter(self.parts.clone()).flat_map(|part| {
            match part {
                HttpBodyPart::Bytes(bytes) => stream::once(async move { Ok(bytes) }).boxed(),
                HttpBodyPart::File { path, offset, length } => {
                    stream::once(open(path, offset, length))
                        .map_ok(ReaderStream::new)
                        .try_flatten()
                        .boxed()
                }
            }
        }))
    }
}

/// Opens a file range. The file may grow meanwhile; no more than the announced length is sent.
async fn open(path: PathBuf, offset: u64, length: u64) -> io::Result<Take<File>> {
    let mut file = File::open(path).await?;
    if offset > 0 {
        file.seek(SeekFrom::Start(offset)).await?;
    }
    Ok(file.take(length))
}
