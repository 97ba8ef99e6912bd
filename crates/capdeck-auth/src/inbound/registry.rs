//! The registry: who may use what. Read from memory, changed on disk first.

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::broadcast;

use super::{
    AccessCache, AdminKey, AuditEvent, AuthorizationCode, EventCaller, EventSubject,
    FailedCredentials, OpenRegistryError, RedirectPolicy, RegistryError, RegistryEvent,
    RegistryFileStore, RegistryOptions, RegistryResult, RegistrySnapshot, RenewalResponse,
    TokenHash,
};

/// How many events a follower may be behind before it misses some.
const EVENT_BACKLOG: usize = 1024;

/// Clients, principals, requests, grants, credentials and operators of a host. Clones are the same registry.
#[derive(Debug, Clone)]
pub struct Registry {
    pub(super) inner: Arc<RegistryInner>,
}

#[derive(Debug)]
pub(super) struct RegistryInner {
    pub(super) options: RegistryOptions,
    /// What is in force. Replaced whole, so a reader sees a change entirely or not at all.
    state: RwLock<Arc<RegistrySnapshot>>,
    /// Held while something is being changed.
    store: Mutex<RegistryFileStore>,
    pub(super) accesses: AccessCache,
    pub(super) volatile: TransientState,
    events: broadcast::Sender<RegistryEvent>,
}

/// The services of a registry, one for each subject. Their methods are beside the records that they change.
macro_rules! services {
    ($($(#[$doc:meta])* $method:ident: $service:ident;)*) => {
        impl Registry {
            $($(#[$doc])* pub fn $method(&self) -> $service<'_> {
                $service { registry: self }
            })*
        }

        $($(#[$doc])* #[derive(Debug, Clone, Copy)]
        pub struct $service<'a> {
            pub(super) registry: &'a Registry,
        })*
    };
}

services! {
    /// Operators: the people with the dashboard.
    operators: OperatorService;
    /// Sessions of operators, and how they sign in.
    sessions: SessionService;
    /// Clients, and the principals that they are.
    clients: ClientService;
    /// Agents that sign up without a browser.
    enrollments: EnrollmentService;
    /// Requests for access, decisions about them, and the grants that they became.
    grants: AccessGrantService;
    /// How requests are decided: the policy, and profiles for approvals.
    approval: ApprovalService;
    /// Whose capsules are, and what ends with them.
    capsules: CapsuleOwnerService;
    /// Codes, tokens and the connections that they open.
    tokens: TokenService;
}

impl Registry {
    /// Opens the registry in a folder. A folder that is not there is an empty registry; it is made with the first change.
    pub fn open(
        folder: impl Into<PathBuf>,
        options: RegistryOptions,
    ) -> Result<Self, OpenRegistryError> {
        let mut store = RegistryFileStore::new(folder.into());
        let records = store.refresh()?.unwrap_or_default();
        let (events, _) = broadcast::channel(EVENT_BACKLOG);
        let inner = Arc::new(RegistryInner {
            volatile: TransientState::new(&options),
            options,
            state: RwLock::new(Arc::new(RegistrySnapshot::new(records))),
            store: Mutex::new(store),
            accesses: AccessCache::default(),
            events,
        });
        Ok(Self { inner })
    }

    /// Every change and every refusal from now on, as it is recorded.
    pub fn changes(&self) -> broadcast::Receiver<RegistryEvent> {
        self.inner.events.subscribe()
    }

    /// Where clients may send people back to.
    pub fn redirect_policy(&self) -> &RedirectPolicy {
        &self.inner.options.redirects
    }

    /// Where credentials that open nothing are counted.
    pub fn failed_credentials(&self) -> &Arc<FailedCredentials> {
        &self.inner.volatile.failures
    }

    /// Says where this process serves, for other processes that find the registry in use. Makes no folder for it.
    pub async fn announce(&self, place: &str) -> RegistryResult<()> {
        let (inner, place) = (Arc::clone(&self.inner), place.to_owned());
        blocking(move || inner.store.lock().announce(place)).await
    }

    /// Writes down when credentials were last used, if anything was used. For the end of a process.
    pub async fn save_last_used(&self) -> RegistryResult<()> {
        let inner = Arc::clone(&self.inner);
        blocking(move || inner.store.lock().save_last_used(&inner.state().records)).await
    }

    pub(super) fn state(&self) -> Arc<RegistrySnapshot> {
        self.inner.state()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.inner.options.clock.now()
    }

    /// Makes a change: it is tried on a copy, stored, and then in force. Either way it is recorded once. It is carried
    /// through even when the caller stops waiting.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        caller: &EventCaller,
        action: &'static str,
        subject: EventSubject,
        change: impl FnOnce(&mut RegistryTransaction<'_>) -> RegistryResult<T> + Send + 'static,
    ) -> RegistryResult<T> {
        let (inner, event) = (Arc::clone(&self.inner), AuditEvent::new(action, caller, subject));
        blocking(move || inner.change(event, change)).await
    }

    /// Records something that was decided elsewhere: a request without a token, say. It reaches the audit and those who
    /// follow like everything else.
    pub async fn record_event(&self, event: RegistryEvent) {
        let inner = Arc::clone(&self.inner);
        let recorded = blocking(move || {
            inner.publish_event(event);
            Ok(())
        });
        if let Err(error) = recorded.await {
            tracing::error!(%error, "an event of the registry could not be recorded");
        }
    }

    /// Records something that changes nothing on disk, or that was refused before anything was tried.
    pub async fn record(
        &self,
        caller: &EventCaller,
        action: &'static str,
        subject: EventSubject,
        error: Option<&RegistryError>,
    ) {
        let event = AuditEvent::new(action, caller, subject);
        self.record_event(event.event(self.now(), error)).await;
    }
}

/// A copy of the registry that is being changed.
pub(super) struct RegistryTransaction<'a> {
    pub(super) state: RegistrySnapshot,
    /// What the audit says about it; filled in as it becomes known.
    pub(super) event: AuditEvent,
    pub(super) options: &'a RegistryOptions,
    pub(super) volatile: &'a TransientState,
    pub(super) now: Timestamp,
    /// Whether what was changed stays although the response is an error: a stolen token ends what it was stolen from.
    pub(super) commits_on_error: bool,
    /// Further events, for what follows from the change.
    consequences: Vec<AuditEvent>,
}

impl RegistryTransaction<'_> {
    pub(super) fn after(&self, wait: Duration) -> Timestamp {
        self.now.checked_add(wait).unwrap_or(Timestamp::MAX)
    }

    /// Records something that follows from the change, in the name of the same caller.
    pub(super) fn record_also(&mut self, action: &'static str, subject: EventSubject) {
        self.record_also_for(&self.event.caller.clone(), action, subject);
    }

    pub(super) fn record_also_for(
        &mut self,
        caller: &EventCaller,
        action: &'static str,
        subject: EventSubject,
    ) {
        self.consequences.push(AuditEvent::new(action, caller, subject));
    }
}

