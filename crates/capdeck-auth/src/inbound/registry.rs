//! The registry: who may use what. Read from memory, changed on disk first.

use std::{
    collections::{HashMap, HashSet},
    ops::{Deref, DerefMut},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::broadcast;

use super::{
    AccessCache, AccessTokenRecord, AdminKey, AuditEvent, AuthenticatedClient, AuthorizationCode,
    ClientDocuments, Credential, EventCaller, EventSubject, FailedCredentials, Grant, GrantRequest,
    LastUseTime, OpenRegistryError, Operator, RedirectPolicy, RegistryError, RegistryEvent,
    RegistryFileStore, RegistryOptions, RegistryRecords, RegistryResult, RegistryStore,
    RenewalResponse, RequestStatus, SessionRecord, TokenHash,
};
use crate::blocking::blocking;

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
    store: Mutex<Box<dyn RegistryStore>>,
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
        Self::open_store(Box::new(RegistryFileStore::new(folder.into())), options)
    }

    /// Opens the registry whose records are in a store.
    pub fn open_store(
        mut store: Box<dyn RegistryStore>,
        options: RegistryOptions,
    ) -> Result<Self, OpenRegistryError> {
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

    pub fn client_documents(&self) -> ClientDocuments {
        self.inner.options.client_documents
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

    /// Makes a change on a copy, stores it, and puts it in force, even when the caller stops waiting. Records it once.
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

    /// Records an event that was decided elsewhere, such as a request without a token, for the audit and for followers.
    pub async fn record_event(&self, event: RegistryEvent) {
        let inner = Arc::clone(&self.inner);
        let recorded = blocking(move || {
            inner.publish_event(event);
            RegistryResult::Ok(())
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

/// What is only in memory and may be lost.
#[derive(Debug)]
pub(super) struct TransientState {
    pub(super) failures: Arc<FailedCredentials>,
    /// When each sign-up may be asked about again.
    polls: Mutex<HashMap<String, Timestamp>>,
    /// The admin key in force, once it was set.
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

/// One state of the registry. Copies share what is not changed.
#[derive(Debug, Clone, Default)]
pub(super) struct RegistrySnapshot {
    pub(super) records: RegistryRecords,
    /// Grows with every change.
    pub(super) generation: u64,
    /// Tokens that open something, unless they are over.
    pub(super) tokens: Arc<HashMap<TokenHash, TokenIndexEntry>>,
    /// Connections by the half of the refresh token that stays the same.
    pub(super) families: Arc<HashMap<TokenHash, String>>,
    /// Ids of grants that were not taken back, by principal.
    grants_of: Arc<HashMap<String, Vec<String>>>,
    pub(super) operator_keys: Arc<HashMap<TokenHash, String>>,
    pub(super) session_tokens: Arc<HashMap<TokenHash, String>>,
}

#[derive(Debug)]
pub(super) struct TokenIndexEntry {
    pub(super) hash: TokenHash,
    pub(super) client: Arc<AuthenticatedClient>,
    pub(super) last_used: LastUseTime,
}

impl Deref for RegistrySnapshot {
    type Target = RegistryRecords;

    fn deref(&self) -> &RegistryRecords {
        &self.records
    }
}

impl DerefMut for RegistrySnapshot {
    fn deref_mut(&mut self) -> &mut RegistryRecords {
        &mut self.records
    }
}

impl RegistrySnapshot {
    pub(super) fn new(records: RegistryRecords) -> Self {
        let mut state = Self { records, ..Self::default() };
        state.index(&Self::default());
        state
    }

    /// Live grants of a principal, the oldest first.
    pub(super) fn live_grants(&self, principal: &str, now: Timestamp) -> Vec<Grant> {
        let mut grants: Vec<Grant> = self
            .grants_of
            .get(principal)
            .into_iter()
            .flatten()
            .filter_map(|id| self.grants.get(id))
            .filter(|grant| grant.is_live(now))
            .cloned()
            .collect();
        grants.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        grants
    }

    /// Makes the ways to find things fit what was changed.
    pub(super) fn index(&mut self, before: &Self) {
        self.generation = before.generation + 1;
        if !self.credentials.is_same(&before.credentials) {
            let all = || self.records.credentials.values();
            let live = all().filter(|one| one.revoked_at.is_none());
            let tokens = live.flat_map(|one| one.tokens.iter().map(move |token| (one, token)));
            let entry = |(credential, token): (&Credential, &AccessTokenRecord)| {
                let client = Arc::new(credential.authenticated(token));
                let last_used = credential.last_used_at.clone();
                (token.hash, TokenIndexEntry { hash: token.hash, client, last_used })
            };
            self.tokens = Arc::new(tokens.map(entry).collect());
            let family = |one: &Credential| Some((one.refresh.as_ref()?.family, one.id.clone()));
            self.families = Arc::new(all().filter_map(family).collect());
        }
        if !self.grants.is_same(&before.grants) {
            let mut grants_of: HashMap<String, Vec<String>> = HashMap::new();
            for grant in self.grants.values().filter(|grant| grant.revoked_at.is_none()) {
                grants_of.entry(grant.principal.clone()).or_default().push(grant.id.clone());
            }
            self.grants_of = Arc::new(grants_of);
        }
        if !self.operators.is_same(&before.operators) {
            let key = |one: &Operator| Some((one.key?, one.id.clone()));
            self.operator_keys = Arc::new(self.operators.values().filter_map(key).collect());
        }
        if !self.sessions.is_same(&before.sessions) {
            let token = |one: &SessionRecord| (one.token, one.id.clone());
            self.session_tokens = Arc::new(self.sessions.values().map(token).collect());
        }
    }

    /// Removes what is over, and after a while also what is only history.
    pub(super) fn sweep(&mut self, now: Timestamp, options: &RegistryOptions) {
        let lifetimes = &options.lifetimes;
        let old = now.checked_sub(lifetimes.history).unwrap_or(Timestamp::MIN);
        for request in self.requests.select(|one| one.status_at(now) != one.status) {
            self.requests.put(request.at(now));
        }
        self.sessions.keep(|session| session.is_live(now, lifetimes.session_idle));
        self.credentials
            .keep(|one| one.revoked_at.or(one.expires_at).is_none_or(|ended| old < ended));
        self.grants.keep(|one| one.revoked_at.or(one.expires_at).is_none_or(|ended| old < ended));
        let grants = self.grants.clone();
        self.requests.keep(|one| {
            one.status == RequestStatus::Pending
                || old < one.decided_at.unwrap_or(one.expires_at)
                || one.grant.as_ref().is_some_and(|id| grants.contains_key(id))
        });
        self.forget_past_requests(now, options.limits.past_requests);
        let requests = self.requests.clone();
        self.enrollments.keep(|one| requests.contains_key(&one.request));
        let records = &mut self.records;
        let held: HashSet<&str> = records
            .requests
            .values()
            .map(|one| one.principal.as_str())
            .chain(records.grants.values().map(|one| one.principal.as_str()))
            .chain(records.credentials.values().map(|one| one.principal.as_str()))
            .collect();
        records.principals.keep(|one| held.contains(one.id.as_str()));
    }

    /// Keeps the newest of the requests that nothing depends on any more.
    fn forget_past_requests(&mut self, now: Timestamp, most: usize) {
        let is_past = |one: &&GrantRequest| {
            let grant = one.grant.as_ref().and_then(|id| self.grants.get(id));
            one.status != RequestStatus::Pending && !grant.is_some_and(|grant| grant.is_live(now))
        };
        let mut past: Vec<&GrantRequest> = self.requests.values().filter(is_past).collect();
        if past.len() <= most {
            return;
        }
        past.sort_by_key(|one| one.decided_at.unwrap_or(one.expires_at));
        let gone: HashSet<String> =
            past.iter().take(past.len() - most).map(|one| one.id.clone()).collect();
        self.requests.keep(|one| !gone.contains(&one.id));
    }
}
