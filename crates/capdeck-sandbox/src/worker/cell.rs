//! Runs one cell: compiles, checks, evaluates, and handles calls and timers until it has a value.

use std::{io, time::Duration};

use rquickjs::{
    Array, CatchResultExt, CaughtError, Ctx, Function, Persistent, Promise, Value,
    context::EvalOptions,
};
use serde_json::value::RawValue;

use super::{
    confine,
    engine::ScriptEngine,
    outcome::{self, ThrownError},
    run_meter::StopReason,
};
use crate::{
    compile::{BindingKind, CompiledCell, compile},
    envelope::{CodeDiagnostic, CodeSeverity, RunError, RunErrorCode},
    protocol::{CapabilityUse, CellResult, HostMessage, RunRequest, WorkerMessage},
};

/// Memory reserved to describe the error of a script that used all of it.
const ERROR_RESERVE_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(super) struct CellDiagnostics(Vec<CodeDiagnostic>);

impl CellDiagnostics {
    pub(super) fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.0.push(CodeDiagnostic::about(CodeSeverity::Warning, code, message));
    }

    fn info(&mut self, code: &str, message: impl Into<String>) {
        self.0.push(CodeDiagnostic::about(CodeSeverity::Info, code, message));
    }
}

type CellValue = Option<Box<RawValue>>;

impl ScriptEngine {
    /// Runs a cell to its end. An error means that the host is gone.
    pub(super) fn run_cell(&mut self, request: &RunRequest) -> io::Result<CellResult> {
        let limits = &request.limits;
        self.shared.begin(request);
        self.shared.meter.start(Duration::from_millis(request.timeout_ms), limits.cpu);
        confine::back_stop(limits.cpu);
        let mut compiled = match compile(&request.code, &self.names) {
            Ok(compiled) => compiled,
            Err(diagnostics) => {
                return Ok(self.done(Err(blocked(&diagnostics)), diagnostics, None));
            }
        };
        let mut types = Vec::new();
        if request.type_check || !compiled.uses.is_empty() {
            let uses = std::mem::take(&mut compiled.uses);
            let tools = known_tools(&uses);
            match self.admitted(uses, request.type_check)? {
                Some(found) => {
                    types = found;
                    self.types.add_tools(tools);
                }
                None => return Ok(self.done(Err(blocked(&[])), Vec::new(), None)),
            }
        }
        if request.type_check {
            // The check does not count.
            self.shared.meter.start(Duration::from_millis(request.timeout_ms), limits.cpu);
        }
        self.types.add(&compiled.declares, std::mem::take(&mut compiled.types), types);
        self.runtime.set_memory_limit(limits.heap_bytes);
        self.runtime.set_max_stack_size(limits.stack_bytes);
        let mut notes = CellDiagnostics::default();
        let (outcome, closes) = self.evaluate(request, compiled, &mut notes)?;
        Ok(self.done(outcome, notes.0, closes))
    }

