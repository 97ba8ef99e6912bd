//! State shared by the native functions and the engine loop.

use std::{
    cell::{RefCell, RefMut},
    collections::{BTreeSet, VecDeque},
    io,
    rc::Rc,
};

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{
    channel::WorkerChannel,
    clock::{RandomGenerator, ScriptClock},
    run_meter::RunMeter,
    timers::{ReplayTimeline, ScriptTimers},
};
use crate::{
    DeckOperation,
    envelope::LogEntry,
    protocol::{ReplayProgress, RunRequest, WorkerMessage},
    run::{DeterminismSettings, EarlierRun},
    settings::SandboxLimits,
};

const MAX_LOG_ENTRIES: usize = 2_000;

/// Used by one thread, so it needs no locks. Cheap to clone.
#[derive(Clone)]
pub(super) struct WorkerContext {
    channel: Rc<RefCell<WorkerChannel>>,
    pub(super) meter: RunMeter,
    run: Rc<RefCell<CellState>>,
}

pub(super) struct CellState {
    pub(super) limits: SandboxLimits,
    pub(super) clock: ScriptClock,
    pub(super) chance: RandomGenerator,
    pub(super) timers: ScriptTimers,
    pub(super) timeline: ReplayTimeline,
    pub(super) calls: ScriptCalls,
    pub(super) logs: LogCount,
}

impl WorkerContext {
    pub(super) fn new(channel: WorkerChannel) -> Self {
        let run = CellState::new(SandboxLimits::default(), None, None);
        Self {
            channel: Rc::new(RefCell::new(channel)),
            meter: RunMeter::unlimited(),
            run: Rc::new(RefCell::new(run)),
        }
    }

    pub(super) fn channel(&self) -> RefMut<'_, WorkerChannel> {
        self.channel.borrow_mut()
    }

    pub(super) fn run(&self) -> RefMut<'_, CellState> {
        self.run.borrow_mut()
    }

    /// Resets the state of the last run. Call numbers continue, so that a late response finds no call.
    pub(super) fn begin(&self, request: &RunRequest) {
        let mut run = self.run();
        let last_id = run.calls.last_id;
        *run = CellState::new(request.limits, request.determinism, request.repeat.as_ref());
        run.calls.last_id = last_id;
    }

    pub(super) fn log(&self, level: String, message: String) {
        let admitted = {
            let mut run = self.run();
            let most = run.limits.log_bytes;
            let at = run.clock.now_ms();
            run.logs.admit(message.len(), most).then_some(at)
        };
        if let Some(at) = admitted {
            let entry = LogEntry { level, message, timestamp: log_time(at) };
            // A broken pipe ends the run soon.
            let _host_gone = self.channel().send(&WorkerMessage::Log(entry));
        }
    }

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

/// The time of a log entry by the clock of the script, which a replay repeats.
fn log_time(ms: f64) -> Option<Timestamp> {
    #[expect(clippy::cast_possible_truncation, reason = "the clock counts whole milliseconds")]
    Timestamp::from_millisecond(ms as i64).ok()
}

impl CellState {
    fn new(
        limits: SandboxLimits,
        determinism: Option<DeterminismSettings>,
        repeat: Option<&EarlierRun>,
    ) -> Self {
        let before_ms = repeat.map_or(0.0, |repeat| repeat.elapsed_ms);
        Self {
            limits,
            clock: ScriptClock::new(determinism, before_ms),
            chance: RandomGenerator::new(determinism),
            timers: ScriptTimers::default(),
            timeline: ReplayTimeline::new(repeat),
            calls: ScriptCalls::default(),
            logs: LogCount::default(),
        }
    }

    /// Records the moment of a response. Returns false when no call waits for it.
    pub(super) fn take_answer(&mut self, id: u32) -> bool {
        if !self.calls.answered(id) {
            return false;
        }
        if self.clock.is_repeatable() {
            let clock_ms = self.timeline.expected_clock().or_else(|| self.clock.answer_ms());
            clock_ms.into_iter().for_each(|clock_ms| self.clock.advance_to(clock_ms));
            self.timeline.record_moment(self.clock.monotonic_ms());
        }
        true
    }
}

#[derive(Default)]
pub(super) struct ScriptCalls {
    made: u32,
    last_id: u32,
    line: VecDeque<WorkerMessage>,
    under_way: BTreeSet<u32>,
}

impl ScriptCalls {
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
        self.line.push_back(WorkerMessage::Call {
            id,
            capability,
            method,
            args,
            so_far: ReplayProgress::default(),
        });
        Some(id)
    }

    fn next_frame(&mut self, most: usize, timeline: &mut ReplayTimeline) -> Option<WorkerMessage> {
        if self.under_way.len() >= most {
            return None;
        }
        let mut frame = self.line.pop_front()?;
        if let WorkerMessage::Call { id, so_far, .. } = &mut frame {
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
        if self.bytes + bytes > most_bytes || self.entries == MAX_LOG_ENTRIES {
            self.dropped += 1;
            return false;
        }
        self.bytes += bytes;
        self.entries += 1;
        true
    }
}
