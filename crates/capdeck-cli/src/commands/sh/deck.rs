//! Where the deck of a command line is: in a running host, or opened here.

use std::{cell::RefCell, sync::Arc, time::Duration};

use capdeck_host::{CallContext, Host, Session};
use capdeck_serve::{LocalShell, NoHost, RemoteShell, Shell};

use crate::{commands::call::Watcher, errors::Failure, printer::Printer, settings::Settings};

/// The deck, wherever it is.
pub(super) enum Deck {
    Remote(RemoteShell),
    Here(LocalShell),
}

/// How to get at the deck, and what must be closed afterwards.
pub(super) struct Opening<'a> {
    pub(super) settings: Settings,
    pub(super) printer: &'a Printer,
    pub(super) watcher: Arc<Watcher>,
    /// What was opened here.
    pub(super) opened: RefCell<Option<(Host, Arc<Session>)>>,
}

impl Opening<'_> {
    /// Through a running host where there is one.
    pub(super) async fn open(&self) -> Result<Deck, Failure> {
        let can_be_asked = self.watcher.can_be_asked();
        let trouble = match RemoteShell::connect(&self.settings.shell_socket(), can_be_asked).await
        {
            Ok(remote) => return Ok(Deck::Remote(remote)),
            Err(NoHost::Absent) => return self.open_here(),
            Err(trouble) => trouble,
        };
        self.printer.note(&format!("{trouble}; the deck is opened here instead"));
        self.open_here()
    }

    /// In this process.
    pub(super) fn open_here(&self) -> Result<Deck, Failure> {
        let host = self.settings.open_host()?;
        let session = host.operator_as(self.watcher.profile());
        self.opened.replace(Some((host, session.clone())));
        Ok(Deck::Here(LocalShell::new(session)))
    }

    /// What surrounds every request of this command line.
    pub(super) fn context(&self) -> CallContext {
        let caller = self.watcher.clone();
        CallContext { timeout: None, caller, ..CallContext::detached(Duration::ZERO) }
    }

    /// Ends every connection and process that was opened here.
    pub(super) async fn close(&self) {
        let opened = self.opened.take();
        if let Some((host, session)) = opened {
            session.close().await;
            host.close().await;
        }
    }
}

impl Deck {
    pub(super) fn shell(&self) -> &dyn Shell {
        match self {
            Self::Remote(remote) => remote,
            Self::Here(here) => here,
        }
    }

    /// True when a running host ended in the middle of the conversation.
    pub(super) async fn is_lost(&self) -> bool {
        match self {
            Self::Remote(remote) => remote.is_lost().await,
            Self::Here(_) => false,
        }
    }
}
