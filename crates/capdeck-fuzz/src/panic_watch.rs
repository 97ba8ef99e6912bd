//! Hears of every panic, also of those in threads and tasks that swallow them.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use parking_lot::Mutex;

/// The panics of the execution that is going on. `None` when none is.
static PANICS: Mutex<Option<Vec<PanicRecord>>> = Mutex::new(None);

/// One panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PanicRecord {
    /// `file:line` of the code that panicked.
    pub(crate) place: String,
    pub(crate) message: String,
}

/// Runs work; gives its result, or the first panic there was in any thread meanwhile.
pub(crate) fn watch<T>(work: impl FnOnce() -> T) -> Result<T, PanicRecord> {
    install();
    *PANICS.lock() = Some(Vec::new());
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    let panics = PANICS.lock().take().unwrap_or_default();
    match (panics.into_iter().next(), result) {
        (Some(first), _) => Err(first),
        (None, Ok(value)) => Ok(value),
        (None, Err(_)) => {
            Err(PanicRecord { place: "unknown".to_owned(), message: "a panic".to_owned() })
        }
    }
}

/// Puts our hook before the one that is there. Outside of [`watch`] that one is called as before.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| match PANICS.lock().as_mut() {
            Some(panics) => {
                let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
                panics.push(PanicRecord {
                    place: place.unwrap_or_default(),
                    message: info.payload_as_str().unwrap_or("a panic without a text").to_owned(),
                });
            }
            None => before(info),
        }));
    });
}
