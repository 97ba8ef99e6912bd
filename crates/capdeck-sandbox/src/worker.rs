//! The worker process: confines itself, starts an engine, runs the cells of one session.
//!
//! It is the same binary as the host, started with a hidden subcommand. One process serves one session, so nothing a
//! script does, not even an escape from the engine, reaches another session.

mod cell;
mod channel;
mod checker;
mod clock;
mod confine;
mod drive;
mod engine;
mod meter;
mod natives;
mod outcome;
mod shared;
mod timeline;
mod timers;

use std::{io, thread};

use self::{channel::Channel, engine::Engine};
use crate::protocol::{FromWorker, Role, ToWorker};

/// Space for recursive parsers; only touched pages are used.
const STACK: usize = 64 << 20;

/// The main function of a worker process. Returns when the host closes the pipe.
pub fn run_worker() -> io::Result<()> {
    let worker = thread::Builder::new().stack_size(STACK).spawn(serve)?;
    worker.join().unwrap_or_else(|_| Err(io::Error::other("the engine's thread panicked")))
}

fn serve() -> io::Result<()> {
    let mut channel = Channel::new();
    let Some(ToWorker::Start { role, address_space }) = channel.receive()? else { return Ok(()) };
    let isolation = confine::confine(address_space);
    if role == Role::TypeChecker {
        return checker::serve(channel, isolation);
    }
    let shared = shared::Shared::new(channel);
    let mut engine = Engine::new(&shared)
        .map_err(|error| io::Error::other(format!("the engine did not start: {error}")))?;
    shared.channel().send(&FromWorker::Ready(isolation))?;
    loop {
        let frame = shared.channel().receive()?;
        match frame {
            Some(ToWorker::Run(request)) => {
                let done = engine.run_cell(&request)?;
                shared.channel().send(&FromWorker::Done(Box::new(done)))?;
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
