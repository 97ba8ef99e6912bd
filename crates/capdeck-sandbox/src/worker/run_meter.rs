//! Measures the time of a run inside the engine, and interrupts it.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// Longer than any wait for a person.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Wall,
    Cpu,
}

/// The clocks of the current run. The engine reads them every few thousand steps.
#[derive(Debug, Clone)]
pub(super) struct RunMeter(Rc<MeterReadings>);

#[derive(Debug)]
struct MeterReadings {
    deadline: Cell<Instant>,
    /// The remaining time when the clock was paused.
    left: Cell<Option<Duration>>,
    cpu_start: Cell<Duration>,
    cpu_limit: Cell<Duration>,
    stopped: Cell<Option<StopReason>>,
}

impl RunMeter {
    /// A meter without limits, for code that is not a script's.
    pub(super) fn unlimited() -> Self {
        Self(Rc::new(MeterReadings {
            deadline: Cell::new(Instant::now() + Duration::from_secs(60)),
            left: Cell::new(None),
            cpu_start: Cell::new(cpu_time()),
            cpu_limit: Cell::new(Duration::from_secs(60)),
            stopped: Cell::new(None),
        }))
    }

    pub(super) fn start(&self, timeout: Duration, cpu: Duration) {
        self.0.deadline.set(Instant::now() + timeout);
        self.0.left.set(None);
        self.0.cpu_start.set(cpu_time());
        self.0.cpu_limit.set(cpu);
        self.0.stopped.set(None);
    }

    /// Pauses or resumes the timeout of the run. CPU time always counts.
    pub(super) fn set_paused(&self, paused: bool) {
        let now = Instant::now();
        match (paused, self.0.left.get()) {
            (true, None) => {
                self.0.left.set(Some(self.0.deadline.get().saturating_duration_since(now)));
                self.0.deadline.set(now + MAX_WAIT);
            }
            (false, Some(left)) => {
                self.0.left.set(None);
                self.0.deadline.set(now + left);
            }
            _ => {}
        }
    }

    pub(super) fn must_stop(&self) -> bool {
        if self.0.stopped.get().is_none() {
            if Instant::now() >= self.0.deadline.get() {
                self.0.stopped.set(Some(StopReason::Wall));
            } else if self.cpu_used() >= self.0.cpu_limit.get() {
                self.0.stopped.set(Some(StopReason::Cpu));
            }
        }
        self.0.stopped.get().is_some()
    }

    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.0.stopped.get()
    }

    pub(super) fn deadline(&self) -> Instant {
        self.0.deadline.get()
    }

    pub(super) fn cpu_used(&self) -> Duration {
        cpu_time().saturating_sub(self.0.cpu_start.get())
    }
}

/// CPU time of the engine's thread, which does all the work. The process clock is coarse under a kernel limit.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
