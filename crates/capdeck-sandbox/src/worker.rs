//! The worker process: confines itself, starts an engine, runs the cells of one session.
//!
//! It is the same binary as the host, started with a hidden subcommand. One process serves one session, so nothing a
//! script does, not even an escape from the engine, reaches another session.

mod cell;
mod channel;
mod checker;
mod clock;
mod confine;
mod context;
mod drive;
mod engine;
mod natives;
mod outcome;
mod run_meter;
mod timeline;
mod timers;

use std::{io, thread};

use self::{channel::WorkerChannel, engine::ScriptEngine};
use crate::protocol::{HostMessage, WorkerMessage, WorkerRole};

/// Space for recursive parsers; only touched pages are used.
const STACK_BYTES: usize = 64 << 20;

/// The main function of a worker process. Returns when the host closes the pipe.
pub fn run_worker() -> io::Result<()> {
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(serve)?;
    worker.join().unwrap_or_else(|_| Err(io::Error::other("the engine's thread panicked")))
}

fn serve() -> io::Result<()> {
    let mut channel = WorkerChannel::new();
    let Some(HostMessage::Start { role, address_space }) = channel.receive()? else {
        return Ok(());
    };
    let isolation = confine::confine(address_space);
    if role == WorkerRole::TypeChecker {
        return checker::serve(channel, isolation);
    }
    let shared = context::WorkerContext::new(channel);
    let mut engine = ScriptEngine::new(&shared)
        .map_err(|error| io::Error::other(format!("the engine did not start: {error}")))?;
    shared.channel().send(&WorkerMessage::Ready(isolation))?;
    loop {
        let frame = shared.channel().receive()?;
        match frame {
            Some(HostMessage::Run(request)) => {
                let done = engine.run_cell(&request)?;
                shared.channel().send(&WorkerMessage::Done(Box::new(done)))?;
                // The response is sent before the clean-up.
                engine.restore();
            }
            // A late response to an earlier run.
            Some(_) => {}
            None => break,
        }
    }
    // The process ends now; freeing the heap first would only cost time.
    std::mem::forget(engine);
    Ok(())
}
