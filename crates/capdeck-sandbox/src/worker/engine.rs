//! The JavaScript engine of one session: its globals, names and earlier cells.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use rquickjs::{
    ArrayBuffer, CatchResultExt, Context, Ctx, Function, Object, Persistent, Result, Runtime, Value,
};

use super::{natives, shared::Shared};
use crate::compile::{Bindings, KnownTypes, Positions};

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

const REMEMBERED_CELLS: usize = 64;

/// CPU time for restoring, which takes about a millisecond unless a script interferes.
const RESTORING: Duration = Duration::from_millis(250);

/// The same as wall-clock time: a busy machine may delay the process.
const RESTORING_AT_MOST: Duration = Duration::from_secs(10);

const MOST_REJECTIONS: usize = 20;

/// Fits into a heap that is not full.
static A_LITTLE: [u8; 1 << 20] = [0; 1 << 20];

/// The engine. Fields are dropped in order: what the context owns, the context, the runtime.
pub(super) struct Engine {
    pub(super) hooks: Hooks,
    pub(super) rejections: Rejections,
    pub(super) context: Context,
    pub(super) runtime: Runtime,
    pub(super) shared: Shared,
    pub(super) names: Bindings,
    pub(super) types: KnownTypes,
    pub(super) cells: Cells,
    pub(super) intact: bool,
}

pub(super) struct Hooks(Persistent<Object<'static>>);

impl Hooks {
    pub(super) fn get<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
        self.0.clone().restore(ctx)?.get(name)
    }
}

/// Promises rejected without a handler.
#[derive(Clone, Default)]
pub(super) struct Rejections {
    held: Rc<RefCell<Vec<Rejection>>>,
    /// A rejection happened because the heap was full.
    starved: Rc<Cell<bool>>,
}

struct Rejection {
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

impl Rejections {
    fn note<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>, reason: Value<'js>, handled: bool) {
        if !handled && reason.is_null() && is_full(ctx) {
            self.starved.set(true);
        }
        let mut held = self.held.borrow_mut();
        if handled {
            held.retain(|rejection| {
                rejection.promise.clone().restore(ctx).is_ok_and(|known| known != promise)
            });
        } else if held.len() < MOST_REJECTIONS {
            let promise = Persistent::save(ctx, promise);
            held.push(Rejection { promise, reason: Persistent::save(ctx, reason) });
        }
    }

    pub(super) fn forget<'js>(&self, ctx: &Ctx<'js>, promise: &Value<'js>) {
        self.note(ctx, promise.clone(), Value::new_undefined(ctx.clone()), true);
    }

    pub(super) fn take<'js>(&self, ctx: &Ctx<'js>) -> Vec<Value<'js>> {
        let held = std::mem::take(&mut *self.held.borrow_mut());
        held.into_iter().filter_map(|rejection| rejection.reason.restore(ctx).ok()).collect()
    }
}

impl Rejections {
    /// Returns whether the heap was full at a rejection since the last call.
    pub(super) fn take_starved(&self) -> bool {
        self.starved.take()
    }
}

/// Tries to allocate a little memory. The engine rejects with `null` when there is no space for an error, and only at
/// that moment can it be distinguished from a script's own `null`: later the heap has space again.
fn is_full(ctx: &Ctx<'_>) -> bool {
    let full = ArrayBuffer::new_copy(ctx.clone(), &A_LITTLE[..]).is_err();
    if full {
        // The failed attempt must not leave an exception.
        ctx.catch();
    }
    full
}

#[derive(Default)]
pub(super) struct Cells {
    count: usize,
    kept: std::collections::VecDeque<(usize, Positions)>,
}

impl Cells {
    pub(super) fn add(&mut self, positions: Positions) -> usize {
        self.count += 1;
        if self.kept.len() == REMEMBERED_CELLS {
            self.kept.pop_front();
        }
        self.kept.push_back((self.count, positions));
        self.count
    }

    /// Returns whether a cell is not the last one.
    pub(super) fn is_earlier(&self, number: usize) -> bool {
        number < self.count
    }

    pub(super) fn positions(&self, number: usize) -> Option<&Positions> {
        self.kept.iter().find(|(kept, _)| *kept == number).map(|(_, positions)| positions)
    }
}

impl Engine {
    pub(super) fn new(shared: &Shared) -> Result<Self> {
        let runtime = Runtime::new()?;
        let meter = shared.meter.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || meter.must_stop())));
        let rejections = Rejections::default();
        let tracker = rejections.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, handled| tracker.note(&ctx, promise, reason, handled),
        )));
        let context = Context::full(&runtime)?;
        let hooks = context.with(|ctx| {
            let host = natives::object(&ctx, shared)?;
            let prelude: Function<'_> = ctx.eval(PRELUDE)?;
            let hooks: Object<'_> = prelude.call((host,))?;
            Ok::<_, rquickjs::Error>(Hooks(Persistent::save(&ctx, hooks)))
        })?;
        runtime.run_gc();
        Ok(Self {
            hooks,
            rejections,
            context,
            runtime,
            shared: shared.clone(),
            names: Bindings::default(),
            types: KnownTypes::default(),
            cells: Cells::default(),
            intact: true,
        })
    }

    /// Restores built-in objects, and records when that was not possible.
    pub(super) fn restore(&mut self) {
        self.shared.meter.start(RESTORING_AT_MOST, RESTORING);
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
