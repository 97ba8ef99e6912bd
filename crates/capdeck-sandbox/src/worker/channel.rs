//! The worker's end of the pipe: frames on standard input and output.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::protocol::{self, HostMessage, WorkerMessage};

const CHUNK: usize = 64 << 10;

/// Reads and writes frames without a second thread.
pub(super) struct WorkerChannel {
    input: io::Stdin,
    output: io::Stdout,
    buffer: Vec<u8>,
    chunk: Vec<u8>,
}

impl WorkerChannel {
    pub(super) fn new() -> Self {
        let (input, output) = (io::stdin(), io::stdout());
        Self { input, output, buffer: Vec::new(), chunk: vec![0; CHUNK] }
    }

    pub(super) fn send(&mut self, frame: &WorkerMessage) -> io::Result<()> {
        let bytes = protocol::encode(frame)?;
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            match rustix::io::write(self.output.as_fd(), left) {
                Ok(count) => left = left.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for the next frame. `None` when the host has closed the pipe.
    pub(super) fn receive(&mut self) -> io::Result<Option<HostMessage>> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// Returns the next frame if one arrives before the deadline. A closed pipe is an error here.
    pub(super) fn receive_until(&mut self, deadline: Instant) -> io::Result<Option<HostMessage>> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.readable(left)? {
                return Ok(None);
            }
            if self.fill()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<HostMessage>> {
        let Some(head) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let end = 4 + protocol::length(*head)?;
        let Some(body) = self.buffer.get(4..end) else { return Ok(None) };
        let frame = protocol::decode(body)?;
        self.buffer.drain(..end);
        if self.buffer.is_empty() && self.buffer.capacity() > 4 * CHUNK {
            self.buffer = Vec::new();
        }
        Ok(Some(frame))
    }

    fn readable(&self, left: Duration) -> io::Result<bool> {
        let wait = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut files = [PollFd::new(&self.input, PollFlags::IN)];
        match poll(&mut files, Some(&wait)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        loop {
            match rustix::io::read(self.input.as_fd(), self.chunk.as_mut_slice()) {
                Ok(count) => {
                    self.buffer.extend(self.chunk.iter().take(count));
                    return Ok(count);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
