//! A panic becomes exit code 255 and one plain sentence.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
};

use crate::errors::Failure;

thread_local! {
    /// What the last panic of this thread said, and where.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the command; a panic in it is a failure like any other, of the kind that is ours to fix.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    panic::set_hook(Box::new(remember));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let said = LAST_PANIC.take().unwrap_or_else(|| "no message".to_owned());
        Err(Failure::bug(format!("capdeck stopped by a mistake of its own: {said}")))
    })
}

fn remember(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("no message");
    let said = match info.location() {
        Some(place) => format!("{message} (at {}:{})", place.file(), place.line()),
        None => message.to_owned(),
    };
    // A panic in a task of its own fails that task only; the log is where it can be found.
    tracing::error!(panic = %said, "a task ended by a bug");
    LAST_PANIC.set(Some(said));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::ExitStatus;

    #[test]
    fn a_panic_is_a_bug_with_its_message() {
        let failure =
            guarded(|| -> Result<(), Failure> { panic!("seven is not even") }).unwrap_err();
        assert_eq!((failure.status, &*failure.code), (ExitStatus::Bug, "INTERNAL_ERROR"));
        assert!(failure.message.contains("seven is not even (at crates/"), "{failure}");
    }

    #[test]
    fn a_failure_passes_through() {
        let failure = guarded(|| -> Result<(), Failure> { Err(Failure::usage("no")) }).unwrap_err();
        assert_eq!(failure.status, ExitStatus::WrongUsage);
    }
}