    /// Sends the names in the code to the host. Returns the inferred types, or `None` when the cell must not run.
    fn admitted(
        &self,
        uses: Vec<CapabilityUse>,
        type_check: bool,
    ) -> io::Result<Option<Vec<(String, String)>>> {
        let session = type_check.then(|| self.types.of_session(&self.names));
        let mut channel = self.shared.channel();
        channel.send(&WorkerMessage::Uses { uses, session })?;
        loop {
            match channel.receive()? {
                Some(HostMessage::Proceed(types)) => return Ok(Some(types)),
                Some(HostMessage::Refuse) => return Ok(None),
                // A late response to an earlier run.
                Some(_) => {}
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    fn done(
        &self,
        outcome: Result<CellValue, RunError>,
        diagnostics: Vec<CodeDiagnostic>,
        closes: Option<String>,
    ) -> CellResult {
        let keeps_state = self.keeps_state();
        let mut run = self.shared.run();
        CellResult {
            outcome,
            diagnostics,
            closes,
            keeps_state,
            cpu_ms: self.shared.meter.cpu_used().as_secs_f64() * 1000.0,
            logs_dropped: run.logs.dropped,
            so_far: run.timeline.so_far(),
        }
    }

    /// Returns whether a later cell could find something of earlier ones: names, or properties of the global object.
    fn keeps_state(&self) -> bool {
        self.names.names().next().is_some()
            || self.context.with(|ctx| {
                let hook = self.hooks.get(&ctx, "hasNewGlobals");
                hook.and_then(|hook| hook.call::<_, bool>(())).catch(&ctx).unwrap_or(true)
            })
    }

    fn evaluate(
        &mut self,
        request: &RunRequest,
        compiled: CompiledCell,
        notes: &mut CellDiagnostics,
    ) -> io::Result<(Result<CellValue, RunError>, Option<String>)> {
        let CompiledCell { code, positions, declares, gives_last_value, .. } = compiled;
        let context = self.context.clone();
        let ended = context.with(|ctx| {
            if !self.intact {
                return Err(CellFailure::Tampered);
            }
            self.prepare(&ctx, request).map_err(|error| self.failure(&ctx, error))?;
            let number = self.cells.add(positions);
            for (name, kind) in &declares {
                self.names.declare(name.clone(), *kind);
            }
            let value = self.value_of(&ctx, code, number, gives_last_value, notes)?;
            self.report_open_work(&ctx, notes);
            Ok(value)
        });
        let failure = match ended {
            Ok(value) => return Ok((Ok(value), None)),
            Err(CellFailure::Pipe(error)) => return Err(error),
            Err(failure) => self.judged(failure, request),
        };
        // The heap may be full, and the error still needs a description.
        self.runtime.set_memory_limit(request.limits.heap_bytes + ERROR_RESERVE_BYTES);
        let (error, closes) = context.with(|ctx| {
            let described = self.described(&ctx, failure, request);
            if described.1.is_none() {
                self.keep_placeholders(&ctx, &declares);
                self.report_open_work(&ctx, notes);
            }
            described
        });
        Ok((Err(error), closes))
    }

    fn described(
        &self,
        ctx: &Ctx<'_>,
        failure: CellFailure,
        request: &RunRequest,
    ) -> (RunError, Option<String>) {
        let late = || Some("its last run did not end in time".to_owned());
        match failure {
            CellFailure::Stopped(stop, stack) => {
                let mut error = outcome::interrupted(stop, request.timeout_ms, &request.limits);
                (error.location, error.stack_preview) = outcome::trace(&stack, &self.cells);
                (error, late())
            }
            CellFailure::Stuck => {
                let error = RunError::new(
                    RunErrorCode::Script,
                    "the script waits for a promise that nothing will settle",
                );
                (
                    error.hint("every promise needs a call, a timer or a `resolve` that ends it"),
                    None,
                )
            }
            CellFailure::Tampered => {
                let error = RunError::new(
                    RunErrorCode::SessionClosed,
                    "an earlier cell changed built-in objects, which cannot be undone",
                )
                .hint(
                    "leave out `sessionId` to start a new session; do not freeze built-in objects",
                );
                (error, Some("built-in objects were changed permanently".to_owned()))
            }
            CellFailure::OutOfMemory => {
                let closes = Some("its memory was full".to_owned());
                (outcome::out_of_memory(&request.limits), closes)
            }
            CellFailure::Thrown(value) => {
                let describe = self.hooks.get(ctx, "describe");
                let text = describe
                    .and_then(|describe| describe.call::<_, String>((value.restore(ctx)?,)))
                    .catch(ctx);
                if let Some(stop) = self.shared.meter.stopped() {
                    let error = outcome::interrupted(stop, request.timeout_ms, &request.limits);
                    return (error, late());
                }
                let thrown =
                    text.ok().and_then(|text| serde_json::from_str::<ThrownError>(&text).ok());
                let Some(thrown) = thrown else {
                    let message = "the script threw an error that cannot be shown";
                    let closes = Some("its last error could not be shown".to_owned());
                    return (RunError::new(RunErrorCode::Script, message), closes);
                };
                let closes = thrown.is_out_of_memory().then(|| "its memory was full".to_owned());
                (thrown.into_error(&self.cells, &request.limits), closes)
            }
            CellFailure::Engine(message) => (RunError::new(RunErrorCode::Script, message), None),
            CellFailure::Pipe(error) => {
                (RunError::new(RunErrorCode::Unavailable, error.to_string()), late())
            }
        }
    }

    /// The engine throws `null` when the heap has no space for an error. If that rejects a promise that others await,
    /// those never settle. The heap use can only be read outside a context.
    fn judged(&self, failure: CellFailure, request: &RunRequest) -> CellFailure {
        let is_null = |thrown: Persistent<Value<'static>>| {
            self.context.with(|ctx| thrown.restore(&ctx).is_ok_and(|value| value.is_null()))
        };
        let used = || usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(0);
        let is_full = || used() > request.limits.heap_bytes / 10 * 9;
        let starved = self.rejections.take_starved();
        match failure {
            CellFailure::Stuck if starved || is_full() => CellFailure::OutOfMemory,
            CellFailure::Thrown(thrown) if is_null(thrown.clone()) && (starved || is_full()) => {
                CellFailure::OutOfMemory
            }
            other => other,
        }
    }

    fn prepare<'js>(&self, ctx: &Ctx<'js>, request: &RunRequest) -> Result<(), CaughtError<'js>> {
        let begin: Function<'_> = self.hooks.get(ctx, "begin").catch(ctx)?;
        let largest = request.limits.value_bytes;
        begin.call((request.capabilities.as_str(), largest)).catch(ctx)
    }

