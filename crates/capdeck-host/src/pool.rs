//! Live connections, opened on first use and shared where possible: one slot per capability, for
//! the definition in force.
//!
//! A call that began before its definition was replaced finishes with a connection of the old one,
//! which is in no slot. Callers share one attempt to connect; after repeated failures the slot
//! backs off, so that a broken server costs an error and not a start-up timeout for each call.

mod attempts;

use std::{
    borrow::Cow,
    collections::HashMap,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use capdeck_backend::{
    CallContext, CallError, CallerHandle, ClientProfile, ConnectOptions, Connection, Connector,
    EraHint, ErrorCode,
};
use capdeck_catalog::{Catalog, Discovery, RawMembers, ServerDetails};
use capdeck_definition::{Backend, CapabilityId, Definition, StartLimit};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::attempts::ConnectAttempts;
use crate::{
    process_turns::{ProcessTurn, ProcessTurns},
    raw,
    start_wait::{StartWait, installs},
};

/// How long running calls may continue with a connection whose definition has changed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct ConnectionPool {
    connector: Connector,
    client: ClientProfile,
    /// `None` for the shared connections.
    owner: Option<PoolOwner>,
    slots: Mutex<ConnectionSlots>,
    cancel: CancellationToken,
}

/// The session whose connections are in a pool.
pub(crate) struct PoolOwner {
    pub(crate) session: Arc<str>,
    pub(crate) turns: Arc<ProcessTurns>,
}

/// A process of one client that no call uses now.
pub(crate) struct UnusedProcess {
    pub(crate) capability: CapabilityId,
    /// When it was last used. `None` if it has ended by itself.
    pub(crate) since: Option<Instant>,
    slot: Arc<ConnectionSlot>,
}

/// What is only needed to open a connection.
pub(crate) struct ConnectPreparation {
    pub(crate) listener: Arc<dyn CallerHandle>,
    pub(crate) era: EraHint,
    pub(crate) turn: BoxFuture<'static, Result<Option<ProcessTurn>, CallError>>,
    pub(crate) start_limit: Option<StartLimit>,
    pub(crate) opened: Box<dyn FnOnce(Option<ServerDetails>) + Send>,
}

struct ConnectionSlots {
    catalog: Arc<Catalog>,
    by_id: HashMap<CapabilityId, Arc<ConnectionSlot>>,
}

/// A connection in use. While there are leases the idle timer does not close it.
pub(crate) struct ConnectionLease {
    live: Arc<LiveConnection>,
    slot: Arc<ConnectionSlot>,
    /// Set when the connection was opened for another client.
    client: Option<Arc<ClientProfile>>,
}

struct ConnectionSlot {
    fingerprint: String,
    live: ArcSwapOption<LiveConnection>,
    leases: AtomicUsize,
    unused: Notify,
    last_used: Mutex<Instant>,
    attempts: Arc<tokio::sync::Mutex<ConnectAttempts>>,
    turns: Option<Arc<ProcessTurns>>,
}

struct LiveConnection {
    connection: Arc<dyn Connection>,
    opened: std::time::Instant,
    turn: Option<ProcessTurn>,
}

impl ConnectionPool {
    pub(crate) fn new(
        connector: Connector,
        client: ClientProfile,
        owner: Option<PoolOwner>,
        catalog: Arc<Catalog>,
    ) -> Self {
        let slots = Mutex::new(ConnectionSlots { catalog, by_id: HashMap::new() });
        Self { connector, client, owner, slots, cancel: CancellationToken::new() }
    }

    pub(crate) fn session(&self) -> Option<&Arc<str>> {
        self.owner.as_ref().map(|owner| &owner.session)
    }

    /// Those that count against the bounds of processes.
    pub(crate) fn unused_processes(&self) -> Vec<UnusedProcess> {
        let slots = self.slots.lock();
        let unused = slots.by_id.iter().filter_map(|(capability, slot)| {
            let live = slot.live.load();
            let live = live.as_ref().filter(|live| live.turn.is_some())?;
            let is_used = slot.leases.load(Ordering::SeqCst) > 0;
            let since = live.connection.ended().is_none().then(|| *slot.last_used.lock());
            let unused =
                || UnusedProcess { capability: capability.clone(), since, slot: slot.clone() };
            (!is_used).then(unused)
        });
        unused.collect()
    }

