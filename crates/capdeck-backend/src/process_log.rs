//! The last words of a capability's processes: bounded, scrubbed, kept for `why` and for errors.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use capdeck_auth::SecretScrubber;
use capdeck_definition::CapabilityId;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

const MAX_BYTES: usize = 64 * 1024;

/// A longer line is cut; the rest of it is read and dropped.
const MAX_LINE: usize = 4 * 1024;

#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessLogs(Arc<Mutex<indexmap::IndexMap<CapabilityId, ProcessLog>>>);

/// One capability's log, as one of its processes writes it. Cheap to clone; all clones write to the same log.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessLog {
    lines: Arc<Mutex<ProcessLogLines>>,
    /// Which of the processes writes here.
    process: u64,
    /// When it last wrote something, be it half a line.
    last_write: Arc<Mutex<Option<Instant>>>,
}

#[derive(Debug, Default)]
struct ProcessLogLines {
    /// Each line with the number of the process that wrote it.
    lines: VecDeque<(u64, String)>,
    bytes: usize,
    processes: u64,
}

impl ProcessLogs {
    pub(crate) fn log_of(&self, id: &CapabilityId) -> ProcessLog {
        self.0.lock().entry(id.clone()).or_default().clone()
    }

    /// The same for a new process of the capability, whose lines are separate from those of others.
    pub(crate) fn of_process(&self, id: &CapabilityId) -> ProcessLog {
        let ProcessLog { lines, .. } = self.log_of(id);
        let process = {
            let mut log = lines.lock();
            log.processes += 1;
            log.processes
        };
        ProcessLog { lines, process, last_write: Arc::default() }
    }

    /// What is kept for a capability. `None` when it never wrote anything.
    pub(crate) fn read(&self, id: &str) -> Option<String> {
        let log = self.0.lock().get(id)?.clone();
        let text = log.text();
        (!text.is_empty()).then_some(text)
    }
}

impl ProcessLog {
    /// Adds one line, already scrubbed.
    pub(crate) fn push(&self, mut line: String) {
        if line.len() > MAX_LINE {
            line.truncate(line.floor_char_boundary(MAX_LINE));
            line.push('…');
        }
        let mut log = self.lines.lock();
        log.bytes += line.len() + 1;
        log.lines.push_back((self.process, line));
        while log.bytes > MAX_BYTES {
            let Some((_, oldest)) = log.lines.pop_front() else { break };
            log.bytes -= oldest.len() + 1;
        }
    }

    pub(crate) fn text(&self) -> String {
        self.joined(|_| true)
    }

    pub(crate) fn last_write(&self) -> Option<Instant> {
        *self.last_write.lock()
    }

    pub(crate) fn own_text(&self) -> String {
        self.joined(|process| process == self.process)
    }

    fn joined(&self, is_wanted: impl Fn(u64) -> bool) -> String {
        let log = self.lines.lock();
        let mut text = String::new();
        for (_, line) in log.lines.iter().filter(|(process, _)| is_wanted(*process)) {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Reads a stream to its end, line by line, in bounded memory.
    pub(crate) async fn drain(self, mut stream: impl AsyncRead + Unpin, scrubber: SecretScrubber) {
        let mut buffer = vec![0; 16 * 1024];
        let mut line: Vec<u8> = Vec::new();
        // A read error means the pipe is gone, which ends the log like an orderly end does.
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            *self.last_write.lock() = Some(Instant::now());
            for byte in buffer.iter().take(count) {
                if *byte == b'\n' {
                    self.push_bytes(&line, &scrubber);
                    line.clear();
                } else if line.len() <= MAX_LINE {
                    line.push(*byte);
                }
            }
        }
        if !line.is_empty() {
            self.push_bytes(&line, &scrubber);
        }
    }

    fn push_bytes(&self, line: &[u8], scrubber: &SecretScrubber) {
        let text = String::from_utf8_lossy(line);
        self.push(scrubber.text(text.trim_end_matches('\r')).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use capdeck_auth::Secret;

    use super::*;

    #[tokio::test]
    async fn a_megabyte_keeps_its_last_64_kib() {
        let mut stream = Vec::new();
        for number in 0..20_000 {
            stream.extend(format!("line {number:06} {}\n", "x".repeat(40)).into_bytes());
        }
        let log = ProcessLog::default();
        log.clone().drain(stream.as_slice(), SecretScrubber::default()).await;
        let text = log.text();
        assert!(text.len() <= MAX_BYTES && text.len() > MAX_BYTES - 100, "{}", text.len());
        assert!(text.ends_with(&format!("line 019999 {}\n", "x".repeat(40))));
        assert!(text.starts_with("line "));
    }

    #[tokio::test]
    async fn lines_are_cut_and_scrubbed() {
        let secret = Secret::new("canary-1");
        let stream = format!("a canary-1\r\n{}\nlast", "é".repeat(5_000));
        let log = ProcessLog::default();
        log.clone().drain(stream.as_bytes(), SecretScrubber::new([&secret])).await;
        let text = log.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[2]), ("a [redacted]", "last"));
        assert!(lines[1].ends_with('…') && lines[1].len() <= MAX_LINE + 8, "{}", lines[1].len());
    }
}
