//! What backends said they offer: in memory, and behind that on disk.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_backend::{CallContext, CallError, ErrorCode, ErrorKind, static_discovery};
use capdeck_catalog::Discovery;
use capdeck_definition::{Backend, CapabilityId, Deck, Definition};
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::{
    audience::{Audience, AudienceKey},
    backend_times::answer_time,
    capsules::capability,
    discovery_cache::DiscoveryCache,
    set_tools,
};

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
    /// When a backend was last asked for a list, or last began to be.
    checks: Mutex<ListChecks>,
    /// One question at a time per capability.
    asking: Mutex<HashMap<CapabilityId, Arc<tokio::sync::Mutex<()>>>>,
}

/// Whose list, made for whom.
type Place = (CapabilityId, AudienceKey);

/// When each backend was last asked, for whom.
type ListChecks = HashMap<CapabilityId, HashMap<AudienceKey, ListCheck>>;

/// The last time that a backend was asked for its lists.
#[derive(Debug, Clone, Copy)]
struct ListCheck {
    at: Instant,
    has_failed: bool,
}

struct Known {
    fingerprint: String,
    /// `None` when the disk was looked at and has nothing.
    discovery: Option<Arc<Discovery>>,
    /// Whom it was asked for and when; `None` for a list read from disk.
    asked: Option<(Audience, Instant)>,
}

impl Discoveries {
    pub(crate) fn new(cache: DiscoveryCache) -> Self {
        Self {
            cache,
            known: Mutex::default(),
            failed: Mutex::default(),
            checks: Mutex::default(),
            asking: Mutex::default(),
        }
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
        if let Backend::Capsules = definition.backend {
            return Some(Arc::new(capability::discovery()));
        }
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
    pub(crate) fn last_answer(
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
    pub(crate) fn learn(
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

    pub(crate) fn asked(&self, id: &CapabilityId, audience: &AudienceKey) -> Option<Instant> {
        let known = self.known.lock();
        let (_, asked) = known.get(&(id.clone(), audience.clone()))?.asked.as_ref()?;
        Some(*asked)
    }

    /// Notes that a backend is being asked.
    pub(crate) fn note_check(&self, id: &CapabilityId, audience: &AudienceKey, at: Instant) {
        put_check(&mut self.checks.lock(), id, audience, ListCheck { at, has_failed: false });
    }

    /// Notes that the last check brought no list.
    pub(crate) fn note_failed_check(&self, id: &CapabilityId, audience: &AudienceKey) {
        let check = ListCheck { at: Instant::now(), has_failed: true };
        put_check(&mut self.checks.lock(), id, audience, check);
    }

    /// Whether a list has to be asked for again on a connection that was opened then. One caller is answered with the
    /// time since when an answer will do, and has to ask.
    pub(crate) fn claim_check(
        &self,
        id: &CapabilityId,
        audience: &AudienceKey,
        opened: Instant,
        max_age: Duration,
    ) -> Option<Instant> {
        let mut checks = self.checks.lock();
        let last = checks.get(id.as_str()).and_then(|of_this| of_this.get(audience));
        let since = match last {
            Some(last) if last.at < opened => opened,
            None => opened,
            Some(last) => {
                let limit = if last.has_failed { max_age.min(PATIENCE) } else { max_age };
                if last.at.elapsed() < limit {
                    return None;
                }
                Instant::now()
            }
        };
        let check = ListCheck { at: Instant::now(), has_failed: false };
        put_check(&mut checks, id, audience, check);
        Some(since)
    }

    /// Everyone this capability was asked for since the host started.
    pub(crate) fn audiences(&self, id: &CapabilityId) -> Vec<Audience> {
        let known = self.known.lock();
        let of_this = known.iter().filter(|((owner, _), _)| owner == id);
        of_this.filter_map(|(_, entry)| Some(entry.asked.as_ref()?.0.clone())).collect()
    }

    /// Why a capability lately failed to answer.
    pub(crate) fn recent_failure(&self, id: &CapabilityId) -> Option<CallError> {
        let failed = self.failed.lock();
        let (when, error) = failed.get(id)?;
        (when.elapsed() < PATIENCE).then(|| error.clone())
    }

    /// Why a capability failed to answer since then.
    pub(crate) fn failure_since(&self, id: &CapabilityId, then: Instant) -> Option<CallError> {
        let failed = self.failed.lock();
        let (when, error) = failed.get(id)?;
        // That somebody else gave up says nothing about the server.
        (*when >= then && error.kind() != ErrorKind::Cancelled).then(|| error.clone())
    }

    pub(crate) fn note_outcome(&self, id: &CapabilityId, error: Option<&CallError>) {
        let mut failed = self.failed.lock();
        match error {
            // Somebody may sign in at any moment, and then nobody should wait.
            Some(error) if error.kind() != ErrorKind::NeedsLogin => {
                drop(failed.insert(id.clone(), (Instant::now(), error.clone())));
            }
            _ => drop(failed.remove(id)),
        }
    }

    pub(crate) fn is_being_asked(&self, id: &CapabilityId) -> bool {
        self.turn(id).try_lock().is_err()
    }

    /// Waits for others who ask the same capability, but no longer than this caller would wait for an answer.
    pub(crate) async fn take_turn(
        &self,
        definition: &Definition,
        context: &CallContext,
    ) -> Result<OwnedMutexGuard<()>, CallError> {
        let id = &definition.id;
        let longest = context.timeout.unwrap_or_else(|| answer_time(&definition.backend));
        tokio::select! {
            turn = self.turn(id).lock_owned() => Ok(turn),
            () = context.cancel.cancelled() => {
                Err(CallError::new(ErrorCode::Cancelled, format!("the list of `{id}` is no longer wanted")))
            }
            () = tokio::time::sleep(longest) => Err(still_starting(id)),
        }
    }

    fn turn(&self, id: &CapabilityId) -> Arc<tokio::sync::Mutex<()>> {
        self.asking.lock().entry(id.clone()).or_default().clone()
    }
}

fn put_check(checks: &mut ListChecks, id: &CapabilityId, audience: &AudienceKey, check: ListCheck) {
    let of_this = checks.entry(id.clone()).or_default();
    if of_this.len() >= MOST_AUDIENCES && !of_this.contains_key(audience) {
        // Clients choose their audience. Those that are forgotten here are only checked once more.
        of_this.clear();
    }
    of_this.insert(audience.clone(), check);
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

pub(crate) fn still_starting(id: &CapabilityId) -> CallError {
    CallError::new(
        ErrorCode::ServerStartTimeout,
        format!("`{id}` has not listed its tools yet; ask again in a moment"),
    )
}

/// Compares what the two say, byte for byte.
fn same(one: &Discovery, other: &Discovery) -> bool {
    serde_json::to_vec(one).ok() == serde_json::to_vec(other).ok()
}
