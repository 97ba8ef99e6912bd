//! The type checker: the TypeScript compiler in its own engine, confined like a session.
//!
//! It reads cells of many clients and runs none. It starts with the first check and stays, because starting is slower
//! than checking. The compiler is a compressed asset of this crate (`assets/typescript`).

use std::{
    io::{self, Read},
    time::Duration,
};

use rquickjs::{CatchResultExt, Context, Ctx, Function, Object, Persistent, Runtime};

use super::{channel::WorkerChannel, confine};
use crate::protocol::{CheckRequest, HostMessage, TypeCheckResult, WorkerIsolation, WorkerMessage};

const COMPILER: &[u8] = include_bytes!("../../assets/typescript/compiler.js.zst");
const DRIVER: &str = include_str!("checker/driver.js");
const GLOBALS: &str = include_str!("checker/globals.d.ts");

/// A typical check needs 60 MB; declarations of hundreds of tools need more.
const HEAP_BYTES: usize = 384 << 20;

/// The compiler recurses as deep as the code nests.
const STACK_BYTES: usize = 32 << 20;

/// A collection takes longer than a check, so it runs after the response.
const GC_THRESHOLD_BYTES: usize = 256 << 20;

/// The CPU limit of one check, in case the host is gone.
const CHECK_CPU_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn serve(mut channel: WorkerChannel, isolation: WorkerIsolation) -> io::Result<()> {
    let failed = |error: String| io::Error::other(format!("the checker did not start: {error}"));
    let checker = CompilerEngine::new().map_err(failed)?;
    channel.send(&WorkerMessage::Ready(isolation))?;
    while let Some(frame) = channel.receive()? {
        if let HostMessage::Check(request) = frame {
            confine::back_stop(CHECK_CPU_TIMEOUT);
            channel.send(&WorkerMessage::Checked(checker.check(&request)))?;
            checker.runtime.run_gc();
        }
    }
    // The process ends now; freeing the heap first would only cost time.
    std::mem::forget(checker);
    Ok(())
}

struct CompilerEngine {
    check: Persistent<Function<'static>>,
    context: Context,
    runtime: Runtime,
}

impl CompilerEngine {
    fn new() -> Result<Self, String> {
        let compiler = compiler().map_err(|error| error.to_string())?;
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(HEAP_BYTES);
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_gc_threshold(GC_THRESHOLD_BYTES);
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        let check = context.with(|ctx| {
            let check = Self::load(&ctx, compiler).catch(&ctx);
            check.map(|check| Persistent::save(&ctx, check)).map_err(|error| error.to_string())
        })?;
        Ok(Self { check, context, runtime })
    }

    fn load<'js>(ctx: &Ctx<'js>, compiler: String) -> rquickjs::Result<Function<'js>> {
        ctx.eval::<(), _>(compiler)?;
        let compiler: Object<'_> = ctx.globals().get("ts")?;
        let driver: Function<'_> = ctx.eval(DRIVER)?;
        driver.call((compiler, GLOBALS))
    }

    fn check(&self, request: &CheckRequest) -> Result<TypeCheckResult, String> {
        let request = serde_json::to_string(request).map_err(|error| error.to_string())?;
        let found: String = self.context.with(|ctx| {
            let check = self.check.clone().restore(&ctx);
            let found = check.and_then(|check| check.call((request,))).catch(&ctx);
            found.map_err(|error| error.to_string())
        })?;
        serde_json::from_str(&found).map_err(|error| error.to_string())
    }
}

fn compiler() -> io::Result<String> {
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(COMPILER)
        .map_err(io::Error::other)?
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
