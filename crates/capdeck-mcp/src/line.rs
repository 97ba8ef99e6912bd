//! Newline framing with a bound on the length of a line.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use crate::message_budget::{LARGE_MESSAGE_BYTES, MessageBudget, MessageRoom, RoomReservation};

#[derive(Debug, PartialEq, Eq)]
pub enum FramedLine {
    Text(Bytes),
    /// A line over the limit. Reported once, as soon as it is known; the rest of the line is dropped.
    TooLong,
}

/// Splits a byte stream into lines. `next` is cancel-safe.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    buffer: BytesMut,
    /// The buffer has no line break up to here.
    searched: usize,
    skipping: bool,
    limit: usize,
    /// The room of a long line, where the connection shares a budget.
    reservation: Option<RoomReservation>,
    room: Option<MessageRoom>,
}

const CHUNK: usize = 16 * 1024;

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            buffer: BytesMut::with_capacity(CHUNK),
            searched: 0,
            skipping: false,
            limit,
            reservation: None,
            room: None,
        }
    }

    /// Lines that become large wait for room in this budget.
    pub(crate) fn with_budget(reader: R, limit: usize, budget: MessageBudget) -> Self {
        let reservation = RoomReservation::new(budget, limit);
        let limit = reservation.limit();
        Self { reservation: Some(reservation), ..Self::new(reader, limit) }
    }

    pub(crate) fn take_room(&mut self) -> Option<MessageRoom> {
        self.room.take()
    }

    /// Returns the next non-blank line without its line break. `None` at the end of the stream.
    pub async fn next(&mut self) -> io::Result<Option<FramedLine>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.read_more().await? == 0 {
                self.finish_line(self.buffer.len());
                let rest = trim(self.buffer.split().freeze());
                self.searched = 0;
                // A last line without a line break counts.
                return Ok((!rest.is_empty() && !self.skipping).then_some(FramedLine::Text(rest)));
            }
        }
    }

    async fn read_more(&mut self) -> io::Result<usize> {
        let Some(reservation) = self.reservation.as_mut().filter(|_| !self.skipping) else {
            self.buffer.reserve(CHUNK);
            return self.reader.read_buf(&mut self.buffer).await;
        };
        reservation.admit(self.buffer.len()).await;
        if self.buffer.len() > LARGE_MESSAGE_BYTES {
            // At once, because growing step by step would need the memory of both buffers each time.
            self.buffer.reserve((self.limit + CHUNK).saturating_sub(self.buffer.len()).max(CHUNK));
        } else {
            self.buffer.reserve(CHUNK);
        }
        reservation.read(self.reader.read_buf(&mut self.buffer)).await
    }

    /// The line that ends here is complete or refused.
    fn finish_line(&mut self, length: usize) {
        self.room = self.reservation.as_mut().and_then(|reservation| reservation.finish(length));
    }

    fn take_line(&mut self) -> Option<FramedLine> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(found) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                if self.skipping {
                    self.buffer.clear();
                    self.searched = 0;
                } else if self.buffer.len() > self.limit {
                    self.buffer = BytesMut::with_capacity(CHUNK);
                    self.searched = 0;
                    self.skipping = true;
                    self.finish_line(0);
                    return Some(FramedLine::TooLong);
                }
                return None;
            };
            let end = self.searched + found;
            let line = self.buffer.split_to(end + 1).freeze();
            self.searched = 0;
            if line.len() > LARGE_MESSAGE_BYTES {
                // The line and the buffer share one allocation, which the buffer would use again for ever.
                let mut rest = BytesMut::with_capacity(self.buffer.len().max(CHUNK));
                rest.extend_from_slice(&self.buffer);
                self.buffer = rest;
            }
            self.finish_line(line.len());
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            // Counted with its spaces: the result must not depend on how much has arrived.
            if end > self.limit {
                return Some(FramedLine::TooLong);
            }
            let line = trim(line);
            if !line.is_empty() {
                return Some(FramedLine::Text(line));
            }
        }
    }
}

/// Writes queued lines, which include their line break, until the queue closes or the peer is gone.
///
/// After `finish` no more lines are taken, and queued ones are written.
pub(crate) async fn write_lines<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<Vec<u8>>,
    finish: CancellationToken,
) -> io::Result<()> {
    let mut ready = Vec::new();
    loop {
        let count = tokio::select! {
            count = lines.recv_many(&mut ready, 32) => count,
            () = finish.cancelled(), if !lines.is_closed() => {
                lines.close();
                continue;
            }
        };
        if count == 0 {
            return writer.shutdown().await;
        }
        for line in ready.drain(..) {
            writer.write_all(&line).await?;
        }
        writer.flush().await?;
    }
}

fn trim(line: Bytes) -> Bytes {
    let text = line.trim_ascii();
    if text.len() == line.len() { line } else { line.slice_ref(text) }
}

#[cfg(test)]
mod tests;
