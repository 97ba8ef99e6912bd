//! The worker process: confines itself, starts an engine, runs the cells of one session.
//!
//! It is the same binary as the host, started with a hidden subcommand. One process serves one session, so
//! nothing that a script does, not even breaking out of the engine, reaches another one.

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

/// Room for parsers that recurse; only what is touched is ever used.
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
                // The answer does not wait for the tidying up.
                engine.restore();
            }
            // An answer that came too late for its run.
            Some(_) => {}
            None => break,
        }
    }
    // The process ends now; taking the heap apart first would only cost time.
    std::mem::forget(engine);
    Ok(())
}
