//! An event stream to a client: queue, replay buffer and resumption point.
//!
//! Messages are numbered as they are added. A reader can start at any number; after a broken connection the next
//! reader starts after the last number its client saw. Only one reader is served at a time: a newer one ends the
//! older.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::message_budget::LARGE_MESSAGE_BYTES;

/// Bounds the delivered events and the unread notifications of a stream.
const MAX_EVENTS: usize = 1024;
const MAX_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct EventStream {
    pub(super) key: u64,
    readers: ReaderBehaviour,
    state: Mutex<EventStreamState>,
}

/// The reaction of clients to a connection that ends before the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReaderBehaviour {
    /// They may treat it as a failure.
    Stay,
    /// They received the data to resume, before anything else.
    ComeBack,
    /// They cannot resume: delivered events are dropped.
    ReadOnce,
}

#[derive(Debug)]
struct EventStreamState {
    events: VecDeque<StoredEvent>,
    bytes: usize,
    /// The number of the newest event, starting at 1.
    newest: u64,
    delivered: u64,
    /// The number of outstanding responses; the stream ends with the last.
    answers_due: usize,
    ended: Option<Instant>,
    /// The client must reconnect for the rest.
    paused: bool,
    /// Counts readers; only the newest is served.
    reader: u64,
    attached: bool,
    waker: Option<Waker>,
}

#[derive(Debug)]
struct StoredEvent {
    number: u64,
    message: Bytes,
    is_answer: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamStart {
    AnswersOnly(Vec<Bytes>),
    /// Another message came before the last response, or the client must reconnect.
    Mixed,
}

impl EventStream {
    pub(super) fn for_answers(key: u64, answers_due: usize, readers: ReaderBehaviour) -> Arc<Self> {
        Arc::new(Self {
            key,
            readers,
            state: Mutex::new(EventStreamState {
                events: VecDeque::new(),
                bytes: 0,
                newest: 0,
                delivered: 0,
                answers_due,
                ended: None,
                paused: false,
                reader: 0,
                attached: false,
                waker: None,
            }),
        })
    }

    pub(super) fn for_session(key: u64) -> Arc<Self> {
        Self::for_answers(key, usize::MAX, ReaderBehaviour::Stay)
    }

    /// Adds a message that may be lost. Returns false when the stream is full.
    pub(super) fn offer(&self, message: Bytes) -> bool {
        let mut state = self.state.lock();
        state.forget_delivered();
        if state.events.len() >= MAX_EVENTS || state.bytes >= MAX_BYTES {
            return false;
        }
        state.add(message, false)
    }

    /// Adds a message that must not be lost. Callers bound their number.
    pub(super) fn push(&self, message: Bytes) -> bool {
        let mut state = self.state.lock();
        state.forget_delivered();
        state.add(message, false)
    }

    /// Adds a response. The last one ends the stream.
    pub(super) fn push_answer(&self, message: Bytes) {
        let mut state = self.state.lock();
        state.forget_delivered();
        state.answers_due = state.answers_due.saturating_sub(1);
        state.add(message, true);
        if state.answers_due == 0 {
            state.end();
        }
    }

    pub(super) fn end(&self) {
        self.state.lock().end();
    }

    /// Ends the current reader's connection, not the stream: the client reconnects for the rest.
    pub(super) fn pause(&self) {
        let mut state = self.state.lock();
        // A client that is already away must not be sent away when it reconnects.
        let is_away = state.reader > 0 && !state.attached;
        state.paused =
            self.readers == ReaderBehaviour::ComeBack && state.ended.is_none() && !is_away;
        state.wake();
    }

    pub(super) fn ended_at(&self) -> Option<Instant> {
        self.state.lock().ended
    }

    pub(super) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    pub(super) fn is_attached(&self) -> bool {
        self.state.lock().attached
    }

    /// Waits for all responses, or for the first other message.
    pub(super) fn poll_beginning(&self, context: &mut Context<'_>) -> Poll<StreamStart> {
        let mut state = self.state.lock();
        if state.paused || state.events.iter().any(|event| !event.is_answer) {
            return Poll::Ready(StreamStart::Mixed);
        }
        if state.ended.is_some() {
            let answers = state.events.iter().map(|event| event.message.clone()).collect();
            return Poll::Ready(StreamStart::AnswersOnly(answers));
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().events.is_empty()
    }

    /// Makes the caller the stream's reader and returns its ticket.
    pub(super) fn attach(&self) -> u64 {
        let mut state = self.state.lock();
        state.reader += 1;
        state.attached = true;
        state.wake();
        state.reader
    }

    pub(super) fn detach(&self, ticket: u64) {
        let mut state = self.state.lock();
        if state.reader == ticket {
            state.attached = false;
            state.waker = None;
        }
    }

    /// Returns the newest delivered number: the start of a reader without a position.
    pub(super) fn delivered(&self) -> u64 {
        self.state.lock().delivered
    }

    /// Returns the next event after `position`. `None` at the end, and for a replaced reader.
    pub(super) fn poll_after(
        &self,
        position: u64,
        ticket: u64,
        context: &mut Context<'_>,
    ) -> Poll<Option<(u64, Bytes)>> {
        let mut state = self.state.lock();
        if state.reader != ticket {
            return Poll::Ready(None);
        }
        let next = state.events.partition_point(|event| event.number <= position);
        if let Some(event) = state.events.get(next) {
            let found = (event.number, event.message.clone());
            state.delivered = state.delivered.max(found.0);
            if self.readers == ReaderBehaviour::ReadOnce {
                state.forget_first();
            }
            return Poll::Ready(Some(found));
        }
        if state.ended.is_some() {
            state.forget_large();
            return Poll::Ready(None);
        }
        if std::mem::take(&mut state.paused) {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl EventStreamState {
    fn add(&mut self, message: Bytes, is_answer: bool) -> bool {
        if self.ended.is_some() {
            return false;
        }
        self.newest += 1;
        self.bytes += message.len();
        self.events.push_back(StoredEvent { number: self.newest, message, is_answer });
        self.wake();
        true
    }

    fn end(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn forget_delivered(&mut self) {
        while self.events.len() >= MAX_EVENTS || self.bytes >= MAX_BYTES {
            match self.events.front() {
                Some(oldest) if oldest.number <= self.delivered => self.forget_first(),
                _ => return,
            }
        }
    }

    /// Large answers that were read to their end are not kept for a client that might come back.
    fn forget_large(&mut self) {
        while self.bytes > LARGE_MESSAGE_BYTES
            && self.events.front().is_some_and(|oldest| oldest.number <= self.delivered)
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(oldest) = self.events.pop_front() {
            self.bytes -= oldest.message.len();
        }
    }
}

#[cfg(test)]
mod tests;
