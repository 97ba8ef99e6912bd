//! The worker process: confines itself, starts an engine, runs the cells of one session.
//!
//! It is the same binary as the host, started with a hidden subcommand. One process serves one session, so nothing a
//! script does, not even an escape from the engine, reaches another session. On Linux one process is started so, a fork
//! server with an engine that is ready, and sessions are forked from it ([`fork_server`]).

mod cell;
mod channel;
mod checker;
mod clock;
mod confine;
mod context;
mod drive;
mod engine;
#[cfg(target_os = "linux")]
mod fork_server;
mod natives;
mod outcome;
mod run_meter;
mod timers;

use std::{io, thread};

use self::{
    channel::WorkerChannel, confine::Confinement, context::WorkerContext, engine::ScriptEngine,
};
use crate::protocol::{HostMessage, WorkerMessage, WorkerRole};

/// Space for recursive parsers; only touched pages are used.
const STACK_BYTES: usize = 64 << 20;

/// The main function of a worker process. Returns when the host closes the pipe.
pub fn run_worker() -> io::Result<()> {
    let mut channel = WorkerChannel::new();
    let Some(HostMessage::Start { role, address_space }) = channel.receive()? else {
        return Ok(());
    };
    match role {
        WorkerRole::Session => in_thread(move || serve_session(channel, address_space)),
        WorkerRole::TypeChecker => in_thread(move || {
            let isolation = Confinement::prepare(address_space).apply();
            checker::serve(channel, isolation)
        }),
        #[cfg(target_os = "linux")]
        WorkerRole::ForkServer => serve_forks(channel, address_space),
        #[cfg(not(target_os = "linux"))]
        WorkerRole::ForkServer => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The main thread's stack is too small, and cannot grow on every system.
fn in_thread(serve: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(serve)?;
    worker.join().unwrap_or_else(|_| Err(io::Error::other("the engine's thread panicked")))
}

fn serve_session(channel: WorkerChannel, address_space: u64) -> io::Result<()> {
    let isolation = Confinement::prepare(address_space).apply();
    let mut engine = start_engine(channel)?;
    engine.shared.channel().send(&WorkerMessage::Ready(isolation))?;
    let served = serve_cells(&mut engine, true);
    // The process ends now; freeing the heap first would only cost time.
    std::mem::forget(engine);
    served
}

/// Forks until the host is gone. In a forked process, serves its session.
#[cfg(target_os = "linux")]
fn serve_forks(channel: WorkerChannel, address_space: u64) -> io::Result<()> {
    fork_server::prepare(STACK_BYTES);
    let mut engine = start_engine(channel)?;
    let confinement = Confinement::prepare(address_space);
    let served = match fork_server::serve()? {
        None => Ok(()),
        Some(socket) => {
            fork_server::take_place(socket)?;
            let isolation = confinement.apply();
            engine.shared.channel().send(&WorkerMessage::Ready(isolation))?;
            serve_cells(&mut engine, false)
        }
    };
    std::mem::forget(engine);
    served
}

fn start_engine(channel: WorkerChannel) -> io::Result<ScriptEngine> {
    let shared = WorkerContext::new(channel);
    ScriptEngine::new(&shared)
        .map_err(|error| io::Error::other(format!("the engine did not start: {error}")))
}

/// Runs cells until the host is gone, or has no more use for a process without state.
fn serve_cells(engine: &mut ScriptEngine, serves_without_state: bool) -> io::Result<()> {
    loop {
        let frame = engine.shared.channel().receive()?;
        match frame {
            Some(HostMessage::Run(request)) => {
                let done = engine.run_cell(&request)?;
                let ends = !done.keeps_state && !serves_without_state;
                engine.shared.channel().send(&WorkerMessage::Done(Box::new(done)))?;
                if ends {
                    return Ok(());
                }
                // The response is sent before the clean-up.
                engine.restore();
            }
            // A late response to an earlier run.
            Some(_) => {}
            None => return Ok(()),
        }
    }
}
