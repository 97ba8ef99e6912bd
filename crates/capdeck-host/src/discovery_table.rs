//! The lists that backends returned, in memory and on disk.

mod unanswered;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_backend::{CallContext, CallError, ErrorCode, ErrorKind, static_discovery};
use capdeck_catalog::{Discovery, ServerDetails};
use capdeck_definition::{Backend, CapabilityId, Deck, Definition};
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::{
    audience::{AudienceKey, ClientAudience},
    capsules::capability,
    discover::{MissingList, answer_time},
    durable,
    operations::set_discovery,
};

/// How long a capability that did not answer is asked again only in the background.
const FAILURE_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Clients choose their capabilities freely, so the number of cached lists is bounded.
const MAX_AUDIENCES: usize = 32;

/// Lists of one capability on disk.
const MAX_SAVED_AUDIENCES: usize = 8;

pub(crate) struct DiscoveryTable {
    /// One file per capability, fingerprint and audience: a changed definition never gets an old
    /// list.
    folder: PathBuf,
    known: Mutex<HashMap<DiscoveryKey, DiscoveryEntry>>,
    failed: Mutex<HashMap<CapabilityId, (Instant, MissingList)>>,
    /// Since when searches wait for the list of a definition, by its fingerprint.
    searched: Mutex<HashMap<CapabilityId, (String, Instant)>>,
    checks: Mutex<ListChecks>,
    /// One question at a time per capability.
    asking: Mutex<HashMap<CapabilityId, Arc<tokio::sync::Mutex<()>>>>,
}

type DiscoveryKey = (CapabilityId, AudienceKey);

type ListChecks = HashMap<CapabilityId, HashMap<AudienceKey, ListCheck>>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ListCheck {
    pub(crate) at: Instant,
    pub(crate) has_failed: bool,
}

struct DiscoveryEntry {
    fingerprint: String,
    discovery: Option<Arc<Discovery>>,
    /// `None` for a list read from disk.
    asked: Option<(ClientAudience, Instant)>,
}

impl DiscoveryTable {
    pub(crate) fn new(cache_dir: &Path) -> Self {
        Self {
            folder: cache_dir.join("discoveries"),
            known: Mutex::default(),
            failed: Mutex::default(),
            searched: Mutex::default(),
            checks: Mutex::default(),
            asking: Mutex::default(),
        }
    }

