//! One client's HTTP session: its conversation and its streams.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{
    SessionOwner,
    conversation::ServerConversation,
    event_stream::{EventStream, ReaderBehaviour},
};
use crate::{MAX_MESSAGE_BYTES, ProtocolRevision};

/// Bounds the resumable response streams of one session, and the content of finished ones.
const MAX_STREAMS: usize = 64;
const MAX_FINISHED_BYTES: usize = 2 * MAX_MESSAGE_BYTES;

/// The time in which a client with a broken connection can still read a finished stream.
const REPLAY_WINDOW: Duration = Duration::from_secs(60);

/// How many times as long a client may be silent that had no stream: it may be one that opens none.
pub(super) const NO_STREAM_FACTOR: u32 = 10;

pub(super) struct HttpSession {
    pub(super) id: String,
    pub(super) principal: SessionOwner,
    pub(super) revision: ProtocolRevision,
    pub(super) conversation: Arc<ServerConversation>,
    /// Queues messages without a request until the client listens.
    pub(super) unasked: Arc<EventStream>,
    streams: Mutex<VecDeque<Arc<EventStream>>>,
    next_key: AtomicU64,
    last_used: Mutex<Instant>,
    /// The client opens streams, so one without a stream is gone.
    had_stream: AtomicBool,
}

impl HttpSession {
    pub(super) fn new(
        id: String,
        principal: SessionOwner,
        revision: ProtocolRevision,
        conversation: Arc<ServerConversation>,
        unasked: Arc<EventStream>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            principal,
            revision,
            conversation,
            unasked,
            streams: Mutex::default(),
            next_key: AtomicU64::new(1),
            last_used: Mutex::new(Instant::now()),
            had_stream: AtomicBool::new(false),
        })
    }

    /// Creates a stream for the responses to one POST. It cannot be resumed until it is registered.
    pub(super) fn new_stream(&self, answers: usize) -> Arc<EventStream> {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        let primed = self.revision.has_priming_event();
        let readers = if primed { ReaderBehaviour::ComeBack } else { ReaderBehaviour::Stay };
        EventStream::for_answers(key, answers, readers)
    }

    pub(super) fn keep_stream(&self, stream: Arc<EventStream>) {
        let mut streams = self.streams.lock();
        let finished = streams.iter().filter(|stream| stream.ended_at().is_some());
        let mut held: usize = finished.map(|stream| stream.bytes()).sum();
        while streams.len() >= MAX_STREAMS || held > MAX_FINISHED_BYTES {
            // Prefer a finished stream: a client is least likely to need it.
            let victim = streams.iter().position(|stream| stream.ended_at().is_some());
            let Some(victim) = streams.remove(victim.unwrap_or(0)) else { break };
            held = held.saturating_sub(victim.bytes());
        }
        streams.push_back(stream);
    }

    pub(super) fn find_stream(&self, event_id: &str) -> Option<(Arc<EventStream>, u64)> {
        let (key, number) = event_id.split_once('-')?;
        let (key, number) = (key.parse::<u64>().ok()?, number.parse().ok()?);
        if key == self.unasked.key {
            return Some((Arc::clone(&self.unasked), number));
        }
        let streams = self.streams.lock();
        let stream = streams.iter().find(|stream| stream.key == key)?;
        Some((Arc::clone(stream), number))
    }

    pub(super) fn sweep(&self) {
        self.streams.lock().retain(|stream| {
            stream.is_attached()
                || stream.ended_at().is_none_or(|ended| ended.elapsed() < REPLAY_WINDOW)
        });
    }

    pub(super) fn open_streams(&self) -> usize {
        let answers = self.streams.lock().iter().filter(|stream| stream.is_attached()).count();
        answers + usize::from(self.unasked.is_attached())
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    /// Returns the idle time; `None` while the session is busy.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        if self.conversation.is_busy() || self.unasked.is_attached() {
            return None;
        }
        Some(self.last_used.lock().elapsed())
    }

    /// Whether the client has given no sign of life for so long. Looked at often, to know when a stream ended.
    pub(super) fn is_resting(&self, rest: Duration) -> bool {
        if self.unasked.is_attached() {
            self.had_stream.store(true, Ordering::Relaxed);
            self.touch();
        }
        let rest = match self.had_stream.load(Ordering::Relaxed) {
            true => rest,
            false => rest.saturating_mul(NO_STREAM_FACTOR),
        };
        self.idle_for().is_some_and(|idle| idle >= rest)
    }

    pub(super) async fn rest(&self) {
        self.conversation.rest().await;
    }

    pub(super) async fn end(&self) {
        self.conversation.end().await;
        self.unasked.end();
    }
}
