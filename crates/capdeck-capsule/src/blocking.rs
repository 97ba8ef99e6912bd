//! Work on threads that may wait for the disk.

use std::{io, panic::resume_unwind};

use tokio::task::{JoinError, spawn_blocking};

/// Does something on a thread that may block. A panic there goes on here; it fails only when the runtime ends.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    finished(spawn_blocking(work).await)
}

/// What a task gave.
pub(crate) fn finished<T>(done: Result<T, JoinError>) -> io::Result<T> {
    done.map_err(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(error) => io::Error::other(error),
    })
}
