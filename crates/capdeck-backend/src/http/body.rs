//! The body of a request, which may be longer than what one wants in memory.

use std::path::PathBuf;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::fs::File;
use tokio_util::io::ReaderStream;

/// Bytes and files, one after the other. Cheap to clone, so a request can be sent again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Bytes(Bytes),
    File { path: PathBuf, length: u64 },
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
    pub(crate) fn with_file(mut self, path: PathBuf, length: u64) -> Self {
        self.parts.push(Part::File { path, length });
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
        reqwest::Body::wrap_stream(stream::iter(self.parts.clone()).flat_map(|part| match part {
            Part::Bytes(bytes) => stream::once(async move { Ok(bytes) }).boxed(),
            Part::File { path, .. } => {
                stream::once(File::open(path)).map_ok(ReaderStream::new).try_flatten().boxed()
            }
        }))
    }
}
