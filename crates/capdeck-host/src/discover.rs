//! Asking backends what they offer, once, and feeding the answer into the next catalog.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_backend::{
    CallContext, CallError, ClientProfile, ErrorCode, ErrorKind, static_discovery,
};
use capdeck_catalog::{Capability, Discovery};
use capdeck_definition::{Backend, CapabilityId, Deck, Definition};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    Host,
    audience::{Audience, AudienceKey},
    connections::Connections,
    discovery_cache::DiscoveryCache,
    pins::News,
    set_tools,
};

/// Longest wait for a new list after a server said that it changed.
const RELIST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a capability that failed to answer is asked again in the background only.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many sets of client capabilities lists are kept for. Clients choose them freely, so there is a bound.
const MOST_AUDIENCES: usize = 32;

/// What is known of each backend's offer, in memory and behind that on disk.
pub(crate) struct Discoveries {
    cache: DiscoveryCache,
    known: Mutex<HashMap<Place, Known>>,
    /// Who failed to answer when last asked, why and when.
    failed: Mutex<HashMap<CapabilityId, (Instant, CallError)>>,
    /// One question at a time per capability.
    asking: Mutex<HashMap<CapabilityId, Arc<tokio::sync::Mutex<()>>>>,
}

/// Whose list, made for whom.
type Place = (CapabilityId, AudienceKey);

struct Known {
    fingerprint: String,
    /// `None` when the disk was looked at and has nothing.
    discovery: Option<Arc<Discovery>>,
    /// Whom it was asked for and when; `None` for a list read from disk.
    asked: Option<(Audience, Instant)>,
}

impl Discoveries {
    pub(crate) fn new(cache: DiscoveryCache) -> Self {
        Self { cache, known: Mutex::default(), failed: Mutex::default(), asking: Mutex::default() }
    }

    /// The last known offer of a definition to clients that declare nothing, without asking anyone.
    pub(crate) fn known(&self, definition: &Definition, deck: &Deck) -> Option<Arc<Discovery>> {
        if let Backend::Caplets(_) = definition.backend {
            // A set that is kept because its file broke is not in the deck, and neither are its members.
            let is_read = deck.definitions.iter().any(|one| std::ptr::eq(one.as_ref(), definition));
            return is_read.then(|| Arc::new(set_tools::discovery(&definition.id, deck)));
        }
        self.known_to(definition, &AudienceKey::default())
    }

    /// The last known offer to this audience and no other.
    pub(crate) fn known_to(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
    ) -> Option<Arc<Discovery>> {
        let mut known = self.known.lock();
        let place = (definition.id.clone(), audience.clone());
        if let Some(entry) = known.get(&place)
            && entry.fingerprint == definition.fingerprint
        {
            return entry.discovery.clone();
        }
        let discovery = match static_discovery(definition) {
            Some(discovery) => Some(discovery),
            None => self.cache.load(definition, audience),
        };
        let entry = Known {
            fingerprint: definition.fingerprint.clone(),
            discovery: discovery.map(Arc::new),
            asked: None,
        };
        let found = entry.discovery.clone();
        known.insert(place, entry);
        found
    }

    /// The last answer to the same question, in this process or an earlier one. Changes nothing.
    fn last_answer(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
    ) -> Option<Arc<Discovery>> {
        let known = self.known.lock();
        let same = |entry: &&Known| entry.fingerprint == definition.fingerprint;
        match known.get(&(definition.id.clone(), audience.clone())).filter(same) {
            Some(entry) => entry.discovery.clone(),
            None => self.cache.load(definition, audience).map(Arc::new),
        }
    }

    /// What a definition's backend offers to anyone, as far as it is known: each tool once, the list of clients that
    /// declare nothing first.
    pub(crate) fn offered_to_anyone(&self, definition: &Definition) -> Option<Discovery> {
        let mut lists = self
            .known_to(definition, &AudienceKey::default())
            .into_iter()
            .chain(self.cache.load_others(definition).into_iter().map(Arc::new));
        let mut all = Discovery::clone(lists.next()?.as_ref());
        for list in lists {
            for tool in &list.tools {
                if all.tools.iter().all(|known| known.name() != tool.name()) {
                    all.tools.push(tool.clone());
                }
            }
        }
        Some(all)
    }

    /// Keeps an answer. True when it differs from what was known.
    fn learn(
        &self,
        definition: &Definition,
        audience: &Audience,
        discovery: &Arc<Discovery>,
        asked: Instant,
    ) -> bool {
        let place = (definition.id.clone(), audience.key().clone());
        let mut known = self.known.lock();
        let changed = known.get(&place).is_none_or(|entry| {
            entry.fingerprint != definition.fingerprint
                || !entry.discovery.as_ref().is_some_and(|before| same(before, discovery))
        });
        let entry = Known {
            fingerprint: definition.fingerprint.clone(),
            discovery: Some(discovery.clone()),
            asked: Some((audience.clone(), asked)),
        };
        known.insert(place, entry);
        forget_oldest(&mut known);
        drop(known);
        if changed && let Err(error) = self.cache.save(definition, audience.key(), discovery) {
            tracing::warn!(capability = %definition.id, %error, "the tool list could not be cached");
        }
        changed
    }

