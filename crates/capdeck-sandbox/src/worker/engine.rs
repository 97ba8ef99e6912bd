//! The JavaScript engine of one session: its globals, names and earlier cells.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use rquickjs::{
    ArrayBuffer, CatchResultExt, Context, Ctx, Function, Object, Persistent, Result, Runtime, Value,
};

use super::{context::WorkerContext, natives};
use crate::compile::{KnownTypes, PositionMap, SessionBindings};

/// The prelude: one function that takes the natives and returns the hooks.
const PRELUDE: &str = concat!(
    "(function (host) { 'use strict';\n",
    include_str!("prelude/values.js"),
    include_str!("prelude/bridge.js"),
    include_str!("prelude/clock.js"),
    include_str!("prelude/binary.js"),
    include_str!("prelude/web.js"),
    include_str!("prelude/session.js"),
    "})"
);

const MAX_CELL_HISTORY: usize = 64;

/// CPU time for restoring, which takes about a millisecond unless a script interferes.
const RESTORE_CPU_TIMEOUT: Duration = Duration::from_millis(250);

/// The same as wall-clock time: a busy machine may delay the process.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(10);

const MAX_REJECTIONS: usize = 20;

/// Fits into a heap that is not full.
static HEAP_PROBE: [u8; 1 << 20] = [0; 1 << 20];

/// The engine. Fields are dropped in order: what the context owns, the context, the runtime.
pub(super) struct ScriptEngine {
    pub(super) hooks: PreludeHooks,
    pub(super) rejections: RejectedPromises,
    pub(super) context: Context,
    pub(super) runtime: Runtime,
    pub(super) shared: WorkerContext,
    pub(super) names: SessionBindings,
    pub(super) types: KnownTypes,
    pub(super) cells: CellHistory,
    pub(super) intact: bool,
}

pub(super) struct PreludeHooks(Persistent<Object<'static>>);

impl PreludeHooks {
    pub(super) fn get<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
        self.0.clone().restore(ctx)?.get(name)
    }
}

#[derive(Clone, Default)]
pub(super) struct RejectedPromises {
    held: Rc<RefCell<Vec<PromiseRejection>>>,
    /// A rejection happened because the heap was full.
    starved: Rc<Cell<bool>>,
}

struct PromiseRejection {
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

impl RejectedPromises {
    fn record_rejection<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: Value<'js>,
        reason: Value<'js>,
        handled: bool,
    ) {
        if !handled && reason.is_null() && is_full(ctx) {
            self.starved.set(true);
        }
        let mut held = self.held.borrow_mut();
        if handled {
            held.retain(|rejection| {
                rejection.promise.clone().restore(ctx).is_ok_and(|known| known != promise)
            });
        } else if held.len() < MAX_REJECTIONS {
            let promise = Persistent::save(ctx, promise);
            held.push(PromiseRejection { promise, reason: Persistent::save(ctx, reason) });
        }
    }

    pub(super) fn forget<'js>(&self, ctx: &Ctx<'js>, promise: &Value<'js>) {
        self.record_rejection(ctx, promise.clone(), Value::new_undefined(ctx.clone()), true);
    }

    pub(super) fn take<'js>(&self, ctx: &Ctx<'js>) -> Vec<Value<'js>> {
        let held = std::mem::take(&mut *self.held.borrow_mut());
        held.into_iter().filter_map(|rejection| rejection.reason.restore(ctx).ok()).collect()
    }

    /// Returns whether the heap was full at a rejection since the last call.
    pub(super) fn take_starved(&self) -> bool {
        self.starved.take()
    }
}

/// Tries to allocate a little memory. The engine rejects with `null` when there is no space for an error, and only at
/// that moment can it be distinguished from a script's own `null`: later the heap has space again.
fn is_full(ctx: &Ctx<'_>) -> bool {
    let full = ArrayBuffer::new_copy(ctx.clone(), &HEAP_PROBE[..]).is_err();
    if full {
        // The failed attempt must not leave an exception.
        ctx.catch();
    }
    full
}

#[derive(Default)]
pub(super) struct CellHistory {
    count: usize,
    kept: std::collections::VecDeque<(usize, PositionMap)>,
}

impl CellHistory {
    pub(super) fn add(&mut self, positions: PositionMap) -> usize {
        self.count += 1;
        if self.kept.len() == MAX_CELL_HISTORY {
            self.kept.pop_front();
        }
        self.kept.push_back((self.count, positions));
        self.count
    }

    pub(super) fn is_earlier(&self, number: usize) -> bool {
        number < self.count
    }

    pub(super) fn positions(&self, number: usize) -> Option<&PositionMap> {
        self.kept.iter().find(|(kept, _)| *kept == number).map(|(_, positions)| positions)
    }
}

impl ScriptEngine {
    pub(super) fn new(shared: &WorkerContext) -> Result<Self> {
        let runtime = Runtime::new()?;
        let meter = shared.meter.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || meter.must_stop())));
        let rejections = RejectedPromises::default();
        let tracker = rejections.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, handled| {
                tracker.record_rejection(&ctx, promise, reason, handled);
            },
        )));
        let context = Context::full(&runtime)?;
        let hooks = context.with(|ctx| {
            let host = natives::object(&ctx, shared)?;
            let prelude: Function<'_> = ctx.eval(PRELUDE)?;
            let hooks: Object<'_> = prelude.call((host,))?;
            Ok::<_, rquickjs::Error>(PreludeHooks(Persistent::save(&ctx, hooks)))
        })?;
        runtime.run_gc();
        Ok(Self {
            hooks,
            rejections,
            context,
            runtime,
            shared: shared.clone(),
            names: SessionBindings::default(),
            types: KnownTypes::default(),
            cells: CellHistory::default(),
            intact: true,
        })
    }

    /// Restores built-in objects, and records when that was not possible.
    pub(super) fn restore(&mut self) {
        self.shared.meter.start(RESTORE_TIMEOUT, RESTORE_CPU_TIMEOUT);
        let names: Vec<&str> = self.names.names().collect();
        let names = serde_json::to_string(&names).unwrap_or_default();
        let restored = self.context.with(|ctx| {
            let restore = self.hooks.get(&ctx, "restore");
            restore
                .and_then(|restore| restore.call::<_, bool>((names,)))
                .catch(&ctx)
                .unwrap_or(false)
        });
        self.intact &= restored;
    }
}
