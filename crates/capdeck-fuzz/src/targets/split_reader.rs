//! A stream that hands out its bytes in pieces.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Hands out bytes in pieces of a few sizes that depend on the bytes themselves, so that an input is always split alike.
pub(crate) struct SplitReader<'a> {
    bytes: &'a [u8],
    state: u64,
    /// 0 hands out everything at once.
    largest: usize,
}

impl<'a> SplitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], largest: usize) -> Self {
        Self { bytes, state: bytes.len() as u64 ^ (largest as u64) << 32, largest }
    }

    /// The size of the next piece.
    fn next_size(&mut self) -> usize {
        if self.largest == 0 {
            return self.bytes.len();
        }
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (1 + (self.state >> 33) as usize % self.largest).min(self.bytes.len())
    }

    /// All pieces.
    pub(crate) fn pieces(mut self) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !self.bytes.is_empty() {
            let (piece, rest) = self.bytes.split_at(self.next_size());
            self.bytes = rest;
            pieces.push(piece);
        }
        pieces
    }
}

impl AsyncRead for SplitReader<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = self.next_size().min(buffer.remaining());
        let (piece, rest) = self.bytes.split_at(size);
        buffer.put_slice(piece);
        self.bytes = rest;
        Poll::Ready(Ok(()))
    }
}