    fn asked(&self, id: &CapabilityId, audience: &AudienceKey) -> Option<Instant> {
        let known = self.known.lock();
        let (_, asked) = known.get(&(id.clone(), audience.clone()))?.asked.as_ref()?;
        Some(*asked)
    }

    /// Everyone this capability was asked for since the host started.
    fn audiences(&self, id: &CapabilityId) -> Vec<Audience> {
        let known = self.known.lock();
        let of_this = known.iter().filter(|((owner, _), _)| owner == id);
        of_this.filter_map(|(_, entry)| Some(entry.asked.as_ref()?.0.clone())).collect()
    }

    /// Why a capability lately failed to answer.
    fn recent_failure(&self, id: &CapabilityId) -> Option<CallError> {
        let failed = self.failed.lock();
        let (when, error) = failed.get(id)?;
        (when.elapsed() < PATIENCE).then(|| error.clone())
    }

    /// Why a capability failed to answer since then.
    fn failure_since(&self, id: &CapabilityId, then: Instant) -> Option<CallError> {
        let failed = self.failed.lock();
        let (when, error) = failed.get(id)?;
        // That somebody else gave up says nothing about the server.
        (*when >= then && error.kind() != ErrorKind::Cancelled).then(|| error.clone())
    }

    fn note_outcome(&self, id: &CapabilityId, error: Option<&CallError>) {
        let mut failed = self.failed.lock();
        match error {
            // Somebody may sign in at any moment, and then nobody should wait.
            Some(error) if error.kind() != ErrorKind::NeedsLogin => {
                drop(failed.insert(id.clone(), (Instant::now(), error.clone())));
            }
            _ => drop(failed.remove(id)),
        }
    }

    fn is_being_asked(&self, id: &CapabilityId) -> bool {
        self.turn(id).try_lock().is_err()
    }

    fn turn(&self, id: &CapabilityId) -> Arc<tokio::sync::Mutex<()>> {
        self.asking.lock().entry(id.clone()).or_default().clone()
    }
}

/// Drops the lists of the audience that was asked for longest ago, when there are too many.
fn forget_oldest(known: &mut HashMap<Place, Known>) {
    let mut latest: HashMap<AudienceKey, Option<Instant>> = HashMap::new();
    for ((_, audience), entry) in known.iter().filter(|((_, audience), _)| !audience.is_bare()) {
        let asked = entry.asked.as_ref().map(|(_, asked)| *asked);
        let last = latest.entry(audience.clone()).or_default();
        *last = (*last).max(asked);
    }
    if latest.len() > MOST_AUDIENCES
        && let Some((oldest, _)) = latest.into_iter().min_by_key(|(_, asked)| *asked)
    {
        known.retain(|(_, audience), _| *audience != oldest);
    }
}

impl Host {
    /// Asks the backend what it offers, connecting if need be, and puts the answer into the catalog.
    pub(crate) async fn discover(
        &self,
        definition: &Arc<Definition>,
        connections: &Connections,
        context: &CallContext,
    ) -> Result<Arc<Discovery>, CallError> {
        let turn = self.0.discoveries.turn(&definition.id);
        let wanted = Instant::now();
        let _turn = turn.lock().await;
        // An answer to a question asked before this caller came could miss the change it is about.
        let audience = connections.audience();
        let asked = self.0.discoveries.asked(&definition.id, audience.key());
        if asked.is_some_and(|asked| asked >= wanted)
            && let Some(known) = self.0.discoveries.known_to(definition, audience.key())
        {
            return Ok(known);
        }
        // Callers that waited together fail together; one after the other they would add up their timeouts.
        if let Some(error) = self.0.discoveries.failure_since(&definition.id, wanted) {
            return Err(error);
        }
        let lease = connections.lease(self, definition, &context.cancel).await;
        // Whoever came while the server was starting is answered by this one question, too.
        let asked = Instant::now();
        let outcome = match lease {
            Ok(lease) => lease.discover(context).await,
            Err(error) => Err(error),
        };
        self.note_outcome(&definition.id, outcome.as_ref().err());
        self.0.discoveries.note_outcome(&definition.id, outcome.as_ref().err());
        let discovery = Arc::new(outcome?);
        let before = self.0.discoveries.last_answer(definition, audience.key());
        let changed = self.0.discoveries.learn(definition, audience, &discovery, asked);
        let news = if changed { News::Yes(before) } else { News::No };
        self.watch_definitions(definition, audience.key(), &discovery, news);
        if changed {
            self.rebuild();
        }
        Ok(discovery)
    }

