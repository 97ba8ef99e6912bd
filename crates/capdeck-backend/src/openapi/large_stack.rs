//! Work that goes down as deep as its input nests.

use std::{io, thread};

/// Enough for the deepest document that the readers let through, also without optimisation.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Runs this on a thread with a large stack and waits for it.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("description".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)?;
        thread.join().map_err(|_panicked| io::Error::other("reading it panicked"))
    })
}