    /// The last known list for clients that declare nothing. Connects to nothing.
    pub(crate) fn known(&self, definition: &Definition, deck: &Deck) -> Option<Arc<Discovery>> {
        if let Backend::Caplets(_) = definition.backend {
            // A stale set is not in the deck, and neither are its members.
            let is_read = deck.definitions.iter().any(|one| std::ptr::eq(one.as_ref(), definition));
            return is_read.then(|| Arc::new(set_discovery(&definition.id, deck)));
        }
        self.known_to(definition, &AudienceKey::default())
    }

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
        if let Some(entry) = entry_of(&known, &place, definition) {
            return entry.discovery.clone();
        }
        let discovery = static_discovery(definition).or_else(|| self.load(definition, audience));
        let discovery = discovery.map(Arc::new);
        let entry = DiscoveryEntry {
            fingerprint: definition.fingerprint.clone(),
            discovery: discovery.clone(),
            asked: None,
        };
        known.insert(place, entry);
        discovery
    }

    pub(crate) fn last_answer(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
    ) -> Option<Arc<Discovery>> {
        let place = (definition.id.clone(), audience.clone());
        match entry_of(&self.known.lock(), &place, definition) {
            Some(entry) => entry.discovery.clone(),
            None => self.load(definition, audience).map(Arc::new),
        }
    }

    /// The known tools of a definition for all audiences: each once, those for clients that declare
    /// nothing first.
    pub(crate) fn offered_to_anyone(&self, definition: &Definition) -> Option<Discovery> {
        let mut lists = self
            .known_to(definition, &AudienceKey::default())
            .into_iter()
            .chain(self.load_others(definition).into_iter().map(Arc::new));
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

    pub(crate) fn learn(
        &self,
        definition: &Definition,
        audience: &ClientAudience,
        discovery: &Arc<Discovery>,
        asked: Instant,
    ) -> bool {
        let place = (definition.id.clone(), audience.key().clone());
        let mut known = self.known.lock();
        let before =
            entry_of(&known, &place, definition).and_then(|entry| entry.discovery.as_ref());
        let changed = !before.is_some_and(|before| same(before, discovery));
        let entry = DiscoveryEntry {
            fingerprint: definition.fingerprint.clone(),
            discovery: Some(discovery.clone()),
            asked: Some((audience.clone(), asked)),
        };
        known.insert(place, entry);
        forget_oldest(&mut known);
        drop(known);
        if changed && let Err(error) = self.save(definition, audience.key(), discovery) {
            tracing::warn!(capability = %definition.id, %error, "the tool list could not be cached");
        }
        changed
    }

    pub(crate) fn asked(&self, id: &CapabilityId, audience: &AudienceKey) -> Option<Instant> {
        let known = self.known.lock();
        let (_, asked) = known.get(&(id.clone(), audience.clone()))?.asked.as_ref()?;
        Some(*asked)
    }

    pub(crate) fn note_check(&self, id: &CapabilityId, audience: &AudienceKey, check: ListCheck) {
        put_check(&mut self.checks.lock(), id, audience, check);
    }

    /// Whether a list has to be read again on a connection that was opened then; `None` if other
    /// connections may have read it. Exactly one caller gets the earliest acceptable time, and has
    /// to ask.
    pub(crate) fn claim_check(
        &self,
        id: &CapabilityId,
        audience: &AudienceKey,
        opened: Option<Instant>,
        max_age: Duration,
    ) -> Option<Instant> {
        let mut checks = self.checks.lock();
        let last = checks.get(id.as_str()).and_then(|of_this| of_this.get(audience));
        let since = match last {
            None => opened.unwrap_or_else(Instant::now),
            Some(last) => match opened.filter(|opened| last.at < *opened) {
                Some(opened) => opened,
                None => {
                    let limit =
                        if last.has_failed { max_age.min(FAILURE_RETRY_INTERVAL) } else { max_age };
                    if last.at.elapsed() < limit {
                        return None;
                    }
                    Instant::now()
                }
            },
        };
        let check = ListCheck { at: Instant::now(), has_failed: false };
        put_check(&mut checks, id, audience, check);
        Some(since)
    }

    pub(crate) fn audiences(&self, id: &CapabilityId) -> Vec<ClientAudience> {
        let known = self.known.lock();
        let of_this = known.iter().filter(|((owner, _), _)| owner == id);
        of_this.filter_map(|(_, entry)| Some(entry.asked.as_ref()?.0.clone())).collect()
    }

    /// Why no caller waits for this list: it failed a moment ago, or gave an earlier host no answer
    /// within the time that this caller would wait.
    pub(crate) fn recent_failure(
        &self,
        definition: &Definition,
        limit: Duration,
    ) -> Option<MissingList> {
        let failed = self.failed.lock();
        if let Some((when, list)) = failed.get(&definition.id) {
            return (when.elapsed() < FAILURE_RETRY_INTERVAL).then(|| list.clone());
        }
        drop(failed);
        let waited = self.unanswered_after(definition)?;
        (waited >= limit).then(|| MissingList::starting(&definition.id))
    }

    /// When the first search began to wait for this list; now, if none has.
    pub(crate) fn first_search(&self, definition: &Definition) -> Instant {
        let mut searched = self.searched.lock();
        match searched.get(&definition.id) {
            Some((fingerprint, since)) if *fingerprint == definition.fingerprint => *since,
            _ => {
                let now = Instant::now();
                searched.insert(definition.id.clone(), (definition.fingerprint.clone(), now));
                now
            }
        }
    }

    pub(crate) fn failure_since(&self, id: &CapabilityId, then: Instant) -> Option<CallError> {
        let failed = self.failed.lock();
        let (when, MissingList { error, .. }) = failed.get(id)?;
        // Another caller's cancellation says nothing about the server.
        (*when >= then && error.kind() != ErrorKind::Cancelled).then(|| error.clone())
    }

    pub(crate) fn note_outcome(&self, id: &CapabilityId, error: Option<&CallError>) {
        self.searched.lock().remove(id);
        match error {
            Some(error) => self.note_missing(&MissingList {
                id: id.clone(),
                error: error.clone(),
                is_starting: false,
            }),
            None => drop(self.failed.lock().remove(id)),
        }
    }

    pub(crate) fn note_missing(&self, list: &MissingList) {
        let mut failed = self.failed.lock();
        // A sign-in may come at any moment and takes effect at once.
        match list.error.kind() {
            ErrorKind::NeedsLogin => drop(failed.remove(&list.id)),
            _ => drop(failed.insert(list.id.clone(), (Instant::now(), list.clone()))),
        }
    }

    pub(crate) fn is_being_asked(&self, id: &CapabilityId) -> bool {
        self.turn(id).try_lock().is_err()
    }

    /// Waits for others who ask the same capability, at most as long as this caller waits for an
    /// answer.
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
                Err(CallError::new(ErrorCode::Cancelled, format!("listing `{id}` was cancelled")))
            }
            () = tokio::time::sleep(longest) => Err(starting_error(id)),
        }
    }

    fn turn(&self, id: &CapabilityId) -> Arc<tokio::sync::Mutex<()>> {
        self.asking.lock().entry(id.clone()).or_default().clone()
    }
}

