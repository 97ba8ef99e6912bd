//! The deck for commands that call tools: through the running host of the same decks where there is one, else in this
//! process.

use std::sync::Arc;

use capdeck_host::{CallError, Host, Session, SessionScope, SessionSettings};
use capdeck_serve::{HostUnreachable, LocalShell, RemoteShell, ToolShell};

use crate::{
    commands::CallWatcher, errors::CommandFailure, printer::Printer,
    progress_spinner::ProgressSpinner, settings::CommandSettings,
};

/// The deck that a command line uses.
pub(crate) enum ShellDeck {
    /// In the host that runs for the same decks: its servers are started already.
    Remote(RemoteShell),
    /// In this process, with what must be closed afterwards.
    Here(LocalShell, Host, Arc<Session>),
}

impl ShellDeck {
    /// Through a running host where there is one.
    pub(crate) async fn open(
        settings: &CommandSettings,
        watcher: &CallWatcher,
        printer: &Printer,
    ) -> Result<Self, CommandFailure> {
        match RemoteShell::connect(&settings.shell_socket(), watcher.can_be_asked()).await {
            Ok(remote) => return Ok(Self::Remote(remote)),
            Err(HostUnreachable::Absent) => {}
            Err(trouble) => printer.note(&format!("{trouble}; the deck is opened here instead")),
        }
        Self::open_here(settings, watcher)
    }

    fn open_here(
        settings: &CommandSettings,
        watcher: &CallWatcher,
    ) -> Result<Self, CommandFailure> {
        let host = settings.open_host()?;
        let session =
            host.session(SessionSettings::local(SessionScope::Operator, watcher.profile()));
        Ok(Self::Here(LocalShell::new(session.clone()), host, session))
    }

    pub(crate) fn shell(&self) -> &dyn ToolShell {
        match self {
            Self::Remote(remote) => remote,
            Self::Here(here, ..) => here,
        }
    }

    /// Shows that something goes on, and what is installed meanwhile where servers are started here.
    pub(crate) fn progress(&self, printer: &Printer, text: &str) -> ProgressSpinner {
        let progress = printer.progress(text);
        match self {
            Self::Remote(_) => progress,
            Self::Here(_, host, _) => progress.following(host),
        }
    }

    /// Asks with `ask`. Where the running host has just ended, the deck is opened here and asked again.
    pub(crate) async fn ask_or_reopen<T>(
        &mut self,
        settings: &CommandSettings,
        watcher: &CallWatcher,
        printer: &Printer,
        ask: impl AsyncFn(&dyn ToolShell) -> Result<T, CallError>,
    ) -> Result<Result<T, CallError>, CommandFailure> {
        let answer = ask(self.shell()).await;
        if answer.is_ok() || !self.is_lost().await {
            return Ok(answer);
        }
        printer.note("the running host ended; the deck is opened here instead");
        *self = Self::open_here(settings, watcher)?;
        Ok(ask(self.shell()).await)
    }

    /// True when a running host ended in the middle of the conversation.
    async fn is_lost(&self) -> bool {
        match self {
            Self::Remote(remote) => remote.is_lost().await,
            Self::Here(..) => false,
        }
    }

    /// Ends every connection and process that was opened here.
    pub(crate) async fn close(&self) {
        if let Self::Here(_, host, session) = self {
            session.close().await;
            host.close().await;
        }
    }
}
