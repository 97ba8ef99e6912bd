//! State shared by the native functions and the engine loop.

use std::{
    cell::{RefCell, RefMut},
    collections::{BTreeSet, VecDeque},
    io,
    rc::Rc,
};

use serde_json::value::RawValue;

use super::{
    channel::Channel,
    clock::{Chance, Clock},
    meter::Meter,
    timeline::Timeline,
    timers::Timers,
};
use crate::{
    DeckOperation,
    envelope::LogEntry,
    limits::Limits,
    moment::Repeat,
    protocol::{FromWorker, Passed, RunRequest},
    run::Determinism,
};

const MOST_LOG_ENTRIES: usize = 2_000;

/// Used by one thread, so it needs no locks. Cheap to clone.
#[derive(Clone)]
pub(super) struct Shared {
    channel: Rc<RefCell<Channel>>,
    pub(super) meter: Meter,
    run: Rc<RefCell<RunState>>,
}

pub(super) struct RunState {
    pub(super) limits: Limits,
    pub(super) clock: Clock,
    pub(super) chance: Chance,
    pub(super) timers: Timers,
    pub(super) timeline: Timeline,
    pub(super) calls: Calls,
    pub(super) logs: LogCount,
}

impl Shared {
    pub(super) fn new(channel: Channel) -> Self {
        let run = RunState::new(Limits::default(), None, None);
        Self {
            channel: Rc::new(RefCell::new(channel)),
            meter: Meter::unlimited(),
            run: Rc::new(RefCell::new(run)),
        }
    }

    pub(super) fn channel(&self) -> RefMut<'_, Channel> {
        self.channel.borrow_mut()
    }

    pub(super) fn run(&self) -> RefMut<'_, RunState> {
        self.run.borrow_mut()
    }

    /// Resets the state of the last run. Call numbers continue, so that a late response finds no call.
    pub(super) fn begin(&self, request: &RunRequest) {
        let mut run = self.run();
        let last_id = run.calls.last_id;
        *run = RunState::new(request.limits, request.determinism, request.repeat.as_ref());
        run.calls.last_id = last_id;
    }

    pub(super) fn log(&self, level: String, message: String) {
        let admitted = {
            let mut run = self.run();
            let most = run.limits.log_bytes;
            run.logs.admit(message.len(), most)
        };
        if admitted {
            // A broken pipe ends the run soon.
            let _host_gone = self.channel().send(&FromWorker::Log(LogEntry { level, message }));
        }
    }

    /// Sends as many queued calls as the concurrency limit allows.
    pub(super) fn send_calls(&self) -> io::Result<()> {
        loop {
            let frame = {
                let mut run = self.run();
                let most = run.limits.concurrent_calls as usize;
                let run = &mut *run;
                run.calls.next_frame(most, &mut run.timeline)
            };
            let Some(frame) = frame else { return Ok(()) };
            self.channel().send(&frame)?;
        }
    }
}

impl RunState {
    fn new(limits: Limits, determinism: Option<Determinism>, repeat: Option<&Repeat>) -> Self {
        let before_ms = repeat.map_or(0.0, |repeat| repeat.elapsed_ms);
        Self {
            limits,
            clock: Clock::new(determinism, before_ms),
            chance: Chance::new(determinism),
            timers: Timers::default(),
            timeline: Timeline::new(repeat),
            calls: Calls::default(),
            logs: LogCount::default(),
        }
    }
}

impl RunState {
    /// Records the moment of a response. Returns false when no call waits for it.
    pub(super) fn take_answer(&mut self, id: u32) -> bool {
        if !self.calls.answered(id) {
            return false;
        }
        if self.clock.is_repeatable() {
            let clock_ms = self.timeline.expected_clock().or_else(|| self.clock.answer_ms());
            clock_ms.into_iter().for_each(|clock_ms| self.clock.reach(clock_ms));
            self.timeline.note(self.clock.monotonic_ms());
        }
        true
    }
}

#[derive(Default)]
pub(super) struct Calls {
    made: u32,
    last_id: u32,
    line: VecDeque<FromWorker>,
    under_way: BTreeSet<u32>,
}

impl Calls {
    /// Adds a call. Returns `None` over the call limit.
    pub(super) fn add(
        &mut self,
        most: u32,
        capability: Option<String>,
        method: DeckOperation,
        args: Box<RawValue>,
    ) -> Option<u32> {
        if self.made >= most {
            return None;
        }
        self.made += 1;
        self.last_id = self.last_id.wrapping_add(1);
        let id = self.last_id;
        self.line.push_back(FromWorker::Call {
            id,
            capability,
            method,
            args,
            so_far: Passed::default(),
        });
        Some(id)
    }

    fn next_frame(&mut self, most: usize, timeline: &mut Timeline) -> Option<FromWorker> {
        if self.under_way.len() >= most {
            return None;
        }
        let mut frame = self.line.pop_front()?;
        if let FromWorker::Call { id, so_far, .. } = &mut frame {
            *so_far = timeline.so_far();
            self.under_way.insert(*id);
        }
        Some(frame)
    }

    fn answered(&mut self, id: u32) -> bool {
        self.under_way.remove(&id)
    }

    pub(super) fn open(&self) -> usize {
        self.under_way.len() + self.line.len()
    }
}

#[derive(Default)]
pub(super) struct LogCount {
    bytes: usize,
    entries: usize,
    pub(super) dropped: u64,
}

impl LogCount {
    /// Returns whether one more entry is within the limit; counts it either way.
    fn admit(&mut self, bytes: usize, most_bytes: usize) -> bool {
        if self.bytes + bytes > most_bytes || self.entries == MOST_LOG_ENTRIES {
            self.dropped += 1;
            return false;
        }
        self.bytes += bytes;
        self.entries += 1;
        true
    }
}
