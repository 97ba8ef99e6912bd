//! Tests of framing with every split of the input, and of the size limit.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::FutureExt;
use proptest::prelude::*;
use tokio::io::ReadBuf;

use super::*;

struct Pieces {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
    turn: usize,
    given: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.bytes[self.given..];
        let size = self.sizes[self.turn % self.sizes.len()].min(rest.len()).min(buffer.remaining());
        buffer.put_slice(&rest[..size]);
        self.turn += 1;
        self.given += size;
        Poll::Ready(Ok(()))
    }
}

async fn lines(bytes: &[u8], sizes: &[usize], limit: usize) -> Vec<FramedLine> {
    let pieces = Pieces { bytes: bytes.to_vec(), sizes: sizes.to_vec(), turn: 0, given: 0 };
    let mut reader = LineReader::new(pieces, limit);
    let mut all = Vec::new();
    while let Some(line) = reader.next().await.unwrap() {
        all.push(line);
    }
    all
}

fn text(line: &str) -> FramedLine {
    FramedLine::Text(Bytes::copy_from_slice(line.as_bytes()))
}

#[tokio::test]
async fn blank_lines_and_carriage_returns_are_dropped_and_a_last_line_counts() {
    let found = lines(b"a\r\n\n  \nb\nc", &[3], 100).await;
    assert_eq!(found, [text("a"), text("b"), text("c")]);
}

#[tokio::test]
async fn a_long_line_is_reported_once_and_the_next_one_is_read() {
    for size in [1, 7, 1000] {
        let mut bytes = vec![b'x'; 500];
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(&bytes, &[size], 100).await, [FramedLine::TooLong, text("next")]);
    }
}

/// Spaces around a line count, whether or not they arrive with it.
#[tokio::test]
async fn the_limit_does_not_depend_on_how_a_line_arrives() {
    for (line, fits) in [
        (format!("{}\r\nnext\n", "x".repeat(99)), true),
        (format!("{}\r\nnext\n", "x".repeat(100)), false),
        (format!("  {}  \nnext\n", "x".repeat(98)), false),
        (format!("{}\nnext\n", "x".repeat(100)), true),
    ] {
        for size in [1, 2, 50, 1000] {
            let found = lines(line.as_bytes(), &[size], 100).await;
            let first = if fits { text(line.lines().next().unwrap()) } else { FramedLine::TooLong };
            assert_eq!(found, [first, text("next")], "{line:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn a_long_line_is_not_kept() {
    let pieces = Pieces { bytes: vec![b'x'; 20_000_000], sizes: vec![60_000], turn: 0, given: 0 };
    let mut reader = LineReader::new(pieces, 1_000_000);
    assert_eq!(reader.next().await.unwrap(), Some(FramedLine::TooLong));
    assert_eq!(reader.next().await.unwrap(), None);
    assert!(reader.buffer.capacity() < 200_000, "{}", reader.buffer.capacity());
}

proptest! {
    #[test]
    fn how_the_bytes_arrive_does_not_matter(
        parts in proptest::collection::vec("[a-z]{1,30}", 0..12),
        sizes in proptest::collection::vec(1usize..40, 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let joined = parts.iter().map(|part| format!("{part}\n")).collect::<String>();
        let found = runtime.block_on(lines(joined.as_bytes(), &sizes, 100));
        prop_assert_eq!(found, parts.iter().map(|part| text(part)).collect::<Vec<_>>());
    }
}

fn long_line(length: usize) -> Pieces {
    let mut bytes = vec![b'x'; length];
    bytes.extend_from_slice(b"\nnext\n");
    Pieces { bytes, sizes: vec![64 * 1024], turn: 0, given: 0 }
}

#[tokio::test]
async fn the_buffer_does_not_keep_the_memory_of_a_long_line() {
    let mut reader = LineReader::new(long_line(3 * LARGE_MESSAGE_BYTES), 4 * LARGE_MESSAGE_BYTES);
    for length in [3 * LARGE_MESSAGE_BYTES, "next".len()] {
        let Some(FramedLine::Text(line)) = reader.next().await.unwrap() else { panic!() };
        assert_eq!(line.len(), length);
        drop(line);
        assert!(reader.buffer.capacity() <= 4 * CHUNK, "{}", reader.buffer.capacity());
    }
}

#[tokio::test]
async fn a_long_line_waits_until_the_room_of_another_is_free() {
    let limit = 4 * LARGE_MESSAGE_BYTES;
    let budget = MessageBudget::new(limit + LARGE_MESSAGE_BYTES);
    let reader =
        || LineReader::with_budget(long_line(2 * LARGE_MESSAGE_BYTES), limit, budget.clone());
    let (mut first, mut second) = (reader(), reader());
    let FramedLine::Text(_) = first.next().await.unwrap().unwrap() else { panic!() };
    let room = first.take_room();
    assert!(second.next().now_or_never().is_none(), "the room is not free");
    drop(room);
    let FramedLine::Text(line) = second.next().await.unwrap().unwrap() else { panic!() };
    assert_eq!(line.len(), 2 * LARGE_MESSAGE_BYTES);
    assert!(first.take_room().is_none(), "a short line needs no room");
}

#[tokio::test]
async fn only_a_line_that_never_fits_into_the_budget_is_refused() {
    let budget = MessageBudget::new(2 * LARGE_MESSAGE_BYTES);
    let long = long_line(3 * LARGE_MESSAGE_BYTES);
    let mut reader = LineReader::with_budget(long, usize::MAX, budget);
    assert_eq!(reader.next().await.unwrap(), Some(FramedLine::TooLong));
    assert_eq!(reader.next().await.unwrap(), Some(text("next")));
}
