//! Server-sent events: an incremental parser with a size limit, and an encoder.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;

/// One event, or a change of `id` or `retry` without data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's name; `None` means `message`.
    pub name: Option<String>,
    pub data: Vec<u8>,
    pub id: Option<String>,
    pub retry: Option<Duration>,
}

/// An event exceeds the limit; the stream is unusable after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseSizeError;

#[derive(Debug)]
pub struct SseParser {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    ready: VecDeque<SseEvent>,
    /// The last byte was a carriage return, so a line feed right after it belongs to it.
    after_return: bool,
    at_start: bool,
    limit: usize,
}

impl SseEvent {
    pub fn is_message(&self) -> bool {
        !self.data.is_empty() && self.name.as_deref().is_none_or(|name| name == "message")
    }
}

impl SseParser {
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            ready: VecDeque::new(),
            after_return: false,
            at_start: true,
            limit,
        }
    }

    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), SseSizeError> {
        if bytes.is_empty() {
            return Ok(());
        }
        // Only the first line feed belongs to it.
        if std::mem::take(&mut self.after_return) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = bytes.split_at(end);
            self.extend_line(head)?;
            self.end_line();
            let returned = tail.first() == Some(&b'\r');
            bytes = tail.get(1..).unwrap_or_default();
            if returned {
                match bytes.first() {
                    Some(b'\n') => bytes = bytes.get(1..).unwrap_or_default(),
                    None => self.after_return = true,
                    Some(_) => {}
                }
            }
        }
        self.extend_line(bytes)
    }

    pub fn pop(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    pub(crate) fn unfinished_bytes(&self) -> usize {
        self.line.len() + self.event.data.len()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseSizeError> {
        if self.unfinished_bytes() + bytes.len() > self.limit {
            return Err(SseSizeError);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event();
        } else {
            self.take_field(text);
            // Reuses the allocation for the next line, unless it is unusually large.
            if line.capacity() <= 64 * 1024 {
                self.line = line;
                self.line.clear();
            }
        }
    }

    fn take_field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let value = line.get(colon + 1..).unwrap_or_default();
                (line.get(..colon).unwrap_or_default(), value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, b"".as_slice()),
        };
        match name {
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = Some(String::from_utf8_lossy(value).into_owned()),
            b"id" if !value.contains(&0) => {
                self.event.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            // Only digits; the format has no sign.
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let millis = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.event.retry = millis.map(Duration::from_millis).or(self.event.retry);
            }
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let event = std::mem::take(&mut self.event);
        let has_data = std::mem::take(&mut self.has_data);
        if has_data || event.id.is_some() || event.retry.is_some() {
            self.ready.push_back(event);
        }
    }
}

pub(crate) fn encode_event(id: &str, data: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(data.len() + id.len() + 32);
    frame.extend_from_slice(b"event: message\nid: ");
    frame.extend_from_slice(id.as_bytes());
    frame.extend_from_slice(b"\ndata: ");
    frame.extend_from_slice(data);
    frame.extend_from_slice(b"\n\n");
    frame.into()
}

pub(crate) fn encode_message(data: &[u8]) -> Bytes {
    [b"event: message\ndata: ", data, b"\n\n"].concat().into()
}

/// An event that only has the id and the delay to resume.
pub(crate) fn encode_priming(id: &str, retry: Duration) -> Bytes {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

#[cfg(test)]
mod tests;