    /// True when the offer is old enough, by the definition's own measure, to be asked for again.
    pub(crate) fn discovery_is_old(
        &self,
        definition: &Definition,
        connections: &Connections,
    ) -> bool {
        let Backend::Mcp(server) = &definition.backend else { return false };
        let longest = Duration::from_millis(server.tool_cache_ttl_ms);
        let asked = self.0.discoveries.asked(&definition.id, connections.audience().key());
        asked.is_none_or(|asked| asked.elapsed() >= longest)
    }

    /// True when it is known what the capability offers to exactly these clients.
    pub(crate) fn knows_offer(&self, capability: &Capability, audience: &AudienceKey) -> bool {
        let definition = &capability.definition;
        if audience.is_bare() || !matches!(definition.backend, Backend::Mcp(_)) {
            return capability.discovery.is_some();
        }
        self.0.discoveries.known_to(definition, audience).is_some()
    }

    /// Reads a changed list again for everyone who is shown one by a shared connection.
    pub(crate) fn relist_for_everyone(&self, definition: &Arc<Definition>) {
        let mut audiences = self.0.discoveries.audiences(&definition.id);
        if self.0.eras.is_modern(definition) != Some(true) {
            // A legacy server shows others their lists on connections of their own, which say so themselves.
            audiences.retain(|audience| audience.key().is_bare());
        }
        if audiences.is_empty() {
            audiences.push(Audience::new(ClientProfile::default()));
        }
        for audience in audiences {
            relist(self.clone(), definition.clone(), Connections::shared(audience));
        }
    }

    /// Asks every capability in the list that never said what it offers to these clients, a few at a time. Returns,
    /// after the deck's discovery timeout at the latest, those without an answer and why; slow ones go on in the
    /// background, so that the next question finds their answer.
    pub(crate) async fn discover_unknown(
        &self,
        capabilities: impl Iterator<Item = Arc<Capability>>,
        connections: &Connections,
        hurry: Hurry,
    ) -> Vec<(CapabilityId, CallError)> {
        let catalog = self.catalog();
        let config = catalog.config();
        let limit = Duration::from_millis(config.exposure_discovery_timeout_ms);
        let places = Arc::new(Semaphore::new(config.exposure_discovery_concurrency as usize));
        let mut waiting = BTreeMap::new();
        let mut asking = JoinSet::new();
        let audience = connections.audience().key();
        for capability in capabilities.filter(|one| !self.knows_offer(one, audience)) {
            let definition = capability.definition.clone();
            if hurry == Hurry::AnyListWillDo && capability.discovery.is_some() {
                if !self.0.discoveries.is_being_asked(&definition.id) {
                    relist(self.clone(), definition, connections.clone());
                }
                continue;
            }
            if let Some(error) = self.0.discoveries.recent_failure(&definition.id) {
                // Nobody waits for it a second time; when it answers, the lists change.
                if !self.0.discoveries.is_being_asked(&definition.id) {
                    relist(self.clone(), definition.clone(), connections.clone());
                }
                waiting.insert(definition.id.clone(), error);
                continue;
            }
            waiting.insert(definition.id.clone(), still_starting(&definition.id));
            let (host, connections, places) = (self.clone(), connections.clone(), places.clone());
            asking.spawn(async move {
                let _place = places.acquire_owned().await;
                let context = CallContext::detached(limit);
                let outcome = host.discover(&definition, &connections, &context).await;
                (definition.id.clone(), outcome)
            });
        }
        let deadline = tokio::time::Instant::now() + limit;
        while let Ok(Some(answer)) = tokio::time::timeout_at(deadline, asking.join_next()).await {
            match answer {
                Ok((id, Ok(_))) => drop(waiting.remove(&id)),
                Ok((id, Err(error))) => drop(waiting.insert(id, error)),
                Err(panic) => tracing::error!(%panic, "a discovery ended by a bug"),
            }
        }
        asking.detach_all();
        for (id, error) in &waiting {
            self.0.discoveries.note_outcome(id, Some(error));
        }
        waiting.into_iter().collect()
    }
}

/// Whether somebody who waits for a list takes one that was made for clients who can do less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hurry {
    /// The right one is asked for meanwhile.
    AnyListWillDo,
    OwnListOnly,
}

fn still_starting(id: &CapabilityId) -> CallError {
    CallError::new(
        ErrorCode::ServerStartTimeout,
        format!("`{id}` has not listed its tools yet; ask again in a moment"),
    )
}

/// Asks again in the background; a failed attempt keeps the last good list.
pub(crate) fn relist(host: Host, definition: Arc<Definition>, connections: Connections) {
    tokio::spawn(async move {
        let context = CallContext::detached(RELIST_TIMEOUT);
        if let Err(error) = host.discover(&definition, &connections, &context).await {
            tracing::warn!(capability = %definition.id, %error, "the changed list could not be read");
        }
    });
}

/// Compares what the two say, byte for byte.
fn same(one: &Discovery, other: &Discovery) -> bool {
    serde_json::to_vec(one).ok() == serde_json::to_vec(other).ok()
}