    fn value_of<'js>(
        &self,
        ctx: &Ctx<'js>,
        code: String,
        number: usize,
        gives_last_value: bool,
        notes: &mut CellDiagnostics,
    ) -> Result<CellValue, CellFailure> {
        let failed = |error| self.failure(ctx, error);
        let mut options = EvalOptions::default();
        options.promise = true;
        options.filename = Some(format!("cell-{number}.ts"));
        let promise: Promise<'_> =
            ctx.eval_with_options(code, options).catch(ctx).map_err(failed)?;
        let completion = self.run_until_settled(ctx, &promise, notes)?;
        let result: Function<'_> = self.hooks.get(ctx, "result").catch(ctx).map_err(failed)?;
        let encoded: Promise<'_> =
            result.call((completion, gives_last_value)).catch(ctx).map_err(failed)?;
        let encoded = self.run_until_settled(ctx, &encoded, notes)?;
        let parts = Array::from_value(encoded).catch(ctx).map_err(failed)?;
        let text: Option<String> = parts.get(0).catch(ctx).map_err(failed)?;
        if parts.get(1).catch(ctx).map_err(failed)? {
            notes.warn(
                "MISSING_AWAIT",
                "the returned value held calls that were not awaited; they were waited for",
            );
        }
        let omitted: usize = parts.get(2).catch(ctx).map_err(failed)?;
        if omitted > 0 {
            let omitted = counted(omitted, "function or symbol", "functions or symbols");
            notes.warn("VALUE_OMITTED", format!("left {omitted} out of the returned value"));
        }
        let raw = text.map(RawValue::from_string).transpose();
        raw.map_err(|_| CellFailure::Pipe(io::ErrorKind::InvalidData.into()))
    }

    fn report_open_work(&self, ctx: &Ctx<'_>, notes: &mut CellDiagnostics) {
        let (timers, calls) = {
            let mut run = self.shared.run();
            let left = (run.timers.len(), run.calls.open());
            run.timers.clear();
            left
        };
        if timers > 0 {
            let cleared = counted(timers, "timer", "timers");
            notes.info("TIMERS_CLEARED", format!("cleared {cleared} that still waited"));
        }
        if calls > 0 {
            let cancelled = counted(calls, "call", "calls");
            notes.warn("CALLS_CANCELLED", format!("cancelled {cancelled} still running"));
        }
        for reason in self.rejections.take(ctx) {
            let reason_text = self.format(ctx, reason);
            notes
                .warn("UNHANDLED_REJECTION", format!("unhandled promise rejection: {reason_text}"));
        }
    }

    pub(super) fn error_message<'js>(&self, ctx: &Ctx<'js>, error: CaughtError<'js>) -> String {
        match error {
            CaughtError::Exception(exception) => {
                self.format(ctx, exception.into_object().into_value())
            }
            CaughtError::Value(value) => self.format(ctx, value),
            CaughtError::Error(error) => error.to_string(),
        }
    }

    fn format<'js>(&self, ctx: &Ctx<'js>, value: Value<'js>) -> String {
        let format = self.hooks.get(ctx, "format");
        let text = format.and_then(|format| format.call::<_, String>((value,))).catch(ctx);
        let mut text = text.unwrap_or_else(|_| "a value that cannot be shown".to_owned());
        text.truncate(text.floor_char_boundary(500));
        text
    }

    /// An error caused by an interruption is reported as the interruption.
    pub(super) fn failure<'js>(&self, ctx: &Ctx<'js>, error: CaughtError<'js>) -> CellFailure {
        let (value, stack) = match error {
            CaughtError::Exception(exception) => {
                let stack = exception.stack().unwrap_or_default();
                (exception.into_object().into_value(), stack)
            }
            CaughtError::Value(value) => (value, String::new()),
            CaughtError::Error(error) => return CellFailure::Engine(error.to_string()),
        };
        match self.shared.meter.stopped() {
            Some(stop) => CellFailure::Stopped(stop, stack),
            None => CellFailure::Thrown(Persistent::save(ctx, value)),
        }
    }

    /// Names whose declaration was not reached can be declared again.
    fn keep_placeholders(&mut self, ctx: &Ctx<'_>, declares: &[(String, BindingKind)]) {
        let lexical = |kind: &BindingKind| {
            matches!(kind, BindingKind::Let | BindingKind::Const | BindingKind::Class)
        };
        let names: Vec<&String> =
            declares.iter().filter(|(_, kind)| lexical(kind)).map(|(name, _)| name).collect();
        if names.is_empty() {
            return;
        }
        let names = serde_json::to_string(&names).unwrap_or_default();
        let undeclared = self.hooks.get(ctx, "undeclared");
        let left = undeclared.and_then(|hook| hook.call::<_, String>((names,))).catch(ctx);
        let left: Vec<String> =
            left.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        for name in left {
            self.names.declare(name, BindingKind::Placeholder);
        }
    }
}

pub(super) enum CellFailure {
    /// Interrupted, with the current stack if it was computing.
    Stopped(StopReason, String),
    /// It waits for a promise that cannot settle.
    Stuck,
    Tampered,
    /// The heap had no space for an error.
    OutOfMemory,
    Thrown(Persistent<Value<'static>>),
    Engine(String),
    Pipe(io::Error),
}

fn known_tools(uses: &[CapabilityUse]) -> Vec<(String, String)> {
    let named =
        uses.iter().filter_map(|used| Some((used.capability.clone(), used.tool()?.to_owned())));
    named.collect()
}

fn blocked(diagnostics: &[CodeDiagnostic]) -> RunError {
    let first = diagnostics.first();
    let message = first.map_or("the code cannot run", |first| first.message.as_str());
    RunError::new(RunErrorCode::DiagnosticBlocked, message)
        .hint("nothing was run; `diagnostics` has every problem")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
