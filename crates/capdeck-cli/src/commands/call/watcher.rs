//! Shows a tool's progress to the person who waits for it.

use std::sync::{Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use capdeck_catalog::{Capability, Tool};
use capdeck_host::{
    CallConsent, CallError, CallerHandle, ClientProfile, ErrorCode, NoCaller, RawMembers, Session,
    is_asked_about,
};
use capdeck_serve::person_at_terminal;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::question;
use crate::{
    arguments::plain,
    errors::CommandFailure,
    plain_text::one_line,
    printer::{TerminalPrompt, TerminalUser as _, is_yes},
    progress_spinner::ProgressSpinner,
};

/// The person who made the call: hears progress, and can be asked where there is a terminal.
#[derive(Debug)]
pub(crate) struct CallWatcher {
    /// The capability that is called, once it is known.
    id: OnceLock<String>,
    progress: Mutex<Option<ProgressSpinner>>,
    asker: Option<TerminalPrompt>,
}

impl CallWatcher {
    pub(crate) fn new(id: &str, asker: Option<TerminalPrompt>) -> Self {
        let watcher = Self::unnamed(asker);
        watcher.names(id);
        watcher
    }

    /// For a call of which it is not known yet what it calls.
    pub(crate) fn unnamed(asker: Option<TerminalPrompt>) -> Self {
        Self { id: OnceLock::new(), progress: Mutex::new(None), asker }
    }

    /// Questions from now on are this capability's.
    pub(crate) fn names(&self, id: &str) {
        self.id.get_or_init(|| id.to_owned());
    }

    pub(crate) fn can_be_asked(&self) -> bool {
        self.asker.is_some()
    }

    /// What servers see: a person at a terminal can be asked questions.
    pub(crate) fn profile(&self) -> ClientProfile {
        if self.can_be_asked() { person_at_terminal() } else { ClientProfile::default() }
    }

    /// Asks a yes-or-no question; anything but yes is no, also when there is no one to ask.
    pub(crate) async fn confirm(&self, question: String) -> bool {
        let Some(mut asker) = self.asker else { return false };
        let answer =
            run_on_thread(move || asker.line(&format!("{question} [y/N] "))).await.flatten();
        answer.is_some_and(|answer| is_yes(&answer))
    }

    /// What the person says to a call of this tool, where the policy asks and they are there. Without a word the host
    /// refuses what it asks about.
    pub(crate) async fn consent(
        &self,
        session: &Session,
        capability: &Capability,
        tool: &Tool,
    ) -> Result<CallConsent, CommandFailure> {
        if !self.can_be_asked() || !is_asked_about(&session.snapshot(), capability, tool).await? {
            return Ok(CallConsent::NotAsked);
        }
        let (id, name) = (&capability.definition.id, one_line(tool.name()));
        let question = format!("`{id}.{name}` requires approval. Call it?");
        match self.confirm(question).await {
            true => Ok(CallConsent::Given),
            false => Err(CommandFailure::request("CANCELLED", "not called")),
        }
    }

    pub(crate) fn show(&self, progress: ProgressSpinner) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    pub(crate) fn hide(&self) {
        drop(self.progress.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[async_trait]
impl CallerHandle for CallWatcher {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: RawMembers) {
        let text = |key: &str| {
            let value: serde_json::Value = serde_json::from_str(params.get(key)?.get()).ok()?;
            Some(plain(&value))
        };
        let done = match (text("progress"), text("total")) {
            (Some(done), Some(total)) => format!("{done}/{total} "),
            (Some(done), None) => format!("{done} "),
            (None, _) => String::new(),
        };
        if let Some(shown) = &*self.progress.lock().unwrap_or_else(PoisonError::into_inner) {
            shown.say(&one_line(&format!("{done}{}", text("message").unwrap_or_default())));
        }
    }

    fn notify(&self, _method: &str, _params: Option<RawMembers>) {}

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        let (Some(mut asker), "elicitation/create") = (self.asker, method) else {
            return NoCaller.request(method, params).await;
        };
        self.hide();
        let id = self.id.get().cloned().unwrap_or_default();
        let params = params.unwrap_or_default();
        let bug = |error: String| CallError::new(ErrorCode::InternalError, error);
        let answer = run_on_thread(move || question::ask(&id, &params, &mut asker)).await;
        let answer = answer.ok_or_else(|| bug("the question could not be asked".to_owned()))?;
        serde_json::value::to_raw_value(&answer).map_err(|error| bug(error.to_string()))
    }
}

/// Runs what waits for the person on a thread of its own. They may take as long as they like, and a read of the terminal
/// cannot be interrupted: neither may hold up the rest of the process, or its end.
async fn run_on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = oneshot::channel();
    let asking = std::thread::Builder::new().spawn(move || {
        // The caller may be gone meanwhile.
        let _gone = sender.send(work());
    });
    asking.ok()?;
    receiver.await.ok()
}
