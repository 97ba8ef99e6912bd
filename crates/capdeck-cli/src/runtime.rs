//! Runs work that waits: on one thread, ended by Ctrl-C, with every child process gone afterwards.

use std::{io::IsTerminal as _, sync::Arc, time::Duration};

use capdeck_host::{
    CallContext, CallerHandle, ClientProfile, Host, NoCaller, Session, SessionScope,
    SessionSettings,
};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use crate::{
    commands::CommandContext,
    errors::{CommandFailure, ExitStatus},
};

/// Opens the host and runs `work` with the person's own session.
pub(crate) fn with_operator<T>(
    context: &CommandContext<'_>,
    work: impl AsyncFnOnce(&Session, &CallContext) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    with_caller(context.open_host()?, ClientProfile::default(), Arc::new(NoCaller), work)
}

/// The same with an open host and a caller that gets progress and may be asked questions.
pub(crate) fn with_caller<T>(
    host: Host,
    client: ClientProfile,
    caller: Arc<dyn CallerHandle>,
    work: impl AsyncFnOnce(&Session, &CallContext) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let session = host.session(SessionSettings::local(SessionScope::Operator, client));
    with_session(host, session, caller, work)
}

/// The same with a session of this host.
pub(crate) fn with_session<T>(
    host: Host,
    session: Arc<Session>,
    caller: Arc<dyn CallerHandle>,
    work: impl AsyncFnOnce(&Session, &CallContext) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let call = CallContext { timeout: None, caller, ..CallContext::detached(Duration::ZERO) };
    single_thread()?.block_on(async {
        let outcome = tokio::select! {
            outcome = work(&session, &call) => outcome,
            _ = stop_signal() => {
                call.cancel.cancel();
                Err(CommandFailure::interrupted())
            }
        };
        session.close().await;
        host.close().await;
        outcome
    })
}

/// The runtime of every command. One thread: see `docs/design/007-one-thread.md`.
pub(crate) fn single_thread() -> Result<Runtime, CommandFailure> {
    Builder::new_current_thread().enable_all().build().map_err(|error| no_runtime(&error))
}

/// Who asks the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// Ctrl-C, or a program that does the same.
    Interrupt,
    Terminate,
}

impl StopSignal {
    /// How a server ends: as a shell expects of Ctrl-C, and without an error for an agent or a service manager.
    pub(crate) fn server_status(self) -> ExitStatus {
        match self {
            Self::Interrupt if std::io::stdin().is_terminal() => ExitStatus::Interrupted,
            Self::Interrupt | Self::Terminate => ExitStatus::Done,
        }
    }
}

/// Ends when the person or the system asks the process to stop. Heard from the moment this is called.
pub(crate) fn stop_signal() -> impl Future<Output = StopSignal> {
    let handlers = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    // A terminal that is closed ends what runs in it, in order. `nohup` lets a program outlive its terminal.
    let hangup = (!ignores_hangup()).then(|| signal(SignalKind::hangup()).ok()).flatten();
    async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = handlers else {
            // Without handlers the signals end the process the default way, and the guardian the children.
            return std::future::pending().await;
        };
        let hung_up = async {
            match hangup {
                Some(mut hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => StopSignal::Interrupt,
            _ = terminate.recv() => StopSignal::Terminate,
            () = hung_up => StopSignal::Terminate,
        }
    }
}

/// Whether the process was started with SIGHUP ignored, as far as the system tells.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_hangup_ignored(&status)
}

fn is_hangup_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

fn no_runtime(error: &std::io::Error) -> CommandFailure {
    let message = format!("the system gives no more threads or files: {error}");
    CommandFailure::setup("NO_RUNTIME", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_hangup_is_found_in_the_status_of_the_process() {
        assert!(is_hangup_ignored("Name:\tcapdeck\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"));
        assert!(!is_hangup_ignored("SigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"));
        assert!(!is_hangup_ignored(""));
    }
}