    pub(crate) async fn lease(
        &self,
        definition: &Arc<Definition>,
        prepare: impl FnOnce() -> ConnectPreparation,
        context: &CallContext,
    ) -> Result<ConnectionLease, CallError> {
        let slot = self.slot(definition);
        if let Some(lease) = slot.lease_live() {
            return Ok(lease);
        }
        let requested_at = Instant::now();
        let wait = StartWait::new(&self.connector, definition, context);
        let mut attempts = tokio::select! {
            biased;
            attempts = slot.attempts.clone().lock_owned() => attempts,
            error = wait.ended() => return Err(error),
        };
        if let Some(lease) = slot.lease_live() {
            return Ok(lease);
        }
        attempts.check(&definition.id, requested_at)?;
        // On the heap: else every call that finds a connection would carry room for opening one.
        let opening = Box::pin(self.open(slot, definition.clone(), prepare()));
        if !installs(definition) {
            return tokio::select! {
                biased;
                outcome = opening => {
                    attempts.note(outcome.as_ref().err(), true);
                    outcome
                }
                error = wait.ended() => Err(error),
            };
        }
        // Ending a launcher throws away what it has installed so far.
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            let outcome = opening.await;
            let error = outcome.as_ref().err().cloned();
            let is_reported = answer.send(outcome).is_ok();
            attempts.note(error.as_ref(), is_reported);
        });
        tokio::select! {
            biased;
            outcome = answered => outcome.unwrap_or_else(|_| Err(cancelled())),
            error = wait.ended() => Err(error),
        }
    }

    fn open(
        &self,
        slot: Arc<ConnectionSlot>,
        definition: Arc<Definition>,
        preparation: ConnectPreparation,
    ) -> impl Future<Output = Result<ConnectionLease, CallError>> + Send + 'static {
        let connector = self.connector.clone();
        let ConnectPreparation { listener, era, turn, start_limit, opened } = preparation;
        let options = ConnectOptions {
            client: self.client.clone(),
            listener,
            era,
            start_limit,
            cancel: self.cancel.child_token(),
        };
        async move {
            // One that ended by itself gives back its turn.
            slot.live.store(None);
            let turn = turn.await?;
            let began = std::time::Instant::now();
            let connection = connector.connect(&definition, options).await?;
            opened(connection.server());
            let live = Arc::new(LiveConnection { connection, opened: began, turn });
            slot.live.store(Some(live.clone()));
            close_when_idle(&slot, &definition);
            Ok(slot.lease(live))
        }
    }

    pub(crate) fn lease_open(&self, definition: &Definition) -> Option<ConnectionLease> {
        let slot = self.slots.lock().by_id.get(definition.id.as_str()).cloned()?;
        slot.lease_live().filter(|_| slot.fingerprint == definition.fingerprint)
    }

    pub(crate) fn follow(&self, catalog: &Arc<Catalog>) {
        let mut slots = self.slots.lock();
        slots.catalog = catalog.clone();
        slots.by_id.retain(|id, slot| {
            let keep = is_in_force(catalog, id, &slot.fingerprint);
            if !keep {
                slot.close_soon(self.cancel.clone());
            }
            keep
        });
    }

    pub(crate) fn reset_backoff(&self, id: &CapabilityId) {
        if let Some(slot) = self.slots.lock().by_id.get(id.as_str())
            && let Ok(mut attempts) = slot.attempts.try_lock()
        {
            *attempts = ConnectAttempts::default();
        }
    }

    pub(crate) fn discard(&self, id: &CapabilityId) {
        if let Some(slot) = self.slots.lock().by_id.remove(id.as_str()) {
            slot.close_soon(self.cancel.clone());
        }
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&RawMembers>) {
        let slots: Vec<_> = self.slots.lock().by_id.values().cloned().collect();
        for lease in slots.iter().filter_map(ConnectionSlot::lease_live) {
            lease.notify(method, params.cloned()).await;
        }
    }

    pub(crate) async fn close(&self) {
        self.cancel.cancel();
        let slots: Vec<_> = self.slots.lock().by_id.drain().map(|(_, slot)| slot).collect();
        let closing =
            slots.into_iter().filter_map(|slot| slot.live.swap(None)).map(|live| async move {
                live.connection.close().await;
            });
        let tasks: Vec<_> = closing.map(tokio::spawn).collect();
        for task in tasks {
            // A panicking close has nothing left to clean up here; the guardian ends its processes.
            drop(task.await);
        }
    }

    /// A definition that is no longer in force gets its own slot, so that it replaces no other.
    fn slot(&self, definition: &Definition) -> Arc<ConnectionSlot> {
        let (id, fingerprint) = (&definition.id, &definition.fingerprint);
        let mut slots = self.slots.lock();
        let known = slots.by_id.get(id.as_str());
        if let Some(slot) = known.filter(|slot| slot.fingerprint == *fingerprint) {
            return slot.clone();
        }
        let turns = self.owner.as_ref().map(|owner| owner.turns.clone());
        let slot = Arc::new(ConnectionSlot::new(fingerprint.clone(), turns));
        if is_in_force(&slots.catalog, id, fingerprint)
            && let Some(replaced) = slots.by_id.insert(id.clone(), slot.clone())
        {
            replaced.close_soon(self.cancel.clone());
        }
        slot
    }
}