/// What is known of this definition, and not of an earlier one with the same id.
fn entry_of<'a>(
    known: &'a HashMap<DiscoveryKey, DiscoveryEntry>,
    place: &DiscoveryKey,
    definition: &Definition,
) -> Option<&'a DiscoveryEntry> {
    known.get(place).filter(|entry| entry.fingerprint == definition.fingerprint)
}

fn put_check(checks: &mut ListChecks, id: &CapabilityId, audience: &AudienceKey, check: ListCheck) {
    let of_this = checks.entry(id.clone()).or_default();
    if of_this.len() >= MAX_AUDIENCES && !of_this.contains_key(audience) {
        // Clients choose their audience. A forgotten one is only checked once more.
        of_this.clear();
    }
    of_this.insert(audience.clone(), check);
}

fn forget_oldest(known: &mut HashMap<DiscoveryKey, DiscoveryEntry>) {
    let mut latest: HashMap<AudienceKey, Option<Instant>> = HashMap::new();
    for ((_, audience), entry) in known.iter().filter(|((_, audience), _)| !audience.is_bare()) {
        let asked = entry.asked.as_ref().map(|(_, asked)| *asked);
        let last = latest.entry(audience.clone()).or_default();
        *last = (*last).max(asked);
    }
    if latest.len() > MAX_AUDIENCES
        && let Some((oldest, _)) = latest.into_iter().min_by_key(|(_, asked)| *asked)
    {
        known.retain(|(_, audience), _| *audience != oldest);
    }
}

pub(crate) fn starting_error(id: &CapabilityId) -> CallError {
    CallError::new(
        ErrorCode::ServerStartTimeout,
        format!("`{id}` has not listed its tools yet; try again in a moment"),
    )
}

/// Whether two lists offer the same. A server of both eras answers in either, and may describe
/// itself in other words there.
fn same(one: &Discovery, other: &Discovery) -> bool {
    let era = |list: &Discovery| list.server.as_ref().map(ServerDetails::is_modern);
    let details = |list: &Discovery| match era(one) == era(other) {
        true => serde_json::to_vec(&list.server).ok(),
        false => None,
    };
    let offers =
        |list: &Discovery| serde_json::to_vec(&Discovery { server: None, ..list.clone() }).ok();
    offers(one) == offers(other) && details(one) == details(other)
}

impl DiscoveryTable {
    /// A missing or unreadable list means "ask again".
    fn load(&self, definition: &Definition, audience: &AudienceKey) -> Option<Discovery> {
        serde_json::from_slice(&fs::read(self.file(definition, audience)).ok()?).ok()
    }

    fn save(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
        discovery: &Discovery,
    ) -> io::Result<()> {
        durable::save_json_unsynced(&self.file(definition, audience), discovery)?;
        self.forget_unanswered(definition);
        if !audience.is_bare() {
            durable::keep_newest(self.others(definition), MAX_SAVED_AUDIENCES);
        }
        Ok(())
    }

    fn load_others(&self, definition: &Definition) -> Vec<Discovery> {
        let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        self.others(definition).into_iter().filter_map(read).collect()
    }

    /// Oldest first.
    fn others(&self, definition: &Definition) -> Vec<PathBuf> {
        let start = format!("{}.", stem(definition));
        let bare = format!("{}.json", stem(definition));
        durable::by_age(&self.folder, |name| name.starts_with(&start) && name != bare)
    }

    fn file(&self, definition: &Definition, audience: &AudienceKey) -> PathBuf {
        let stem = stem(definition);
        self.folder.join(if audience.is_bare() {
            format!("{stem}.json")
        } else {
            format!("{stem}.{audience}.json")
        })
    }
}

fn stem(definition: &Definition) -> String {
    let short: String = definition.fingerprint.chars().take(16).collect();
    format!("{}.{short}", definition.id)
}
