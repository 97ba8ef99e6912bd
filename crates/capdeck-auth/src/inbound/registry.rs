//! The registry: who may use what. Read from memory, changed on disk first.

use std::{path::PathBuf, sync::Arc};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::broadcast;

use super::{
    EventCaller, EventSubject, FailedCredentials, OpenRegistryError, RegistryError, RegistryEvent,
    RegistryOptions, access::AccessCache, event::AuditEvent, state::RegistrySnapshot,
    storage::RegistryStorage, transient_state::TransientState,
};

/// How many events somebody who follows may be behind before missing some.
const EVENT_BACKLOG: usize = 1024;

/// Clients, principals, requests, grants, credentials and operators of a host. Clones are the same registry.
#[derive(Debug, Clone)]
pub struct Registry(pub(super) Arc<RegistryInner>);

#[derive(Debug)]
pub(super) struct RegistryInner {
    pub(super) options: RegistryOptions,
    /// What is in force. Replaced whole, so a reader sees a change entirely or not at all.
    state: RwLock<Arc<RegistrySnapshot>>,
    /// Held while something is being changed.
    storage: Mutex<RegistryStorage>,
    pub(super) accesses: AccessCache,
    /// What is never written down.
    pub(super) volatile: TransientState,
    events: broadcast::Sender<RegistryEvent>,
}

impl Registry {
    /// Opens the registry in a folder. A folder that is not there is an empty registry; it is made with the first change.
    pub fn open(
        folder: impl Into<PathBuf>,
        options: RegistryOptions,
    ) -> Result<Self, OpenRegistryError> {
        let storage = RegistryStorage::open(folder.into())?;
        let state = RwLock::new(Arc::new(RegistrySnapshot::load(&storage)?));
        let (events, _) = broadcast::channel(EVENT_BACKLOG);
        Ok(Self(Arc::new(RegistryInner {
            volatile: TransientState::new(&options),
            options,
            state,
            storage: Mutex::new(storage),
            accesses: AccessCache::default(),
            events,
        })))
    }

    /// Every change and every refusal from now on, as it is recorded.
    pub fn changes(&self) -> broadcast::Receiver<RegistryEvent> {
        self.0.events.subscribe()
    }

    /// Where credentials that open nothing are counted.
    pub fn failed_credentials(&self) -> &Arc<FailedCredentials> {
        &self.0.volatile.failures
    }

    /// Says where this process serves, for other processes that find the registry in use. Makes no folder for it.
    pub async fn announce(&self, place: &str) -> Result<(), RegistryError> {
        let (inner, place) = (Arc::clone(&self.0), place.to_owned());
        blocking(move || inner.storage.lock().announce(place)).await
    }

    /// Writes down when credentials were last used, if anything was used. For the end of a process.
    pub async fn save_last_used(&self) -> Result<(), RegistryError> {
        let inner = Arc::clone(&self.0);
        blocking(move || {
            let mut storage = inner.storage.lock();
            if !storage.is_held() {
                return Ok(());
            }
            storage.write(inner.state().use_texts()?)
        })
        .await
    }

    /// What is in force now.
    pub(super) fn state(&self) -> Arc<RegistrySnapshot> {
        self.0.state()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.options.clock.now()
    }

    /// Makes a change: it is tried on a copy, written, and then in force. Either way it is recorded once. It is carried
    /// through even when whoever waits for it goes away.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        event: AuditEvent,
        change: impl FnOnce(&mut RegistryTransaction<'_>) -> Result<T, RegistryError> + Send + 'static,
    ) -> Result<T, RegistryError> {
        let inner = Arc::clone(&self.0);
        blocking(move || inner.change(event, change)).await
    }

    /// Records something that was decided elsewhere: a request without a token, say. It reaches the audit and those who
    /// follow like everything else.
    pub async fn record_event(&self, event: RegistryEvent) {
        let inner = Arc::clone(&self.0);
        let recorded = blocking(move || {
            inner.publish_event(event);
            Ok(())
        });
        if let Err(error) = recorded.await {
            tracing::error!(%error, "an event of the registry could not be recorded");
        }
    }

