//! Drives an engine: runs its jobs, fires its timers, delivers responses to its calls.

use std::time::Instant;

use rquickjs::{CatchResultExt, Ctx, Promise, Value, promise::PromiseState};

use super::{
    cell::{CellDiagnostics, CellFailure},
    engine::ScriptEngine,
    run_meter::StopReason,
    timers::NextEvent,
};
use crate::protocol::{HostMessage, WireResponse};

/// Jobs between two clock checks: each may be too small for the engine to check.
const JOBS_BETWEEN_CHECKS: u32 = 256;

enum TimerDue {
    Now,
    At(Instant),
    Never,
}

impl ScriptEngine {
    /// Runs until a promise has its value and no call is open.
    pub(super) fn run_until_settled<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        notes: &mut CellDiagnostics,
    ) -> Result<Value<'js>, CellFailure> {
        let ended = self.drive(ctx, promise, notes);
        self.rejections.forget(ctx, promise.as_value());
        ended?;
        match promise.result::<Value<'_>>() {
            Some(result) => result.catch(ctx).map_err(|error| self.failure(ctx, error)),
            None => Err(CellFailure::Stuck),
        }
    }

    fn drive<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        notes: &mut CellDiagnostics,
    ) -> Result<(), CellFailure> {
        let meter = &self.shared.meter;
        loop {
            let mut jobs = 0_u32;
            while ctx.execute_pending_job() {
                jobs = jobs.wrapping_add(1);
                if meter.stopped().is_some()
                    || jobs.is_multiple_of(JOBS_BETWEEN_CHECKS) && meter.must_stop()
                {
                    break;
                }
            }
            if meter.must_stop() {
                return Err(CellFailure::Stopped(
                    meter.stopped().unwrap_or(StopReason::Wall),
                    String::new(),
                ));
            }
            let state = promise.state();
            let open = self.shared.run().calls.open();
            if state == PromiseState::Rejected || state == PromiseState::Resolved && open == 0 {
                return Ok(());
            }
            self.shared.send_calls().map_err(CellFailure::Pipe)?;
            // After the value only calls are awaited.
            let timer =
                if state == PromiseState::Pending { self.due_timer(open) } else { TimerDue::Never };
            let wake = match timer {
                TimerDue::Now => {
                    self.fire(ctx, notes);
                    continue;
                }
                TimerDue::Never if open == 0 => return Err(CellFailure::Stuck),
                TimerDue::Never => meter.deadline(),
                TimerDue::At(due) => due.min(meter.deadline()),
            };
            let frame = self.shared.channel().receive_until(wake).map_err(CellFailure::Pipe)?;
            match frame {
                Some(HostMessage::Answer { id, answer }) => self.answer(ctx, id, &answer),
                Some(HostMessage::SetPaused(paused)) => meter.set_paused(paused),
                _ => {}
            }
        }
    }

    fn due_timer(&self, open_calls: usize) -> TimerDue {
        let run = self.shared.run();
        let Some(moment) = run.timers.next_moment() else { return TimerDue::Never };
        match run.timeline.next() {
            // It fired in the earlier run, which waited for it.
            NextEvent::Timer => return TimerDue::Now,
            NextEvent::Answer if open_calls > 0 => return TimerDue::Never,
            NextEvent::Answer | NextEvent::Either => {}
        }
        if run.clock.skips() {
            return if open_calls == 0 { TimerDue::Now } else { TimerDue::Never };
        }
        if moment <= Instant::now() { TimerDue::Now } else { TimerDue::At(moment) }
    }

    fn fire(&self, ctx: &Ctx<'_>, notes: &mut CellDiagnostics) {
        let id = {
            let mut run = self.shared.run();
            let Some((id, due)) = run.timers.take() else { return };
            run.clock.advance_to(due);
            run.timeline.fire();
            id
        };
        let fired = self.hooks.get(ctx, "fire").and_then(|fire| fire.call::<_, ()>((id,)));
        if let Err(error) = fired.catch(ctx)
            && self.shared.meter.stopped().is_none()
        {
            let message = self.error_message(ctx, error);
            notes.warn("UNCAUGHT_IN_TIMER", format!("a timer's function threw: {message}"));
        }
    }

    fn answer(&self, ctx: &Ctx<'_>, id: u32, answer: &WireResponse) {
        if !self.shared.run().take_answer(id) {
            return;
        }
        let (ok, data, meta) = match answer {
            WireResponse::Done { data, meta } => (true, data.get().to_owned(), meta),
            WireResponse::Failed { failure, meta } => {
                (false, serde_json::to_string(failure).unwrap_or_default(), meta)
            }
        };
        let meta = meta.as_ref().map(|meta| meta.get().to_owned());
        let settle = self.hooks.get(ctx, "settle");
        // Parsing can fail without memory; then the promise stays open and the run reports that it is stuck.
        let _settled =
            settle.and_then(|settle| settle.call::<_, ()>((id, ok, data, meta))).catch(ctx);
    }
}
