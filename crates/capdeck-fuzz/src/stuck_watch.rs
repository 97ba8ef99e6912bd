//! Ends the program when one execution never ends or takes all memory, and says which input that was.
//!
//! An endless loop or an overflown stack cannot be caught from inside. So the input of the execution that is going on is
//! always in a file, and a thread looks at how long it has been there.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crate::usage::{peak_memory_kb, processor_time};

/// How often the thread looks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Processor time after which an execution counts as stuck.
const MAX_EXECUTION: Duration = Duration::from_secs(120);
/// Memory that no parser may take.
const MAX_MEMORY_KB: u64 = 4 * 1024 * 1024;

/// In place of a beginning: the run is over.
const OVER: u64 = u64::MAX;

/// Keeps the current input in a file.
pub(crate) struct StuckWatch {
    file: File,
    /// Processor time at which the current execution began, in milliseconds.
    started: Arc<AtomicU64>,
}

impl StuckWatch {
    /// Starts watching. The current input is kept in `path`.
    pub(crate) fn start(path: PathBuf) -> Self {
        let file = File::create(&path).unwrap();
        let started = Arc::new(AtomicU64::new(now()));
        let seen = Arc::clone(&started);
        thread::spawn(move || {
            while seen.load(Ordering::Relaxed) != OVER {
                check(&path, seen.load(Ordering::Relaxed));
                thread::sleep(CHECK_INTERVAL);
            }
        });
        Self { file, started }
    }

    /// An execution begins.
    pub(crate) fn begin(&self, input: &[u8]) {
        self.file.write_all_at(input, 0).unwrap();
        self.file.set_len(input.len() as u64).unwrap();
        self.started.store(now(), Ordering::Relaxed);
    }
}

impl Drop for StuckWatch {
    fn drop(&mut self) {
        self.started.store(OVER, Ordering::Relaxed);
    }
}

#[expect(clippy::exit, reason = "the other threads cannot be stopped in any other way")]
fn check(path: &Path, started: u64) {
    let (took, memory) = (Duration::from_millis(now().saturating_sub(started)), peak_memory_kb());
    if took > MAX_EXECUTION || memory > MAX_MEMORY_KB {
        report(&format!(
            "stuck: {} s of processor time, {} MB of memory; the input is in {}",
            took.as_secs(),
            memory / 1024,
            path.display()
        ));
        std::process::exit(3);
    }
}

#[expect(clippy::print_stderr, reason = "the last words of a program that is about to end")]
fn report(text: &str) {
    eprintln!("{text}");
}

fn now() -> u64 {
    u64::try_from(processor_time().as_millis()).unwrap_or(u64::MAX)
}