/// Refuses one more where there are as many as there may be.
pub(super) fn check_room(what: &'static str, count: usize, limit: usize) -> RegistryResult<()> {
    if count >= limit { Err(RegistryError::Full { what, limit }) } else { Ok(()) }
}

impl RegistryInner {
    pub(super) fn state(&self) -> Arc<RegistrySnapshot> {
        Arc::clone(&self.state.read())
    }

    /// Blocks the thread: it waits for other changes and for the disk.
    fn change<T>(
        &self,
        event: AuditEvent,
        change: impl FnOnce(&mut RegistryTransaction<'_>) -> RegistryResult<T>,
    ) -> RegistryResult<T> {
        let mut store = self.store.lock();
        let now = self.options.clock.now();
        let mut event = event;
        let mut consequences = Vec::new();
        let result = (|| {
            if let Some(records) = store.refresh()? {
                *self.state.write() = Arc::new(RegistrySnapshot::new(records));
            }
            let before = self.state();
            let mut state = RegistrySnapshot::clone(&before);
            state.sweep(now, &self.options);
            self.volatile.sweep(now);
            let mut draft = RegistryTransaction {
                state,
                event: event.clone(),
                options: &self.options,
                volatile: &self.volatile,
                now,
                commits_on_error: false,
                consequences: Vec::new(),
            };
            let result = change(&mut draft);
            event = draft.event;
            if result.is_err() && !draft.commits_on_error {
                return result;
            }
            consequences = draft.consequences;
            let mut state = draft.state;
            if !state.is_same(&before) {
                store.commit(&before.records, &state.records)?;
                state.index(&before);
                self.accesses.sweep(&state);
                *self.state.write() = Arc::new(state);
            }
            result
        })();
        self.publish_event(event.event(now, result.as_ref().err()));
        consequences.into_iter().for_each(|event| self.publish_event(event.event(now, None)));
        result
    }

    fn publish_event(&self, event: RegistryEvent) {
        if let Some(sink) = &self.options.audit {
            sink.record(&event);
        }
        // There may be no follower.
        drop(self.events.send(event));
    }
}

/// Runs something that waits for the disk on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> RegistryResult<T> + Send + 'static,
) -> RegistryResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            Err(RegistryError::Disk { path: "the registry".to_owned(), reason: error.to_string() })
        }
    }
}

/// What is only in memory and may be lost.
#[derive(Debug)]
pub(super) struct TransientState {
    pub(super) failures: Arc<FailedCredentials>,
    /// When each sign-up may be asked about again.
    polls: Mutex<HashMap<String, Timestamp>>,
    /// The admin key in force, once somebody said so.
    pub(super) admin_key: Mutex<Option<AdminKey>>,
    /// Codes that can still be redeemed.
    pub(super) codes: Mutex<HashMap<TokenHash, AuthorizationCode>>,
    /// The last renewal of each connection, for a while.
    pub(super) renewals: Mutex<HashMap<String, RenewalResponse>>,
}

impl TransientState {
    pub(super) fn new(options: &RegistryOptions) -> Self {
        let free = options.limits.failed_credentials;
        Self {
            failures: Arc::new(FailedCredentials::new(options.clock.clone(), free)),
            polls: Mutex::default(),
            admin_key: Mutex::default(),
            codes: Mutex::default(),
            renewals: Mutex::default(),
        }
    }

    pub(super) fn sweep(&self, now: Timestamp) {
        self.polls.lock().retain(|_, next| now < *next);
        self.codes.lock().retain(|_, code| now < code.expires_at);
        self.renewals.lock().retain(|_, renewal| now < renewal.until);
    }

    /// Notes that a sign-up was asked about, unless it was too soon.
    pub(super) fn record_poll(
        &self,
        id: &str,
        now: Timestamp,
        interval: Duration,
    ) -> RegistryResult<()> {
        let mut polls = self.polls.lock();
        if let Some(next) = polls.get(id).filter(|next| now < **next) {
            return Err(RegistryError::too_soon(*next, now));
        }
        polls.insert(id.to_owned(), now.checked_add(interval).unwrap_or(Timestamp::MAX));
        Ok(())
    }
}