fn is_in_force(catalog: &Catalog, id: &CapabilityId, fingerprint: &str) -> bool {
    let capability = catalog.get(id.as_str()).filter(|capability| capability.is_usable());
    capability.is_some_and(|capability| capability.definition.fingerprint == fingerprint)
}

impl ConnectionSlot {
    fn new(fingerprint: String, turns: Option<Arc<ProcessTurns>>) -> Self {
        Self {
            fingerprint,
            live: ArcSwapOption::empty(),
            leases: AtomicUsize::new(0),
            unused: Notify::new(),
            last_used: Mutex::new(Instant::now()),
            attempts: Arc::default(),
            turns,
        }
    }

    /// Takes the connection out, unless a caller uses it.
    fn take_unused(&self) -> Option<Arc<LiveConnection>> {
        let is_leased = || self.leases.load(Ordering::SeqCst) > 0;
        if is_leased() {
            return None;
        }
        let live = self.live.swap(None)?;
        if is_leased() {
            self.live.store(Some(live));
            return None;
        }
        Some(live)
    }

    fn lease_live(self: &Arc<Self>) -> Option<ConnectionLease> {
        // The count is raised before the connection is read, so that the idle timer cannot end it
        // in between.
        self.leases.fetch_add(1, Ordering::SeqCst);
        match self.live.load_full().filter(|live| live.connection.ended().is_none()) {
            Some(live) => Some(ConnectionLease { live, slot: self.clone(), client: None }),
            None => {
                self.give_back();
                None
            }
        }
    }

    fn lease(self: &Arc<Self>, live: Arc<LiveConnection>) -> ConnectionLease {
        self.leases.fetch_add(1, Ordering::SeqCst);
        ConnectionLease { live, slot: self.clone(), client: None }
    }

    fn give_back(&self) {
        if self.leases.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.unused.notify_waiters();
            if let Some(turns) = &self.turns {
                turns.note_idle();
            }
        }
    }

    fn close_soon(self: &Arc<Self>, closing: CancellationToken) {
        let Some(live) = self.live.swap(None) else { return };
        let slot = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = slot.unused() => {}
                () = tokio::time::sleep(DRAIN_TIMEOUT) => {}
                () = closing.cancelled() => {}
            }
            live.connection.close().await;
        });
    }

    async fn unused(&self) {
        loop {
            let unused = self.unused.notified();
            if self.leases.load(Ordering::SeqCst) == 0 {
                return;
            }
            unused.await;
        }
    }
}

impl UnusedProcess {
    /// Ends the process. False if it is used again, or gone.
    pub(crate) fn end(&self) -> bool {
        let Some(live) = self.slot.take_unused() else { return false };
        tokio::spawn(async move { live.connection.close().await });
        true
    }
}

impl ConnectionLease {
    #[must_use]
    pub(crate) fn speaking_for(mut self, client: Arc<ClientProfile>) -> Self {
        self.client = Some(client);
        self
    }

    /// When the connection was opened. Earlier responses of the server came on another one.
    pub(crate) fn opened(&self) -> std::time::Instant {
        self.live.opened
    }

    pub(crate) async fn discover(&self, context: &CallContext) -> Result<Discovery, CallError> {
        self.live.connection.discover(&self.introduced(context)).await
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> raw::Answer {
        self.live.connection.request(method, params, &self.introduced(context)).await
    }

    fn introduced<'a>(&self, context: &'a CallContext) -> Cow<'a, CallContext> {
        match (&context.client, &self.client) {
            (None, Some(client)) => {
                Cow::Owned(CallContext { client: Some(client.clone()), ..context.clone() })
            }
            _ => Cow::Borrowed(context),
        }
    }
}

/// For requests that say themselves whose they are, or that need not.
impl Deref for ConnectionLease {
    type Target = dyn Connection;

    fn deref(&self) -> &Self::Target {
        &*self.live.connection
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        *self.slot.last_used.lock() = Instant::now();
        self.slot.give_back();
    }
}

fn close_when_idle(slot: &Arc<ConnectionSlot>, definition: &Definition) {
    let Backend::Mcp(server) = &definition.backend else { return };
    let Some(idle) = server.idle_timeout_ms.map(Duration::from_millis) else { return };
    let slot = Arc::downgrade(slot);
    tokio::spawn(async move {
        let mut wake = Instant::now() + idle;
        loop {
            tokio::time::sleep_until(wake).await;
            let Some(slot) = slot.upgrade() else { return };
            let idle_since = *slot.last_used.lock();
            if slot.live.load().is_none() {
                return;
            }
            if idle_since + idle > Instant::now() {
                wake = idle_since + idle;
            } else if let Some(live) = slot.take_unused() {
                live.connection.close().await;
                return;
            } else {
                wake = Instant::now() + idle;
            }
        }
    });
}

fn cancelled() -> CallError {
    CallError::new(ErrorCode::Cancelled, "the call was cancelled")
}