    /// Records what somebody looked at, or what they were refused before the registry had to be changed.
    pub async fn record_audit_event(
        &self,
        caller: &EventCaller,
        action: &'static str,
        subject: EventSubject,
        error: Option<&RegistryError>,
    ) {
        self.record(AuditEvent::new(action, caller, subject), error).await;
    }

    /// Records something that changes nothing on disk, or that was refused before anything was tried.
    pub(super) async fn record(&self, event: AuditEvent, error: Option<&RegistryError>) {
        self.record_event(event.event(self.now(), error)).await;
    }
}

/// A copy of the registry that is being changed.
pub(super) struct RegistryTransaction<'a> {
    pub(super) state: &'a mut RegistrySnapshot,
    /// What is said about it in the audit; filled in as it becomes known.
    pub(super) event: &'a mut AuditEvent,
    pub(super) options: &'a RegistryOptions,
    pub(super) volatile: &'a TransientState,
    pub(super) now: Timestamp,
    /// Whether what was changed stays although the answer is no: a stolen token ends what it was stolen from.
    pub(super) commits_on_error: bool,
    /// Further lines, for what follows from the change.
    pub(super) consequences: Vec<AuditEvent>,
}

impl RegistryInner {
    pub(super) fn state(&self) -> Arc<RegistrySnapshot> {
        Arc::clone(&self.state.read())
    }

    /// Blocks the thread: it waits for other changes and for the disk.
    fn change<T>(
        &self,
        mut event: AuditEvent,
        change: impl FnOnce(&mut RegistryTransaction<'_>) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let mut storage = self.storage.lock();
        let now = self.options.clock.now();
        let mut consequences = Vec::new();
        let result = self.apply_change(&mut storage, &mut event, &mut consequences, now, change);
        self.publish_event(event.event(now, result.as_ref().err()));
        consequences.into_iter().for_each(|event| self.publish_event(event.event(now, None)));
        result
    }

    fn apply_change<T>(
        &self,
        storage: &mut RegistryStorage,
        event: &mut AuditEvent,
        consequences: &mut Vec<AuditEvent>,
        now: Timestamp,
        change: impl FnOnce(&mut RegistryTransaction<'_>) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        // A folder that was not there when the registry was opened may have been made and left by another process since.
        if !storage.is_held() && storage.is_there() {
            storage.lock_folder().map_err(not_opened)?;
            *self.state.write() = Arc::new(RegistrySnapshot::load(storage).map_err(not_opened)?);
        }
        let before = self.state();
        let mut state = RegistrySnapshot::clone(&before);
        state.sweep(now, &self.options);
        self.volatile.sweep(now);
        let mut draft = RegistryTransaction {
            state: &mut state,
            event,
            options: &self.options,
            volatile: &self.volatile,
            now,
            commits_on_error: false,
            consequences: Vec::new(),
        };
        let result = change(&mut draft);
        if result.is_err() && !draft.commits_on_error {
            return result;
        }
        *consequences = draft.consequences;
        let texts = state.changed_texts(&before)?;
        if !texts.is_empty() {
            if !storage.is_held() {
                storage.lock_new_folder().map_err(not_opened)?;
            }
            storage.write(texts)?;
            state.index(&before);
            self.accesses.sweep(&state);
            *self.state.write() = Arc::new(state);
        }
        result
    }

    fn publish_event(&self, event: RegistryEvent) {
        if let Some(sink) = &self.options.audit {
            sink.record(&event);
        }
        // Nobody may be following.
        drop(self.events.send(event));
    }
}

/// A folder that can only be opened now, and cannot.
fn not_opened(error: OpenRegistryError) -> RegistryError {
    match error {
        OpenRegistryError::InUse { .. } => RegistryError::InUse,
        OpenRegistryError::Disk { path, reason } | OpenRegistryError::Broken { path, reason } => {
            RegistryError::Disk { path, reason }
        }
        OpenRegistryError::TooNew { ref path, .. } => {
            RegistryError::Disk { path: path.clone(), reason: error.to_string() }
        }
    }
}

/// Runs something that waits for the disk where it holds up nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RegistryError> + Send + 'static,
) -> Result<T, RegistryError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            Err(RegistryError::Disk { path: "the registry".to_owned(), reason: error.to_string() })
        }
    }
}
