//! The body of a request, which may be longer than what one wants in memory.

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

/// Bytes and files, one after the other. Cheap to clone, so a request can be sent again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Bytes(Bytes),
    File { path: PathBuf, offset: u64, length: u64 },
}

impl Body {
    /// Adds bytes.
    #[must_use]
    pub(crate) fn with_bytes(mut self, bytes: impl Into<Bytes>) -> Self {
        self.parts.push(Part::Bytes(bytes.into()));
        self
    }

    /// Adds a file that is read while it is sent.
    #[must_use]
    pub(crate) fn with_file(self, path: PathBuf, length: u64) -> Self {
        self.with_file_part(path, 0, length)
    }

    /// Adds so many bytes of a file from an offset on.
    #[must_use]
    pub(crate) fn with_file_part(mut self, path: PathBuf, offset: u64, length: u64) -> Self {
        self.parts.push(Part::File { path, offset, length });
        self
    }

    /// How long the whole is.
    pub(crate) fn length(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Bytes(bytes) => bytes.len() as u64,
                Part::File { length, .. } => *length,
            })
            .sum()
    }

    /// The body as the HTTP client takes it. Files are opened when their turn comes.
    pub(super) fn to_stream(&self) -> reqwest::Body {
        if let [Part::Bytes(bytes)] = self.parts.as_slice() {
            return bytes.clone().into();
        }
        reqwest::Body::wrap_stream(stream::iter(self.parts.clone()).flat_map(|part| {
            match part {
                Part::Bytes(bytes) => stream::once(async move { Ok(bytes) }).boxed(),
                Part::File { path, offset, length } => stream::once(open(path, offset, length))
                    .map_ok(ReaderStream::new)
                    .try_flatten()
                    .boxed(),
            }
        }))
    }
}

/// A file from an offset on. It may grow meanwhile; no more than the announced length is sent.
async fn open(path: PathBuf, offset: u64, length: u64) -> io::Result<Take<File>> {
    let mut file = File::open(path).await?;
    if offset > 0 {
        file.seek(SeekFrom::Start(offset)).await?;
    }
    Ok(file.take(length))
}
